import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import type { Client } from '../../core/client/client.ts'
import type { Input, SendOptions } from '../../core/client/send-request.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { StreamEvent } from '../../core/protocol/events.ts'
import { inputRequestIn, toolResult } from '../../core/protocol/extensions/client-tools.ts'
import { type Message, textOf } from '../../core/protocol/model.ts'
import type { Outcome } from '../../core/protocol/service.ts'
import { isInterrupted } from '../../core/protocol/states.ts'

/** Milliseconds that a canceled call waits for the id of its task, so that it can cancel the task. */
const taskIdTimeout = 10_000

export interface FollowOptions {
  readonly client: Client
  readonly input: Input
  readonly options: SendOptions
  /** Aborts when the client has canceled the call. */
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
}

/** Sends input to an agent and follows the task until it ends or waits. Canceling the call cancels the task. */
export async function followTask({ client, input, options, signal, onProgress }: FollowOptions): Promise<Outcome> {
  let taskId = options.taskId
  const streamAbort = new AbortController()
  const onAbort = () => {
    if (taskId !== undefined) streamAbort.abort()
    else setTimeout(() => streamAbort.abort(), taskIdTimeout)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  const seen = new Set<string>()
  try {
    if (signal.aborted) throw canceled()
    for await (const event of client.stream(input, { ...options, signal: streamAbort.signal })) {
      if (event.type === 'message') return event
      taskId = event.type === 'task' ? event.task.id : event.taskId
      if (signal.aborted) throw canceled()
      const text = progressOf(event, seen)
      if (text) onProgress(text)
      // Some agents keep the stream open while they wait for input.
      if (isWaiting(event)) break
    }
    if (signal.aborted) throw canceled()
    if (taskId === undefined) throw new A2AError('invalid-agent-response', 'The agent has not responded.')
    return { type: 'task', task: await client.task(taskId).get() }
  } catch (error) {
    if (!signal.aborted) throw error
    if (taskId !== undefined)
      await client
        .task(taskId)
        .cancel()
        .catch(() => {})
    throw canceled()
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** An agent's question in terms of MCP. */
export interface AgentQuestion {
  readonly text: string
  /** Identifies the question in the answer, if the agent uses the client-tools extension. */
  readonly requestId: string | undefined
  /** Schema of the form; undefined if the answer is a single text. */
  readonly form: RequestedSchema | undefined
  /** Neither MCP forms nor models may carry sensitive answers. */
  readonly isSensitive: boolean
}

export function readQuestion(message: Message | undefined): AgentQuestion {
  const { requestId, prompt, sensitive, tool, schema } = inputRequestIn(message) ?? {}
  const content = message ? textOf(message) : ''
  const text = (content || (typeof prompt === 'string' ? prompt : '') || 'The agent needs more input.').slice(0, 10_000)
  return {
    text,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    // The schema of a tool describes its input, not the answer.
    form: tool === undefined && isForm(schema) ? schema : undefined,
    isSensitive: sensitive === true,
  }
}

/** The form for a single text. */
export const textForm: RequestedSchema = {
  type: 'object',
  properties: { answer: { type: 'string', title: 'Answer' } },
  required: ['answer'],
}

/** Encodes the answer of a user or a model as the agent expects it. */
export function encodeAnswer(answer: Json, requestId: string | undefined): Input {
  if (requestId !== undefined) return { data: { toolUseId: requestId, result: answer }, mediaType: toolResult }
  return typeof answer === 'string' ? answer : { data: answer, mediaType: 'application/json' }
}

function canceled(): A2AError {
  return new A2AError('unavailable', 'The call was canceled.')
}

/** Status texts, and the start of each artifact. */
function progressOf(event: StreamEvent, seen: Set<string>): string | undefined {
  if (event.type === 'message') return undefined
  if (event.type !== 'artifact') {
    const { state, message } = event.type === 'task' ? event.task.status : event.status
    return state === 'working' && message ? textOf(message) : undefined
  }
  const { artifactId, name = artifactId } = event.artifact
  if (seen.has(artifactId) || seen.size > 1_000) return undefined
  seen.add(artifactId)
  return `Writing ${name}`
}

function isWaiting(event: StreamEvent): boolean {
  if (event.type === 'task') return isInterrupted(event.task.status.state)
  return event.type === 'status' && isInterrupted(event.status.state)
}

type RequestedSchema = ElicitRequestFormParams['requestedSchema']

/** MCP forms are flat. */
function isForm(schema: Json | undefined): schema is JsonObject & RequestedSchema {
  const { type, properties } = asObject(schema)
  const fields = Object.values(asObject(properties))
  return type === 'object' && fields.length > 0 && fields.every(isField)
}

function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

function isField(field: Json): boolean {
  const { type } = asObject(field)
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean'
}
