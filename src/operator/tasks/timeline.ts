import { defined } from '../../core/base/json.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { textOf } from '../../core/protocol/model.ts'
import type { OperatorLog, TimedEvent } from '../../core/tasks/operator-log.ts'
import { type ConsoleAgent, operatorLogOf } from '../agents.ts'
import type { EventPage, EventRow } from '../contract.ts'
import { mergeChunks } from '../event-chunks.ts'
import { eventRowOf, requireTask, withoutSecrets } from './detail.ts'

/** Events that one request looks at. The caller continues from there. */
const maxScanned = 20_000

/** Events that are read at once. */
const pageSize = 1_000

/** About how many bytes a page has. */
const maxPageBytes = 1024 * 1024

/** Which events of a task a timeline shows. */
export interface TimelineFilter {
  /** Undefined: all types. */
  readonly types: ReadonlySet<string> | undefined
  /** A part of what the event says, in upper or lower case. */
  readonly text: string | undefined
  readonly isGrouped: boolean
}

interface TimelineRange {
  /** With `isNewestFirst`, the events before it; otherwise those after it. */
  readonly from: number
  readonly limit: number
  readonly isNewestFirst: boolean
}

/** A page of events that match, in the order of the reader, with consecutive chunks of an artifact as one row. */
export async function readTimeline(
  agent: ConsoleAgent,
  taskId: string,
  filter: TimelineFilter,
  range: TimelineRange,
): Promise<EventPage> {
  const { generation } = await requireTask(agent, taskId)
  const log = operatorLogOf(agent)
  const rows: EventRow[] = []
  const matches = createMatcher(filter, range.isNewestFirst)
  const { isNewestFirst, limit } = range
  let at = isNewestFirst ? Math.min(range.from, generation + 1) : range.from
  let bytes = 0
  const isFull = () => rows.length >= limit || bytes > maxPageBytes
  for (let scanned = 0; scanned < maxScanned && !isFull(); ) {
    const page = isNewestFirst
      ? (await readRange(log, taskId, Math.max(0, at - 1 - pageSize), at - 1)).toReversed()
      : await log.events(taskId, at, pageSize)
    if (page.length === 0) return { events: rows, generation }
    for (const stored of page) {
      // The first row that does not fit begins the next page.
      if (isFull()) break
      at = stored.generation
      scanned++
      if (!matches(stored.event)) continue
      const row = eventRowOf(stored)
      const last = rows.at(-1)
      const [before, after] = isNewestFirst ? [row, last] : [last, row]
      const merged = filter.isGrouped && before && after ? mergeChunks(before, after) : undefined
      if (merged) rows[rows.length - 1] = merged
      else rows.push(row)
      if (!merged) bytes += row.event ? row.bytes : 0
    }
  }
  const isDone = isNewestFirst ? at <= 1 : at >= generation
  return defined({ events: rows, generation, next: isDone ? undefined : at })
}

/** All events of a range: the log returns fewer at a time if they are large. */
async function readRange(log: OperatorLog, taskId: string, after: number, end: number): Promise<TimedEvent[]> {
  const events: TimedEvent[] = []
  for (let at = after; at < end; ) {
    const page = await log.events(taskId, at, end - at)
    const last = page.at(-1)
    if (!last) break
    events.push(...page)
    at = last.generation
  }
  return events
}

/** Whether an event matches. A text that chunks of an artifact split is found in the second of them. */
function createMatcher({ types, text }: TimelineFilter, isNewestFirst: boolean): (event: TaskEvent) => boolean {
  const searched = text?.toLowerCase()
  const length = (searched?.length ?? 1) - 1
  let [artifact, edge] = ['', '']
  return (event) => {
    if (types && !types.has(event.type)) return false
    if (searched === undefined) return true
    if (event.type !== 'artifact') return hasText(withoutSecrets(event), searched)
    const { artifactId } = event.artifact
    const chunk = textOf(event.artifact).toLowerCase()
    const near = artifact === artifactId ? edge : ''
    const joined = isNewestFirst ? chunk + near : near + chunk
    artifact = artifactId
    edge = isNewestFirst ? joined.slice(0, length) : joined.slice(Math.max(0, joined.length - length))
    return joined.includes(searched) || hasText(event.artifact, searched)
  }
}

/** Whether a value of a JSON document has the text. */
function hasText(value: unknown, searched: string): boolean {
  if (typeof value === 'string') return value.toLowerCase().includes(searched)
  if (typeof value !== 'object' || value === null) return typeof value === 'number' && `${value}`.includes(searched)
  return Object.values(value).some((member) => hasText(member, searched))
}
