import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AgentCallOptions } from '../../core/agent/call-agent.ts'
import { defined } from '../../core/base/json.ts'
import {
  aFunction,
  anObject,
  anyOf,
  checkOptions,
  flag,
  integer,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
  recordOf,
  text,
} from '../../core/base/options.ts'
import { type Trace, traceHeaders } from '../../core/base/trace-context.ts'
import type { Client } from '../../core/client/client.ts'
import { connect } from '../../core/client/connect.ts'
import type { ConnectOptions } from '../../core/client/options.ts'
import {
  describeRemoteTool,
  isClient,
  type RemoteTarget,
  type RemoteTool,
  type RemoteToolOptions,
  taskParts,
} from '../../core/client/remote-tool.ts'
import type { AgentCard, AgentSkill } from '../../core/protocol/card.ts'
import type { Part } from '../../core/protocol/model.ts'
import { type LocalTool, type ToolContext, textInput } from './tool.ts'
import { partsResult } from './tool-result.ts'
import type { ToolSource } from './toolbox.ts'

/** Options of `remoteAgent`. */
export interface RemoteAgentOptions
  extends Pick<AgentCallOptions, 'budget' | 'relay' | 'headers'>,
    Pick<ConnectOptions, 'auth' | 'fetch'> {
  /** `true` creates one tool per skill, a list one per named skill. Defaults to one tool for the whole agent. */
  readonly skills?: boolean | readonly string[]
  /** Name of the tool; with `skills`, prefix of their names. Defaults to the agent's name, or to no prefix. */
  readonly name?: string
  /** Description for the model. Defaults to the card's. */
  readonly description?: string
  /** Timeout of a call, including the agent's questions, in milliseconds. Defaults to 10 minutes. */
  readonly timeout?: number
  /** The caller must approve each call. */
  readonly needsApproval?: boolean
  /** Time after which the card is read again, in milliseconds. Defaults to 5 minutes. */
  readonly refreshAfter?: number
}

const optionChecks: OptionChecks<RemoteAgentOptions> = {
  budget: integer(),
  relay: oneOf('status', 'all', 'none'),
  headers: recordOf(text),
  auth: listOf(anObject),
  fetch: aFunction,
  skills: anyOf('true, false or a list of skill ids', flag, listOf(text)),
  name: text,
  description: text,
  timeout: milliseconds({ min: 1 }),
  needsApproval: flag,
  refreshAfter: milliseconds(),
}

/**
 * Turns another agent into a tool. In the loop of an agent it is called as by `turn.call`: with that agent's
 * credentials, and its questions go to the caller. Errors are reported to the model.
 *
 * @example
 * const loop = createAgentLoop({ model, tools: [remoteAgent('https://prices.example.com')] })
 */
export function remoteAgent(target: RemoteTarget, options: RemoteAgentOptions = {}): ToolSource {
  checkOptions('remoteAgent', options, optionChecks)
  const { auth, fetch, refreshAfter = 300_000 } = options
  let cached: { readonly client: Promise<Client>; readonly until: number } | undefined

  /** If the card cannot be read again, the previous client is used, and the next call tries again. */
  async function connectClient(signal: AbortSignal): Promise<Client> {
    if (isClient(target)) return target
    const previous = cached
    if (previous && previous.until > Date.now()) return await previous.client
    const client = connect(target, defined({ auth, fetch, signal }))
    cached = { client, until: Date.now() + refreshAfter }
    return await client.catch(async (error) => {
      cached = previous
      if (!previous) throw error
      return await previous.client
    })
  }

  return {
    type: 'source',
    async tools(signal) {
      const client = await connectClient(signal)
      const { card } = client
      const skills = selectSkills(card, options.skills)
      const { name, description } = options
      const create = (described: RemoteToolOptions) =>
        createTool(target, client, options, describeRemoteTool(card, { description, ...described }))
      if (!skills) return [create({ name })]
      const prefix = name === undefined ? '' : `${name}_`
      return skills.map((skill) => create({ skill, name: `${prefix}${skill.id}` }))
    },
  }
}

function selectSkills(card: AgentCard, skills: RemoteAgentOptions['skills']): readonly AgentSkill[] | undefined {
  if (!skills) return undefined
  return skills === true ? card.skills : card.skills.filter(({ id }) => skills.includes(id))
}

function createTool(
  target: RemoteTarget,
  client: Client,
  options: RemoteAgentOptions,
  { partsOf, skill, isTyped, ...described }: RemoteTool,
): LocalTool {
  const { timeout = 600_000, needsApproval, auth, budget, relay, headers } = options
  const callOptions = defined({ auth, budget, headers })
  return {
    type: 'local',
    name: described.name,
    description: described.description,
    input: isTyped ? anyObject : textInput,
    inputJsonSchema: described.inputSchema,
    timeout,
    usesTurn: true,
    ...defined({ needsApproval }),
    async run(input, { turn, signal, trace }: ToolContext) {
      const parts = partsOf(input)
      const request = defined({ signal, skill })
      if (!turn) return partsResult(await sendDirectly(client, parts, { ...request, trace }))
      const answer = await turn.call(target, parts, { ...callOptions, ...request, timeout, ...defined({ relay }) })
      return partsResult(answer.type === 'message' ? answer.message.parts : taskParts(answer.task))
    },
  }
}

const anyObject: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'parley', validate: (value) => ({ value }) },
}

interface SendOptions {
  readonly signal: AbortSignal
  readonly skill?: string
  readonly trace?: Trace | undefined
}

/** Calls an agent from a loop without a turn: the agent's questions have no caller to go to. */
async function sendDirectly(
  client: Client,
  parts: readonly Part[],
  { signal, skill, trace }: SendOptions,
): Promise<readonly Part[]> {
  const metadata = skill === undefined ? {} : { metadata: { skillId: skill } }
  const reply = await client.send(parts, {
    signal,
    timeout: Number.POSITIVE_INFINITY,
    headers: traceHeaders(trace),
    ...metadata,
  })
  if (reply.type === 'message') return reply.message.parts
  const { status } = reply.task
  if (status.state !== 'completed') throw new Error(`"${client.card.name}" is ${status.state}: ${reply.text}`)
  return taskParts(reply.task)
}
