import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import type { Client } from '../client/client.ts'
import type { Input, SendOptions } from '../client/send-request.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { inputRequestIn, toolResult } from '../protocol/extensions/client-tools.ts'
import { type Message, textOf } from '../protocol/model.ts'
import type { Outcome } from '../protocol/service.ts'
import { isInterrupted } from '../protocol/states.ts'

/** Milliseconds that a call which is canceled waits to learn of which task. */
const patience = 10_000

export interface Following {
  readonly client: Client
  readonly input: Input
  readonly options: SendOptions
  /** Aborts when the one who called has canceled the call. */
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
}

/** Tells an agent something and follows what comes of it until it rests. Whoever cancels the call cancels the task. */
export async function followTask({ client, input, options, signal, onProgress }: Following): Promise<Outcome> {
  let taskId = options.taskId
  const leaving = new AbortController()
  const onAbort = () => {
    if (taskId !== undefined) leaving.abort()
    else setTimeout(() => leaving.abort(), patience)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  const seen = new Set<string>()
  try {
    if (signal.aborted) throw canceled()
    for await (const event of client.stream(input, { ...options, signal: leaving.signal })) {
      if (event.type === 'message') return event
      taskId = event.type === 'task' ? event.task.id : event.taskId
      if (signal.aborted) throw canceled()
      const text = progressIn(event, seen)
      if (text) onProgress(text)
      // Some agents leave the stream open while they wait.
      if (isResting(event)) break
    }
    if (signal.aborted) throw canceled()
    if (taskId === undefined) throw new A2AError('invalid-agent-response', 'The agent has not answered.')
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

/** What an agent asks, in the words of MCP. */
export interface Question {
  readonly text: string
  /** By which the agent knows the answer again, if it has said so. */
  readonly requestId: string | undefined
  /** What a form has to ask for; undefined for one text. */
  readonly form: RequestedSchema | undefined
  /** Such things are neither for forms of MCP nor for models. */
  readonly isSensitive: boolean
}

export function questionIn(message: Message | undefined): Question {
  const { requestId, prompt, sensitive, tool, schema } = inputRequestIn(message) ?? {}
  const said = message ? textOf(message) : ''
  const text = (said || (typeof prompt === 'string' ? prompt : '') || 'The agent needs more input.').slice(0, 10_000)
  return {
    text,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    // The schema of a tool says what the tool takes, and not what it gives.
    form: tool === undefined && isForm(schema) ? schema : undefined,
    isSensitive: sensitive === true,
  }
}

/** A form for one text, where the agent has not said more. */
export const textForm: RequestedSchema = {
  type: 'object',
  properties: { answer: { type: 'string', title: 'Answer' } },
  required: ['answer'],
}

/** What a person, or a model, has answered, as the agent has asked for it. */
export function answerOf(answer: Json, requestId: string | undefined): Input {
  if (requestId !== undefined) return { data: { toolUseId: requestId, result: answer }, mediaType: toolResult }
  return typeof answer === 'string' ? answer : { data: answer, mediaType: 'application/json' }
}

function canceled(): A2AError {
  return new A2AError('unavailable', 'The call was canceled.')
}

/** What the agent says of its work, and each artifact when it begins. */
function progressIn(event: StreamEvent, seen: Set<string>): string | undefined {
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

function isResting(event: StreamEvent): boolean {
  if (event.type === 'task') return isInterrupted(event.task.status.state)
  return event.type === 'status' && isInterrupted(event.status.state)
}

type RequestedSchema = ElicitRequestFormParams['requestedSchema']

/** Forms of MCP are flat. */
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
