import { defined, isObject, type Json } from '../../core/base/json.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  listOf,
  milliseconds,
  type OptionChecks,
  text,
} from '../../core/base/options.ts'
import type { Client } from '../../core/client/client.ts'
import { connect } from '../../core/client/connect.ts'
import type { ClientEvent } from '../../core/client/events.ts'
import type { ConnectOptions } from '../../core/client/options.ts'
import {
  describeRemoteTool,
  isClient,
  type RemoteTarget,
  type RemoteTool,
  taskParts,
} from '../../core/client/remote-tool.ts'
import type { AgentSkill } from '../../core/protocol/card.ts'
import { inputRequestIn } from '../../core/protocol/extensions/client-tools.ts'
import { type Message, type Part, type Task, textOf } from '../../core/protocol/model.ts'
import type { Pending, RemoteQuestion, RunAnswer, RunInput, RunOutput, RunResult } from './framework-adapter.ts'

/** Characters of an answer that the model gets. */
const maxResultLength = 100_000

/** Milliseconds in which another agent must answer a cancellation. */
const cancelTimeout = 5_000

/** Options of `asTool`. */
export interface AsToolOptions extends Pick<ConnectOptions, 'auth' | 'fetch'> {
  /** The id of a skill of the card: its schema is that of the tool's input. Defaults to the whole agent, which gets a text. */
  readonly skill?: string
  /** The name of the tool. Defaults to the id of the skill, or the name of the agent. */
  readonly name?: string
  /** The description for the model. Defaults to that of the card, quoted as untrusted text and cut to 2,000 characters. */
  readonly description?: string
  /** Timeout of a call in milliseconds, without the time that questions wait for an answer. Defaults to 10 minutes. */
  readonly timeout?: number
}

const optionChecks: OptionChecks<AsToolOptions> = {
  auth: listOf(anObject),
  fetch: aFunction,
  skill: text,
  name: text,
  description: text,
  timeout: milliseconds({ min: 1 }),
}

/** What another agent says while it works: a status, or a piece of its answer. */
export type RemoteProgress = { readonly status: string } | { readonly text: string }

/** Progress with the call that makes it, for frameworks that do not add it. */
export interface ToolProgress {
  readonly toolCallId: string
  readonly tool: string
  readonly progress: RemoteProgress
}

export function isToolProgress(value: unknown): value is ToolProgress {
  return isObject(value) && typeof value.tool === 'string' && isObject(value.progress)
}

/** One call of another agent by a tool. */
export interface RemoteCall {
  /** Names the message: agents that recognise repeated ones run it once. Answers are named by their questions. */
  readonly key?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** The text of an answer, or a question. */
export type RemoteResult = string | RemoteQuestion

/** Another agent as a tool. Both methods emit its progress, and return its answer or its question. */
export interface RemoteAgentTool extends Pick<RemoteTool, 'name' | 'description' | 'inputSchema'> {
  send(input: unknown, call: RemoteCall): AsyncGenerator<RemoteProgress, RemoteResult>
  /** Continues the task that has asked. */
  answer(question: RemoteQuestion, answer: unknown, call: RemoteCall): AsyncGenerator<RemoteProgress, RemoteResult>
}

/** Connects to an agent, and describes it as a tool. */
export async function openRemoteAgent(target: RemoteTarget, options: AsToolOptions): Promise<RemoteAgentTool> {
  checkOptions('asTool', options, optionChecks)
  const { auth, fetch, timeout = 600_000, name, description } = options
  const client = isClient(target) ? target : await connect(target, defined({ auth, fetch }))
  const skill = options.skill === undefined ? undefined : findSkill(client, options.skill)
  const described = describeRemoteTool(client.card, { skill, name, description })

  async function* run(
    parts: readonly Part[],
    ids: { readonly taskId?: string; readonly contextId?: string; readonly skill?: string },
    { key, signal: given }: RemoteCall,
  ): AsyncGenerator<RemoteProgress, RemoteResult> {
    const timer = AbortSignal.timeout(timeout)
    const signal = given ? AbortSignal.any([given, timer]) : timer
    let { taskId } = ids
    let message: Message | undefined
    let isSettled = false
    try {
      const once = key === undefined ? {} : { messageId: key, idempotencyKey: key }
      const events = client.stream(parts, { ...ids, ...once, signal, timeout: Number.POSITIVE_INFINITY })
      for await (const event of events) {
        taskId = taskIdOf(event) ?? taskId
        if (event.type === 'message') message = event.message
        const progress = progressOf(event)
        if (progress) yield progress
      }
      signal.throwIfAborted()
      if (!message && taskId === undefined) throw new Error(`"${client.card.name}" has not answered.`)
      const task = taskId === undefined ? undefined : await client.task(taskId).get({ signal })
      isSettled = true
      return message || !task ? textOfParts(message?.parts ?? []) : await resultOf(client, task)
    } catch (error) {
      given?.throwIfAborted()
      if (!timer.aborted) throw error
      throw new Error(`"${client.card.name}" did not answer within ${timeout / 1_000} seconds.`, { cause: error })
    } finally {
      // Also if the framework stops reading: nothing would ever read the task again.
      if (!isSettled && taskId !== undefined) await cancel(client, taskId)
    }
  }

  return {
    name: described.name,
    description: described.description,
    inputSchema: described.inputSchema,
    send: (input, call) => run(described.partsOf(input), defined({ skill: described.skill }), call),
    answer({ a2a: { taskId, contextId, questionId } }, answer, { signal }) {
      const parts: readonly Part[] =
        typeof answer === 'string' ? [{ text: answer }] : [{ data: answer as Json, mediaType: 'application/json' }]
      return run(parts, defined({ taskId, contextId }), { signal, key: questionId && `answer-${questionId}` })
    },
  }
}

/** Whether a value that was stored as JSON is a question of another agent. */
export function isRemoteQuestion(value: unknown): value is RemoteQuestion {
  if (!isObject(value) || typeof value.question !== 'string') return false
  const { a2a } = value as { readonly a2a?: unknown }
  return isObject(a2a) && typeof a2a.taskId === 'string'
}

/** Runs a call to its end, for frameworks that take no progress from tools. */
export async function drain(
  run: AsyncGenerator<RemoteProgress, RemoteResult>,
  onProgress: (progress: RemoteProgress) => unknown = () => {},
): Promise<RemoteResult> {
  for (;;) {
    const next = await run.next()
    if (next.done) return next.value
    await onProgress(next.value)
  }
}

/** The question of a tool, as one of the run. */
export function pendingRemote(id: string, tool: string, question: RemoteQuestion): Pending {
  return { id, kind: 'input', question: question.question, schema: question.schema, remote: { tool, question } }
}

/** What another agent said to an answer: the value of a `RunAnswer` whose question is `remote`. */
export type RemoteAnswer = { readonly result: string } | { readonly error: string }

/**
 * Sends answers to the agents that have asked, before a run continues. An agent may ask again: then the run waits on, and
 * what the others said is kept in its state. For frameworks that call a tool once.
 */
export async function answerRemote(
  { resume, signal }: Pick<RunInput, 'resume' | 'signal'>,
  toolOf: (name: string) => Pick<RemoteAgentTool, 'answer'> | undefined,
  output: RunOutput,
): Promise<{ readonly resume?: RunInput['resume'] } | RunResult> {
  if (!resume) return {}
  const waiting = isObject(resume.state) && isObject(resume.state.waiting) ? resume.state.waiting : undefined
  const state = (waiting ? waiting.state : resume.state) as Json
  const settled = [...((waiting?.settled ?? []) as unknown as readonly RunAnswer[])]
  const pending: Pending[] = []
  for (const answer of resume.answers) {
    const { id, remote } = answer.pending
    if (!remote) {
      settled.push(answer)
      continue
    }
    const { tool: name, question } = remote
    const report = (result: RemoteProgress) => output.toolResult({ id, name, result, isProgress: true })
    try {
      const tool = toolOf(name)
      if (!tool) throw new Error(`The agent has no tool "${name}" any more.`)
      const result = await drain(tool.answer(question, answer.value, { signal }), report)
      if (typeof result === 'string') settled.push({ ...answer, value: { result } satisfies RemoteAnswer })
      else pending.push({ ...answer.pending, ...pendingRemote(id, name, result) })
    } catch (error) {
      signal.throwIfAborted()
      settled.push({ ...answer, value: { error: error instanceof Error ? error.message : `${error}` } })
    }
  }
  if (pending.length === 0) return { resume: { state, answers: settled } }
  return { pending, state: { waiting: { state, settled: settled as unknown as Json } } }
}

function findSkill({ card }: Client, id: string): AgentSkill {
  const skill = card.skills.find((each) => each.id === id)
  if (skill) return skill
  const ids = card.skills.map((each) => each.id).join(', ') || 'none'
  throw new TypeError(`asTool: "${card.name}" has no skill "${id}". Its skills are: ${ids}.`)
}

function taskIdOf(event: ClientEvent): string | undefined {
  if (event.type === 'message') return event.message.taskId
  return event.type === 'task' ? event.task.id : event.taskId
}

function progressOf(event: ClientEvent): RemoteProgress | undefined {
  if (event.type === 'artifact') {
    const said = event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
    return said === '' ? undefined : { text: said }
  }
  if (event.type !== 'status' || event.status.state !== 'working' || !event.status.message) return undefined
  const status = textOf(event.status.message)
  return status === '' ? undefined : { status }
}

async function resultOf(client: Client, task: Task): Promise<RemoteResult> {
  const { id: taskId, contextId, status } = task
  const { name: agent } = client.card
  const said = status.message ? textOf(status.message) : ''
  switch (status.state) {
    case 'completed':
      return textOfParts(taskParts(task))
    case 'input-required': {
      const request = inputRequestIn(status.message)
      const schema = request?.resultSchema ?? request?.schema
      const question = said || `"${agent}" needs more input.`
      const a2a = defined({ agent, taskId, contextId, questionId: status.message?.messageId })
      return defined({ question, schema: isObject(schema) ? schema : undefined, a2a })
    }
    case 'auth-required':
      await cancel(client, taskId)
      throw new Error(`"${agent}" needs credentials for this: ${said || 'give them to asTool by its option auth'}`)
    default:
      throw new Error(`"${agent}" ended as ${status.state}${said === '' ? '.' : `: ${said}`}`)
  }
}

/** The other agent may have ended the task, or be gone: nobody waits for it any more. */
async function cancel(client: Client, taskId: string): Promise<void> {
  await client
    .task(taskId)
    .cancel({ signal: AbortSignal.timeout(cancelTimeout) })
    .catch(() => {})
}

function textOfParts(parts: readonly Part[]): string {
  const texts = parts.map((part) => {
    if ('text' in part) return part.text
    if ('data' in part) return JSON.stringify(part.data)
    return 'url' in part ? part.url : `[file ${part.filename ?? part.mediaType ?? ''}]`
  })
  const all = texts.filter((each) => each !== '').join('\n')
  return all.length > maxResultLength ? `${all.slice(0, maxResultLength).toWellFormed()}…` : all
}
