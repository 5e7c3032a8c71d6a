import type { Client } from '../client/client.ts'
import type { Input } from '../client/input.ts'
import type { SendOptions } from '../client/sending.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { textOf } from '../protocol/parts.ts'
import type { Outcome } from '../protocol/service.ts'
import { isInterrupted } from '../protocol/states.ts'

export interface Following {
  readonly client: Client
  readonly input: Input
  readonly options: SendOptions
  /** Aborts when the one who called has canceled the call. */
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
}

/** Milliseconds that a call which is canceled waits to learn of which task. */
const patience = 10_000

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

function canceled(): A2AError {
  return new A2AError('unavailable', 'The call was canceled.')
}

function isResting(event: StreamEvent): boolean {
  if (event.type === 'task') return isInterrupted(event.task.status.state)
  return event.type === 'status' && isInterrupted(event.status.state)
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
