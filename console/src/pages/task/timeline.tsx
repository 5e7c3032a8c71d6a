import type { EventRow, TaskDetail } from 'parley-a2a/operator'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { operator } from '../../api/operator.ts'
import { JsonBlock } from '../../components/code-block.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { formatBytes, formatClock, formatDuration, formatTime } from '../../components/time.tsx'
import { VirtualList } from '../../components/virtual-list.tsx'
import type { EventPages } from './event-pages.ts'
import { describeEvent } from './event-text.ts'
import { PhaseChart } from './phase-chart.tsx'

/** Every event of a task by its generation, with its time, the gap before it, its size and its origin. */
export function Timeline({ task, pages }: { readonly task: TaskDetail; readonly pages: EventPages }) {
  const { query, path, route } = useLocation()
  const opened = Number(query.event) || undefined
  const first = useRef(opened)
  const open = (generation: number) => route(generation === opened ? path : `${path}?event=${generation}`, true)
  return (
    <div class="timeline">
      <PhaseChart task={task} />
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
      <VirtualList
        label="Events"
        class="timeline-list"
        count={pages.generation}
        estimate={44}
        keyOf={generationAt}
        {...(first.current !== undefined && { startAt: first.current - 1 })}
        render={(index) => (
          <EventLine
            generation={index + 1}
            pages={pages}
            task={task}
            isOpened={opened === index + 1}
            onOpen={() => open(index + 1)}
          />
        )}
      />
    </div>
  )
}

const generationAt = (index: number) => index + 1

interface EventLineProps {
  readonly generation: number
  readonly pages: EventPages
  readonly task: TaskDetail
  readonly isOpened: boolean
  readonly onOpen: () => void
}

function EventLine({ generation, pages, task, isOpened, onOpen }: EventLineProps) {
  const row = pages.eventAt(generation)
  if (!row) return <div class="event-line event-loading">#{generation}</div>
  const before = generation > 1 ? pages.eventAt(generation - 1)?.at : undefined
  const text = describeEvent(row, task)
  const gap = row.at !== undefined && before !== undefined ? row.at - before : undefined
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
          <span class="event-time" title={row.at === undefined ? undefined : formatTime(row.at)}>
            {row.at === undefined ? '' : formatClock(row.at)}
          </span>
        </span>
      </button>
      {isOpened && <EventDetail row={row} task={task} />}
    </div>
  )
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
