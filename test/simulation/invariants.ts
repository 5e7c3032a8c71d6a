import { isDeepStrictEqual } from 'node:util'
import type { StoredEvent, StreamEvent, TaskEvent } from '../../src/core/protocol/events.ts'
import { isEmptyText, type Task, textOf } from '../../src/core/protocol/model.ts'
import { isEnded, isInterrupted } from '../../src/core/protocol/states.ts'
import { processGone } from '../../src/core/runtime/recovery/resume.ts'
import { createFold, isClosing } from '../../src/core/tasks/fold.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { doneMark } from './agent.ts'
import { type CallRecord, codeOf, isAwaited } from './callers.ts'
import { settings } from './cluster.ts'
import type { History, RecordedTask, Violation } from './history.ts'

/** Milliseconds that a cancel waits for the end of its task. */
const cancelWait = settings.cancelGrace + 2_000

/** What happened in a simulation. */
export interface Course {
  readonly history: History
  readonly calls: readonly CallRecord[]
  /** Ids of the messages that an agent got. */
  readonly seen: ReadonlySet<string>
  /** Ids of the messages that an agent without a recovery policy got more than once. */
  readonly repeated: ReadonlySet<string>
  /** Errors that the runtimes logged. */
  readonly errors: readonly string[]
  /** Whether replicas crashed or froze, clocks changed, or the store was slow. */
  readonly hasFaults: boolean
  readonly hasClockChanges: boolean
  readonly removesTasks: boolean
}

/** Checks what must be true after every simulation. */
export function findViolations(course: Course): readonly Violation[] {
  const { history, calls, errors, repeated } = course
  const tasks = [...history.tasks.values()]
  return [
    ...history.violations,
    ...[...repeated].map((id) => broken('no message is answered twice', `the agent got ${id} again`)),
    ...errors.map((text) => ({ rule: 'a store that never fails causes no errors', text })),
    ...tasks.flatMap((task) => checkEnd(task, course)),
    ...tasks.flatMap((task) => checkMessages(task, course)),
    ...calls.flatMap((call) => checkCall(call, course)),
  ]
}

/** Checks that the store has what was stored, and that no task waits for a process. */
export async function findStoreViolations(
  log: TaskLog,
  { history, removesTasks }: Course,
): Promise<readonly Violation[]> {
  const violations: Violation[] = []
  for (const { taskId, number, events } of history.tasks.values()) {
    const head = await log.head(taskId)
    if (removesTasks && (!head || head.phase === 'expired')) continue
    const stored = await readAll(log, taskId)
    if (head?.generation === events.length && isDeepStrictEqual(plain(stored), plain(events))) continue
    const text = `task ${number} has ${stored.length} events, at ${head?.generation}: ${JSON.stringify(stored)}`
    violations.push({ rule: 'the store has what was stored', text })
  }
  const orphans = await log.orphans(10)
  return orphans.length === 0 ? violations : [...violations, broken('no orphan is left', `${orphans.length} are`)]
}

function checkEnd({ number, events, phase }: RecordedTask, { hasFaults }: Course): readonly Violation[] {
  const [end, ...more] = events.filter(({ event }) => endsTask(event))
  if (!end || more.length > 0) return [broken('a task ends once', `task ${number} is ${phase}`)]
  const text = textAt(end.event)
  const outcome = `task ${number} is ${phase}: ${text}`
  const isCanceled = events.some(({ event }) => event.type === 'cancel')
  if (!isCanceled && phase === 'canceled') return [broken('only callers cancel', outcome)]
  if (isCanceled && phase !== 'canceled' && !isOfAgent(end.event)) return [broken('an accepted cancel wins', outcome)]
  if (!hasFaults && text === processGone) return [broken('no task is lost without a fault', outcome)]
  return []
}

function checkMessages({ number, events, phase }: RecordedTask, { seen }: Course): readonly Violation[] {
  const ids = events.flatMap(({ event }) => (event.type === 'message' ? [event.message.messageId] : []))
  if (new Set(ids).size < ids.length) return [broken('a message is stored once', `task ${number} has ${ids}`)]
  const unseen = phase === 'completed' || phase === 'answered' ? ids.filter((id) => !seen.has(id)) : []
  if (unseen.length === 0) return []
  return [broken('no message is lost', `task ${number} is ${phase}, and the agent never got ${unseen}`)]
}

function checkCall(call: CallRecord, course: Course): readonly Violation[] {
  const { label } = call
  if (isAwaited(call)) return [broken('every call is answered', `${label} is open`)]
  if (call.error !== undefined) return checkError(call, course)
  if (call.type === 'stream') return checkStream(call, course)
  if (call.endedAt === undefined) return []
  return call.type === 'send' ? checkSend(call, course) : checkTask(call, call.result as Task, course)
}

function checkError(call: CallRecord, { removesTasks, hasClockChanges }: Course): readonly Violation[] {
  const code = codeOf(call.error)
  const { task, generationBefore = 0 } = call
  const unexpected = [broken('errors have a reason', `${call.label} failed: ${code}`)]
  if (code === 'unavailable') return []
  if (removesTasks && (code === 'task-not-found' || code === 'task-expired')) return []
  // An exchange is not a task before the agent has touched it, nor if it was answered with a message.
  if (code === 'task-not-found' && isNoTaskAt(task, generationBefore)) return []
  switch (call.type) {
    case 'send':
    case 'stream':
      // The task has ended, rejects messages while it works, or has another message of that id.
      return code === 'task-ended' || code === 'conflict' ? [] : unexpected
    case 'cancel': {
      if (code !== 'task-not-cancelable') return unexpected
      const { phase, events = [] } = task ?? {}
      const end = events.at(-1)?.event
      if (!end || !phase || !isEnded(phase) || phase !== 'canceled') return end && endsTask(end) ? [] : unexpected
      // The status has the time at which the run decided to end the task.
      const hadEnded = end.type === 'status' && Date.parse(end.status.timestamp ?? '') <= call.startedAt
      if (hadEnded || hasClockChanges) return []
      return [broken('concurrent cancels get the canceled task', `${call.label} was refused: task is ${phase}`)]
    }
    case 'get':
      return unexpected
  }
}

function checkSend(call: CallRecord, { history, removesTasks }: Course): readonly Violation[] {
  const { label, message, reading, result } = call
  if (result === undefined || result === 'end' || 'status' in result) return [broken('results have a type', label)]
  const stored = [...history.tasks.values()].filter(({ events }) =>
    events.some(({ event }) => event.type === 'message' && event.message.messageId === message?.messageId),
  )
  // A removed task takes its claims with it.
  const task = stored.at(-1)
  if (!task || (stored.length > 1 && !removesTasks)) {
    return [broken('no answered call is lost', `the message of ${label} is in ${stored.length} tasks`)]
  }
  if (stored.length > 1) return []
  if (result.type === 'message') {
    const end = task.events.at(-1)?.event
    const isReply = end?.type === 'reply' && isDeepStrictEqual(plain(end.message), plain(result.message))
    return isReply ? [] : [broken('no answered call is lost', `the reply to ${label} is not stored`)]
  }
  const { state } = result.task.status
  const isIdle = isEnded(state) || isInterrupted(state) || reading === 'immediate'
  const violations = checkFold(label, result.task, task)
  return isIdle ? violations : [...violations, broken('a blocking call waits', `${label} was answered with ${state}`)]
}

function checkTask(call: CallRecord, result: Task, { hasFaults }: Course): readonly Violation[] {
  const { task, type, label, startedAt, endedAt = startedAt } = call
  if (!task) return []
  const violations = checkFold(label, result, task)
  const { state } = result.status
  const waited = endedAt - startedAt
  if (type !== 'cancel' || isEnded(state) || (hasFaults && waited >= cancelWait)) return violations
  return [...violations, broken('an answer or a cancel wins', `${label} was answered with ${state} after ${waited} ms`)]
}

/** A task that a caller got is the fold of the stored events up to its generation. */
function checkFold(label: string, actual: Task, { events, ...task }: RecordedTask): readonly Violation[] {
  const fold = createFold(task)
  for (const stored of events) if (stored.generation <= actual.generation) fold.apply(stored)
  if (isDeepStrictEqual(plain(fold.task()), plain(actual))) return []
  return [broken('tasks are the fold of their events', `${label} was answered with ${JSON.stringify(actual)}`)]
}

/** A stream has every event of its task once and in order, from its first event to its last. */
function checkStream(call: CallRecord, { history, hasFaults }: Course): readonly Violation[] {
  const { label, received, isDisconnected, endedAt } = call
  const [first] = received
  const last = received.at(-1)
  if (first?.type === 'message') return []
  const violations: Violation[] = []
  // A server that shuts down ends its streams.
  if (endedAt !== undefined && !isDisconnected && !last?.isLast && !hasFaults) {
    violations.push(broken('streams have an end', `${label} ended after ${received.length} events`))
  }
  if (!first) return violations
  const task = history.tasks.get(first.type === 'task' ? first.task.id : first.taskId)
  if (!task) return [...violations, broken('no answered call is lost', `${label} has events of an unknown task`)]
  if (first.type === 'task') violations.push(...checkFold(label, first.task, task))
  const from = first.type === 'task' ? first.task.generation : (call.after ?? 0)
  const updates = first.type === 'task' ? received.slice(1) : received
  const until = updates.length > 0 ? generationOf(updates.at(-1)) : from
  const expected = task.events.filter(
    ({ generation, event }) => generation > from && generation <= until && isStreamed(event),
  )
  const content = updates.filter((event) => event.type !== 'artifact' || !event.artifact.parts.every(isEmptyText))
  if (!isDeepStrictEqual(plain(content.map(toStored)), plain(expected.map(asSent)))) {
    const text = `${label} received ${updates.map(generationOf)}, and the task has ${expected.map(generationOf)}`
    violations.push(broken('a stream has each event once', text))
  }
  return violations
}

function broken(rule: string, text: string): Violation {
  return { rule, text }
}

function generationOf(event: StreamEvent | StoredEvent | undefined): number {
  return event && 'generation' in event ? event.generation : 0
}

/** A stream event as it was stored. */
function toStored(event: StreamEvent): unknown {
  if (event.type === 'task' || event.type === 'message') return event
  const { generation, taskId: _, contextId: __, follows: ___, isLast: ____, ...stored } = event
  return asSent({ generation, event: stored })
}

function isStreamed(event: TaskEvent): boolean {
  return event.type === 'status' || (event.type === 'artifact' && !isClosing(event))
}

/**
 * A stored event as readers get it: without its trace. A chunk that is sent together with the end of its artifact has the
 * mark and the number of that event.
 */
function asSent({ generation, event }: StoredEvent): unknown {
  const sent = { ...event, traceChunk: undefined }
  return sent.type === 'artifact' ? { event: { ...sent, lastChunk: undefined } } : { generation, event: sent }
}

function isNoTaskAt(task: RecordedTask | undefined, generation: number): boolean {
  return !task?.events.slice(0, generation).some(({ event }) => event.type === 'status')
}

function endsTask(event: TaskEvent): boolean {
  return event.type === 'reply' || (event.type === 'status' && isEnded(event.status.state))
}

function textAt(event: TaskEvent): string {
  if (event.type === 'reply') return event.message ? textOf(event.message) : ''
  return event.type === 'status' && event.status.message ? textOf(event.status.message) : ''
}

/** Whether the agent itself ended the task, or a question of it expired. */
function isOfAgent(end: TaskEvent): boolean {
  const text = textAt(end)
  return text.startsWith(doneMark) || text.startsWith('The agent failed unexpectedly') || /not answered/.test(text)
}

/** As JSON has it: stores keep no members that are undefined. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

async function readAll(log: TaskLog, taskId: string): Promise<readonly StoredEvent[]> {
  const all: StoredEvent[] = []
  for (;;) {
    const page = await log.read(taskId, all.length)
    if (page.length === 0) return all
    all.push(...page)
  }
}
