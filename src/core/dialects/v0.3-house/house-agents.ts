import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { inputRequestIn, toolResult } from '../../protocol/extensions/client-tools.ts'
import { type Interceptor, intercept } from '../../protocol/intercept.ts'
import { type Artifact, type Message, type Task, textOf } from '../../protocol/model.ts'
import type { Call, Outcome, SendRequest, Service } from '../../protocol/service.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { isToolResult } from './parts.ts'

/** How many open requests of an agent are remembered. */
const maxRequests = 1_000

/**
 * The service of an agent that may have only what the house profile describes: `message/stream`, and `tasks/get` with a
 * stream as its answer. Plain answers to input requests are sent as tool results.
 */
export function withHouseAgent(service: Service): Service {
  /** The ids of the open requests, by their tasks. */
  const requests = new Map<string, string>()

  function record(taskId: string, { state, message }: Task['status']): void {
    const requestId = state === 'input-required' ? inputRequestIn(message)?.requestId : undefined
    requests.delete(taskId)
    if (typeof requestId === 'string') requests.set(taskId, requestId)
    const [oldest] = requests.keys()
    if (requests.size > maxRequests && oldest !== undefined) requests.delete(oldest)
  }

  async function* recorded(events: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
    for await (const event of events) {
      if (event.type === 'task') record(event.task.id, event.task.status)
      if (event.type === 'status') record(event.taskId, event.status)
      yield event
    }
  }

  function withResult(request: SendRequest): SendRequest {
    const requestId = requests.get(request.message.taskId ?? '')
    return requestId === undefined ? request : { ...request, message: asToolResult(request.message, requestId) }
  }

  const interceptor: Interceptor = {
    streamMessage: (request, call, next) => recorded(next(withResult(request), call)),
    subscribeToTask: (request, call, next) => recorded(next(request, call)),
    async sendMessage(original, call, next) {
      const request = withResult(original)
      const outcome = await next(request, call).catch((error) => {
        if (!(error instanceof A2AError) || error.code !== 'method-not-found') throw error
        return sendByStream(service, request, call)
      })
      if (outcome.type === 'task') record(outcome.task.id, outcome.task.status)
      return outcome
    },
    async getTask(request, call, next) {
      const task = await next(request, call).catch(async (error) => {
        const { taskId } = request
        return (
          (isMissing(error) ? await firstOf(service.subscribeToTask({ taskId }, call)) : undefined) ?? rethrow(error)
        )
      })
      record(task.id, task.status)
      return task
    },
  }
  return intercept(service, [interceptor])
}

/** The answer to an input request in the form of the profile. Files stay parts of their own. */
function asToolResult(message: Message, toolUseId: string): Message {
  if (message.parts.some(isToolResult)) return message
  const data = message.parts.find((part) => 'data' in part)
  const result = data ? data.data : { value: textOf(message) }
  const files = message.parts.filter((part) => 'raw' in part || 'url' in part)
  return { ...message, parts: [...files, { data: { toolUseId, result }, mediaType: toolResult }] }
}

/** Whether an agent does not find the task by the `id` that 0.3 has. */
function isMissing(error: unknown): boolean {
  return error instanceof A2AError && missingCodes.has(error.code)
}

const missingCodes: ReadonlySet<string> = new Set(['method-not-found', 'task-not-found', 'invalid-params'])

function rethrow(error: unknown): never {
  throw error
}

/** Sends by a stream, and reads it until the task has ended or needs its caller, or to its first event. */
async function sendByStream(service: Service, request: SendRequest, call: Call): Promise<Outcome> {
  let task: Task | undefined
  for await (const event of service.streamMessage(request, call)) {
    if (event.type === 'message') return event
    task = taskAfter(event, task)
    const { state } = task.status
    if (isEnded(state) || isInterrupted(state) || request.configuration?.returnImmediately) break
  }
  if (task) return { type: 'task', task }
  throw new A2AError('invalid-agent-response', 'The agent ended a stream without any event.')
}

/** The task as the first event of its stream has it: such agents have no other way to read a task. */
async function firstOf(events: AsyncGenerator<StreamEvent>): Promise<Task | undefined> {
  for await (const event of events) return event.type === 'message' ? undefined : taskAfter(event, undefined)
  return undefined
}

function taskAfter(event: Exclude<StreamEvent, { readonly type: 'message' }>, task: Task | undefined): Task {
  if (event.type === 'task') return event.task
  const { taskId: id, contextId } = event
  const before: Task = task ?? {
    id,
    contextId,
    status: { state: 'working' },
    artifacts: [],
    history: [],
    generation: 0,
  }
  if (event.type === 'status') return { ...before, status: event.status }
  return { ...before, artifacts: withChunk(before.artifacts, event.artifact, event.append === true) }
}

function withChunk(artifacts: readonly Artifact[], chunk: Artifact, isAppended: boolean): readonly Artifact[] {
  const before = artifacts.find(({ artifactId }) => artifactId === chunk.artifactId)
  if (!before) return [...artifacts, chunk]
  const parts = isAppended ? [...before.parts, ...chunk.parts] : chunk.parts
  return artifacts.map((artifact) => (artifact === before ? { ...before, ...chunk, parts } : artifact))
}
