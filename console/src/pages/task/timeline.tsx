import type { EventRow, TaskDetail } from 'parley-a2a/operator'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { operator } from '../../api/operator.ts'
import { CodeBlock, JsonBlock } from '../../components/code-block.tsx'
import { EmptyState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { formatBytes, formatClock, formatDuration, formatTime } from '../../components/time.tsx'
import { VirtualList } from '../../components/virtual-list.tsx'
import type { EventPages } from './event-pages.ts'
import { describeEvent, textOf } from './event-text.ts'
import { PhaseChart } from './phase-chart.tsx'
import { useTimelineRows } from './timeline-rows.ts'
import { type Shown, TimelineTools } from './timeline-tools.tsx'

/** The events of a task by generation, with time, the gap before, size and origin; chunks of an artifact are one row. */
export function Timeline({ task, pages }: { readonly task: TaskDetail; readonly pages: EventPages }) {
  const { query, path, route } = useLocation()
  const shown = readShown(query)
  const [follows, setFollows] = useState(false)
  const opened = Number(query.event) || undefined
  const show = (next: Shown, event?: number) =>
    route(`${path}?${new URLSearchParams({ ...next, ...(event && { event: `${event}` }) })}`, true)
  const open = (generation: number) => {
    const { chunks = 'grouped', ...rest } = shown
    if (generation === opened) show({ ...rest, chunks })
    else show(chunks === 'all' ? rest : { ...rest, chunks }, generation)
  }
  const props: ListProps = { task, pages, opened, open, shown, follows }
  return (
    <div class="timeline">
      <PhaseChart task={task} />
      <TimelineTools task={task} shown={shown} onShow={show} follows={follows} onFollow={setFollows} />
      <div class="event-line event-head" aria-hidden="true">
        <span>No.</span>
        <span>Event</span>
        <span>Content</span>
        <span class="event-facts">
          <span class="event-by">From</span>
          <span class="event-size">Size</span>
          <span class="event-gap">Gap</span>
          <span class="event-time">Time</span>
        </span>
      </div>
      {pages.error !== undefined && <Notice kind="warning">{messageOf(pages.error)}</Notice>}
      {isPlain(shown) ? <EveryEvent {...props} /> : <SomeEvents {...props} />}
    </div>
  )
}

/** What the address says. A link to an event shows every event, so that it is among them. */
function readShown({ type, text, order, chunks, event }: Readonly<Record<string, string>>): Shown {
  const mode = chunks === 'all' || chunks === 'grouped' ? chunks : event === undefined ? undefined : 'all'
  return {
    ...(type && { type }),
    ...(text && { text }),
    ...(order === 'newest' && { order }),
    ...(mode && { chunks: mode }),
  }
}

/** Whether every event is shown, so that the place of each is known. */
const isPlain = ({ type, text, chunks }: Shown) => chunks === 'all' && type === undefined && text === undefined

interface ListProps {
  readonly task: TaskDetail
  readonly pages: EventPages
  readonly opened: number | undefined
  readonly open: (generation: number) => void
  readonly shown: Shown
  readonly follows: boolean
}

/** Every event, loaded by page where it is looked at. If the newest come first, new ones wait until the reader wants them. */
function EveryEvent({ task, pages, opened, open, shown, follows }: ListProps) {
  const isNewestFirst = shown.order === 'newest'
  const { top, added, ...list } = useStillList(pages.generation, isNewestFirst)
  const count = isNewestFirst ? top : pages.generation
  const generationAt = useCallback(
    (index: number) => (isNewestFirst ? count - index : index + 1),
    [isNewestFirst, count],
  )
  const first = useRef(opened)
  const startAt = first.current === undefined ? undefined : isNewestFirst ? count - first.current : first.current - 1
  return (
    <>
      <NewEvents count={added} onShow={list.showNew} />
      <VirtualList
        key={shown.order ?? 'oldest'}
        label="Events"
        class="timeline-list"
        count={count}
        estimate={44}
        keyOf={generationAt}
        followsEnd={follows && !isNewestFirst}
        onScroll={list.onScroll}
        startKey={list.startKey}
        {...(startAt !== undefined && { startAt })}
        render={(index) => {
          const generation = generationAt(index)
          const row = pages.eventAt(generation)
          if (!row) return <div class="event-line event-loading">#{generation}</div>
          const before = generation > 1 ? pages.eventAt(generation - 1)?.at : undefined
          const isOpened = opened === generation
          return <EventLine row={row} before={before} task={task} isOpened={isOpened} onOpen={() => open(generation)} />
        }}
      />
    </>
  )
}

/** Events that match, or groups of chunks. */
function SomeEvents({ task, pages, opened, open, shown, follows }: ListProps) {
  const { type, text, order, chunks } = shown
  const isNewestFirst = order === 'newest'
  const { top, added, ...list } = useStillList(pages.generation, isNewestFirst)
  const query = {
    ...(type !== undefined && { type }),
    ...(text !== undefined && { text }),
    ...(order !== undefined && { order }),
    ...(chunks !== 'all' && { group: 'chunks' as const }),
  }
  const { rows, isLoading, scanned, error, loadMore } = useTimelineRows(
    task,
    query,
    isNewestFirst ? top : pages.generation,
  )
  const keyAt = useCallback((index: number) => rows[index]?.generation ?? index, [rows])
  if (error !== undefined) return <Notice kind="error">{messageOf(error)}</Notice>
  if (rows.length === 0 && !isLoading) return <EmptyState title="No event matches" />
  if (rows.length === 0) return <LoadingState label={`Reading ${task.events.toLocaleString()} events`} />
  return (
    <>
      <NewEvents count={added} onShow={list.showNew} />
      {scanned !== undefined && isLoading && (
        <p class="small muted timeline-progress" role="status">
          Reading the events…
        </p>
      )}
      <VirtualList
        key={JSON.stringify(query)}
        label="Events"
        class="timeline-list"
        count={rows.length}
        estimate={44}
        keyOf={keyAt}
        onEnd={loadMore}
        followsEnd={follows && !isNewestFirst}
        onScroll={list.onScroll}
        startKey={list.startKey}
        render={(index) => {
          const row = rows[index] as EventRow
          const earlier = rows[isNewestFirst ? index + 1 : index - 1]
          const before = text === undefined && type === undefined ? (earlier?.chunks?.until ?? earlier?.at) : undefined
          const isOpened = opened === row.generation
          return (
            <EventLine row={row} before={before} task={task} isOpened={isOpened} onOpen={() => open(row.generation)} />
          )
        }}
      />
    </>
  )
}

/** A list whose newest items come first stays as it is while a person has scrolled away from its beginning. */
function useStillList(generation: number, isNewestFirst: boolean) {
  const [still, setStill] = useState<number>()
  const [startKey, setStartKey] = useState(0)
  const top = isNewestFirst ? (still ?? generation) : generation
  const onScroll = (isAtStart: boolean) => setStill((old) => (isAtStart || !isNewestFirst ? undefined : (old ?? top)))
  const showNew = () => {
    setStill(undefined)
    setStartKey((old) => old + 1)
  }
  return { top, added: generation - top, onScroll, showNew, startKey }
}

function NewEvents({ count, onShow }: { readonly count: number; readonly onShow: () => void }) {
  if (count <= 0) return null
  return (
    <button type="button" class="button button-small new-items" onClick={onShow}>
      {count.toLocaleString()} new
    </button>
  )
}

interface EventLineProps {
  readonly row: EventRow
  /** When the event before it was stored. */
  readonly before: number | undefined
  readonly task: TaskDetail
  readonly isOpened: boolean
  readonly onOpen: () => void
}

function EventLine({ row, before, task, isOpened, onOpen }: EventLineProps) {
  const { generation, at, chunks } = row
  const text = describeEvent(row, task)
  const gap = at !== undefined && before !== undefined ? at - before : undefined
  return (
    <div class="event">
      <button type="button" class="event-line" aria-expanded={isOpened} onClick={onOpen}>
        <span class="mono muted">#{generation}</span>
        <span class={`event-type event-${row.type}`}>{row.type}</span>
        <bdi class="truncate event-text" title={text}>
          {text}
        </bdi>
        <span class="event-facts muted small">
          <span class="event-by">by {row.by}</span>
          <span class="event-size">{formatBytes(row.bytes)}</span>
          <span class="event-gap">{gap === undefined ? '' : `+${formatDuration(gap)}`}</span>
          <span class="event-time" title={at === undefined ? undefined : formatTime(at)}>
            {at === undefined ? '' : formatClock(at)}
          </span>
        </span>
      </button>
      {isOpened && (chunks ? <ChunksDetail row={row} task={task} /> : <EventDetail row={row} task={task} />)}
    </div>
  )
}

/** Characters of grouped chunks that are read at once. */
const maxText = 200_000

/** The text of chunks together, and a way to each of them. */
function ChunksDetail({ row, task }: { readonly row: EventRow; readonly task: TaskDetail }) {
  const { path } = useLocation()
  const [text, setText] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const { generation, at, chunks = { last: generation, count: 1, text: '' } } = row
  const { last, count, until } = chunks
  useEffect(() => {
    let isCurrent = true
    readText(task, generation, last).then(
      (read) => isCurrent && setText(read),
      (error) => isCurrent && setProblem(messageOf(error)),
    )
    return () => {
      isCurrent = false
    }
  }, [generation, last])
  return (
    <div class="event-detail">
      <p class="small muted">
        {count.toLocaleString()} chunks, #{generation} to #{last}
        {at !== undefined && until !== undefined && `, in ${formatDuration(until - at)}`}.{' '}
        <a href={`${path}?chunks=all&event=${generation}`}>Show each chunk</a>
      </p>
      {problem && <Notice kind="error">{problem}</Notice>}
      <CodeBlock text={text ?? chunks.text} label={`Chunks ${generation} to ${last}`} maxHeight="small" />
    </div>
  )
}

async function readText(task: TaskDetail, first: number, last: number): Promise<string> {
  let text = ''
  for (let after = first - 1; after < last && text.length < maxText; ) {
    const { events } = await operator.events(task, { after, limit: Math.min(1_000, last - after) })
    const end = events.at(-1)
    if (!end) break
    text += events.map(({ event }) => (event?.type === 'artifact' ? textOf(event.artifact.parts) : '')).join('')
    after = end.generation
  }
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text
}

/** A large event is loaded when a person wants to see it. */
function EventDetail({ row, task }: { readonly row: EventRow; readonly task: TaskDetail }) {
  const [event, setEvent] = useState(row.event)
  const [problem, setProblem] = useState<string>()
  async function loadEvent() {
    try {
      setEvent((await operator.event(task, row.generation)).event)
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <div class="event-detail">
      {row.at !== undefined && <p class="small muted">Stored {formatTime(row.at)}</p>}
      {problem && <Notice kind="error">{problem}</Notice>}
      {event ? (
        <JsonBlock value={event} label={`Event ${row.generation}`} maxHeight="small" />
      ) : (
        <button type="button" class="button button-small" onClick={loadEvent}>
          Load {formatBytes(row.bytes)}
        </button>
      )}
    </div>
  )
}
