import { defined } from '../../core/base/json.ts'
import { traceIdOf } from '../../core/base/trace-context.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import type { Artifact, Message, Part, Task } from '../../core/protocol/model.ts'
import { isTask, type Phase } from '../../core/protocol/states.ts'
import { createFold } from '../../core/tasks/fold.ts'
import type { OperatorLog, OperatorTask, TimedEvent } from '../../core/tasks/operator-log.ts'
import { type ConsoleAgent, operatorLogOf } from '../agents.ts'
import type { EventPage, EventRow, JournalStep, TaskDetail } from '../contract.ts'
import { notFound, OperatorFailure } from '../failures.ts'
import { rowOf } from './list.ts'
import { waitingOf } from './questions.ts'

/** Of a longer task, the beginning and the end are read. */
const maxScanned = 10_000
const scannedAtBegin = 1_000

/** Characters of artifacts and history in the detail of a task; the events have them in full. */
const maxContent = 256 * 1024

const maxPhases = 1_000

/** Bytes of an event that a page includes. */
const maxEventBytes = 64 * 1024

/** About how many bytes a page of events has. */
const maxPageBytes = 1024 * 1024

/** The member of the metadata by which a message names the task that it runs again. */
export const rerunMember = 'rerunOf'

/** Reads a task. Throws if there is none. */
export async function requireTask(agent: ConsoleAgent, taskId: string): Promise<OperatorTask> {
  const task = await operatorLogOf(agent).task(taskId)
  if (!task) throw notFound('There is no task with this id.')
  return task
}

/** A task with everything about it that fits into one answer. */
export async function describeTask(agent: ConsoleAgent, taskId: string): Promise<TaskDetail> {
  const head = await requireTask(agent, taskId)
  if (head.phase === 'expired') {
    throw new OperatorFailure(410, 'task-expired', 'This task has expired: what was in it is removed.')
  }
  const events = await scanEvents(operatorLogOf(agent), head)
  const { task, isShortened } = foldShortened(head, events)
  const all = events.map(({ event }) => event)
  const waiting = waitingOf(head, all)
  const traced = all.find((event) => event.type === 'message' && event.trace)
  return {
    ...(await rowOf(agent, head)),
    task,
    isShortened: isShortened || events.length < head.generation,
    ...defined({ metadata: task.metadata }),
    phases: phasesOf(events, head.created),
    steps: stepsOf(events),
    ...defined({ rerunOf: originOf(all[0]) }),
    ...defined({ waiting, traceId: traced?.type === 'message' && traced.trace ? traceIdOf(traced.trace) : undefined }),
    recovery: agent.agent.recovery,
  }
}

function originOf(first: TaskEvent | undefined): string | undefined {
  const origin = first?.type === 'message' ? first.message.metadata?.[rerunMember] : undefined
  return typeof origin === 'string' ? origin.slice(0, 500) : undefined
}

/** All events of a task, or the first and the last ones of a very long task. */
export async function scanEvents(
  log: OperatorLog,
  { taskId, generation }: OperatorTask,
): Promise<readonly TimedEvent[]> {
  const isLong = generation > maxScanned
  const ranges = isLong
    ? [
        [0, scannedAtBegin],
        [generation - (maxScanned - scannedAtBegin), generation],
      ]
    : [[0, generation]]
  const events: TimedEvent[] = []
  for (const [from = 0, to = 0] of ranges) {
    for (let after = from; after < to; ) {
      const page = await log.events(taskId, after, Math.min(1_000, to - after))
      const last = page.at(-1)
      if (!last) break
      events.push(...page)
      after = last.generation
    }
  }
  return events
}

/** Folds events until there is enough to show. The status is always the current one. */
function foldShortened(head: OperatorTask, events: readonly TimedEvent[]) {
  const fold = createFold(head)
  let left = maxContent
  let isShortened = false
  for (const stored of events) {
    const event = shortenEvent(stored.event, left)
    if (event !== stored.event) isShortened = true
    left -= contentLength(event)
    fold.apply({ generation: stored.generation, event })
  }
  const { taskId: id, contextId, generation, status, phase } = head
  const folded = fold.task()
  const messages = fold.messages()
  const task: Task = folded
    ? { ...folded, generation, ...defined({ status }) }
    : {
        id,
        contextId,
        generation,
        artifacts: [],
        history: messages,
        status: { state: isTask(phase as Phase) ? (phase as Task['status']['state']) : 'submitted' },
      }
  return { task, isShortened }
}

function shortenEvent(event: TaskEvent, left: number): TaskEvent {
  if (contentLength(event) <= left) return event
  const budget = Math.max(0, left)
  switch (event.type) {
    case 'artifact':
      return { ...event, artifact: shorten(event.artifact, budget) }
    case 'message':
      return { ...event, message: shorten(event.message, budget) }
    case 'status': {
      const { status } = event
      return status.message ? { ...event, status: { ...status, message: shorten(status.message, budget) } } : event
    }
    case 'reply':
      return event.message ? { ...event, message: shorten(event.message, budget) } : event
    case 'cancel':
    case 'journal':
      return event
  }
}

/** Keeps the parts that fit; the first that does not is cut if it is text. */
function shorten<T extends Artifact | Message>(content: T, budget: number): T {
  let left = budget
  const parts: Part[] = []
  for (const part of content.parts) {
    const length = lengthOf(part)
    if (length <= left) parts.push(part)
    else if ('text' in part && left > 0) parts.push({ ...part, text: `${part.text.slice(0, left)}…` })
    left -= length
    if (left <= 0) break
  }
  return { ...content, parts }
}

function contentLength(event: TaskEvent): number {
  const content =
    event.type === 'artifact' ? event.artifact : event.type === 'status' ? event.status.message : messageIn(event)
  return content?.parts.reduce((sum, part) => sum + lengthOf(part), 0) ?? 0
}

function messageIn(event: TaskEvent): Message | undefined {
  return event.type === 'message' || event.type === 'reply' ? event.message : undefined
}

function lengthOf(part: Part): number {
  if ('text' in part) return part.text.length
  if ('raw' in part) return part.raw.length
  return 'url' in part ? part.url.length : JSON.stringify(part.data).length
}

function phasesOf(events: readonly TimedEvent[], created: number): TaskDetail['phases'] {
  // Only the server of another agent knows when its tasks changed.
  if (created === 0) return []
  const phases: { phase: Phase; at: number }[] = [{ phase: 'received', at: created }]
  for (const { event, at } of events) {
    const phase = event.type === 'status' ? event.status.state : event.type === 'reply' ? 'answered' : undefined
    if (phase === undefined || phase === phases.at(-1)?.phase) continue
    const reported = event.type === 'status' && event.status.timestamp ? Date.parse(event.status.timestamp) : undefined
    phases.push({ phase, at: at ?? reported ?? created })
  }
  return phases.slice(-maxPhases)
}

function stepsOf(events: readonly TimedEvent[]): readonly JournalStep[] {
  let attempt = 1
  return events.flatMap(({ event, generation, at }) => {
    if (event.type !== 'journal') return []
    const { entry } = event
    if (entry.type === 'attempt') attempt = entry.attempt
    if (entry.type !== 'step') return []
    const { step, call, result, failure } = entry
    return [defined({ attempt, step, call, generation, at, result, failure })]
  })
}

/** A page of events: after a generation, or before one. */
export async function readEvents(
  agent: ConsoleAgent,
  taskId: string,
  range: { readonly after: number; readonly before: number | undefined; readonly limit: number },
): Promise<EventPage> {
  const { generation } = await requireTask(agent, taskId)
  const { before, limit } = range
  const after = before === undefined ? range.after : Math.max(0, before - 1 - limit)
  const end = before === undefined ? after + limit : before - 1
  const rows: EventRow[] = []
  const log = operatorLogOf(agent)
  for (let at = after, bytes = 0; at < Math.min(end, generation); ) {
    const page = await log.events(taskId, at, end - at)
    const last = page.at(-1)
    if (!last) break
    for (const event of page) {
      const row = eventRowOf(event)
      rows.push(row)
      bytes += Math.min(row.bytes, maxEventBytes)
    }
    at = last.generation
    // A page that goes backwards has to reach its end: the caller continues before its first event.
    if (before === undefined && bytes > maxPageBytes) break
  }
  return { events: rows, generation }
}

/** One event in full. */
export async function readEvent(agent: ConsoleAgent, taskId: string, generation: number): Promise<EventRow> {
  const [event] = await operatorLogOf(agent).events(taskId, generation - 1, 1)
  if (!event || event.generation !== generation) throw notFound('There is no event with this number.')
  return { ...eventRowOf(event), event: withoutSecrets(event.event) }
}

/** New events of a task as they are stored, by any replica. */
export async function* watchEvents(agent: ConsoleAgent, taskId: string, after: number, signal: AbortSignal) {
  const log = operatorLogOf(agent)
  for (let at = after; !signal.aborted; ) {
    const page = await log.events(taskId, at, 200)
    for (const event of page) yield { id: event.generation, value: eventRowOf(event) }
    at = page.at(-1)?.generation ?? at
    if (page.length > 0) continue
    const head = await log.task(taskId)
    if (!head || head.phase === 'expired') return
    await agent.agent.log.wait(taskId, at, signal)
  }
}

export function eventRowOf({ generation, event, at }: TimedEvent): EventRow {
  const bytes = new TextEncoder().encode(JSON.stringify(event)).length
  return defined({
    generation,
    at,
    bytes,
    type: event.type,
    by: emitterOf(event),
    event: bytes <= maxEventBytes ? withoutSecrets(event) : undefined,
  })
}

function emitterOf(event: TaskEvent): EventRow['by'] {
  switch (event.type) {
    case 'message':
      // The history of a task of another agent has the agent's messages as well.
      return event.message.role === 'agent' ? 'agent' : 'caller'
    case 'cancel':
      return 'caller'
    case 'status':
      return event.implied || event.withAnswer ? 'server' : 'agent'
    case 'journal':
      return 'server'
    case 'artifact':
    case 'reply':
      return 'agent'
  }
}

/** Claims of the caller's credentials are not for operators. */
export function withoutSecrets(event: TaskEvent): TaskEvent {
  if (event.type !== 'message') return event
  const { ticket: _, principal, ...rest } = event
  const { id, tenant, scopes } = principal
  return { ...rest, principal: defined({ id, tenant, scopes }) }
}
