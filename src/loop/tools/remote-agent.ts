import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CallOptions } from '../../agent/call-agent.ts'
import type { JsonObject } from '../../base/json.ts'
import { type Trace, traceHeaders } from '../../base/trace-context.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import type { ConnectOptions, Target } from '../../client/options.ts'
import type { AgentCard, AgentSkill } from '../../protocol/card.ts'
import { readSkillSchemas, type SkillSchemas } from '../../protocol/extensions/typed-skills.ts'
import type { Part } from '../../protocol/model.ts'
import { type LocalTool, type TextInput, type ToolContext, textInput, textJsonSchema } from './tool.ts'
import { partsResult } from './tool-result.ts'
import type { ToolSource } from './toolbox.ts'

/** What somebody else has written, in every prompt. */
const longest = 2_000

/** Whom to ask: an address, a card, an agent in this process, or a client that is connected. */
export type RemoteTarget = Target | Client

export interface RemoteAgentOptions
  extends Pick<CallOptions, 'budget' | 'relay' | 'headers'>,
    Pick<ConnectOptions, 'auth' | 'fetch'> {
  /** One tool for each skill of the agent, or for each of these; otherwise one tool for all of it. */
  readonly skills?: boolean | readonly string[]
  /** What the model calls it; the name of the agent by default. With `skills` it stands before the name of each. */
  readonly name?: string
  /** What the model is told of it; what the card says by default. */
  readonly description?: string
  /** Milliseconds that it may take, with the questions that it asks. 10 minutes by default. */
  readonly timeout?: number
  /** A person, the caller, must say yes before each call. */
  readonly needsApproval?: boolean
  /** Milliseconds after which its card is looked at again. 5 minutes by default. */
  readonly refreshAfter?: number
}

/**
 * Another agent as a tool. In the loop of an agent it is asked as by `turn.call`: with the credentials of that agent, and
 * its questions go to the caller. What goes wrong is told to the model.
 */
export function remoteAgent(target: RemoteTarget, options: RemoteAgentOptions = {}): ToolSource {
  const { auth, fetch, refreshAfter = 300_000 } = options
  let known: { readonly client: Promise<Client>; readonly until: number } | undefined

  /** A card that cannot be had is asked for again the next time; meanwhile the last one does. */
  async function reach(signal: AbortSignal): Promise<Client> {
    if (isClient(target)) return target
    const last = known
    if (last && last.until > Date.now()) return await last.client
    const client = connect(target, { ...(auth && { auth }), ...(fetch && { fetch }), signal })
    known = { client, until: Date.now() + refreshAfter }
    return await client.catch(async (error) => {
      known = last
      if (!last) throw error
      return await last.client
    })
  }

  return {
    type: 'source',
    async tools(signal) {
      const client = await reach(signal)
      const { card } = client
      const wanted = skillsOf(card, options.skills)
      if (!wanted) return [toolOf(target, client, options, nameOf(options.name ?? card.name), undefined)]
      const schemas = readSkillSchemas(card)
      const prefix = options.name === undefined ? '' : `${options.name}_`
      return wanted.map((skill) =>
        toolOf(target, client, options, nameOf(`${prefix}${skill.id}`), { skill, schemas: schemas.get(skill.id) }),
      )
    },
  }
}

export interface AskDirectlyOptions {
  readonly signal: AbortSignal
  readonly skill?: string
  readonly trace?: Trace | undefined
}

function isClient(target: RemoteTarget): target is Client {
  return typeof target === 'object' && 'service' in target && 'card' in target
}

function skillsOf(card: AgentCard, skills: RemoteAgentOptions['skills']): readonly AgentSkill[] | undefined {
  if (!skills) return undefined
  return skills === true ? card.skills : card.skills.filter(({ id }) => skills.includes(id))
}

function toolOf(
  target: RemoteTarget,
  client: Client,
  options: RemoteAgentOptions,
  name: string,
  wanted: Wanted | undefined,
): LocalTool {
  const { timeout = 600_000, needsApproval, auth, budget, relay, headers } = options
  const given = { ...(auth && { auth }), ...(budget !== undefined && { budget }), ...(headers && { headers }) }
  const typed = wanted?.schemas?.input
  const schema = typed?.type === 'object' ? typed : undefined
  return {
    type: 'local',
    name,
    description: options.description ?? (wanted ? describeSkill(wanted.skill) : describeAgent(client.card)),
    input: schema ? anyObject : textInput,
    inputJsonSchema: schema ?? textJsonSchema,
    timeout,
    usesTurn: true,
    ...(needsApproval !== undefined && { needsApproval }),
    async run(input, { turn, signal, trace }: ToolContext) {
      // The schema of the card is checked by the agent itself, which says what does not fit.
      const parts: readonly Part[] = schema
        ? [{ data: input as JsonObject, mediaType: 'application/json' }]
        : [{ text: (input as TextInput).text }]
      const skill = wanted?.skill.id
      const about = { signal, ...(skill !== undefined && { skill }) }
      if (!turn) return partsResult(await askDirectly(client, parts, { ...about, trace }))
      const answer = await turn.call(target, parts, { ...given, ...about, timeout, ...(relay && { relay }) })
      const said = answer.message?.parts ?? answer.task?.status.message?.parts ?? []
      return partsResult([...answer.artifacts.flatMap((artifact) => artifact.parts), ...said])
    },
  }
}

interface Wanted {
  readonly skill: AgentSkill
  readonly schemas: SkillSchemas | undefined
}

function describeSkill({ name, description, examples = [] }: AgentSkill): string {
  const asked = examples.length > 0 ? ` For example: ${examples.slice(0, 3).join('; ')}` : ''
  return `${name}: ${description}${asked}`.slice(0, longest)
}

function describeAgent({ name, description, skills }: AgentCard): string {
  const able = skills.map((skill) => `- ${skill.name}: ${skill.description}`)
  return [`Asks the agent "${name}". ${description}`, ...able].join('\n').slice(0, longest)
}

const anyObject: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'parley', validate: (value) => ({ value }) },
}

/** Asks an agent where no turn of an agent stands behind the loop: nobody can be asked back. */
async function askDirectly(
  client: Client,
  parts: readonly Part[],
  { signal, skill, trace }: AskDirectlyOptions,
): Promise<readonly Part[]> {
  const metadata = skill === undefined ? {} : { metadata: { skillId: skill } }
  const reply = await client.send(parts, {
    signal,
    timeout: Number.POSITIVE_INFINITY,
    headers: traceHeaders(trace),
    ...metadata,
  })
  if (reply.type === 'message') return reply.message.parts
  const { status, artifacts } = reply.task
  if (status.state !== 'completed') throw new Error(`"${client.card.name}" is ${status.state}: ${reply.text}`)
  return [...artifacts.flatMap((artifact) => artifact.parts), ...(status.message?.parts ?? [])]
}

function nameOf(text: string): string {
  return text.replace(/[^\w-]+/g, '_').slice(0, 64) || 'agent'
}
