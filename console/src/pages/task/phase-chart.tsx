import type { TaskDetail } from 'parley-a2a/operator'
import { isOpen } from '../../api/task-state.ts'
import { stateLabel } from '../../components/state-badge.tsx'
import { formatDuration, formatTime } from '../../components/time.tsx'

/** A phase shorter than this share of the task is still visible. */
const minShare = 0.012

/** The states of a task over time, as a bar. The list below it has the same for screen readers. */
export function PhaseChart({ task }: { readonly task: TaskDetail }) {
  const spans = spansOf(task)
  if (spans.length === 0) return null
  const total = spans.reduce((sum, { share }) => sum + share, 0)
  let at = 0
  return (
    <figure class="phase-chart">
      <svg viewBox="0 0 1000 28" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {spans.map(({ phase, share, from, length }) => {
          const start = at
          at += (share / total) * 1000
          return (
            <rect
              key={from}
              class={`phase phase-${phase}`}
              x={start}
              y="0"
              width={Math.max(at - start - 1, 1)}
              height="28"
            >
              <title>{`${stateLabel(phase)}: ${formatDuration(length)}`}</title>
            </rect>
          )
        })}
      </svg>
      <figcaption>
        <ol class="plain phase-list">
          {spans.slice(0, 12).map(({ phase, from, length }, index) => (
            <li key={from}>
              <span class={`phase-dot phase-${phase}`} aria-hidden="true" />
              {stateLabel(phase)}{' '}
              <span class="muted" title={formatTime(from)}>
                {index === spans.length - 1 && !isOpen(task) ? '' : formatDuration(length)}
              </span>
            </li>
          ))}
          {spans.length > 12 && <li class="muted">and {spans.length - 12} more</li>}
        </ol>
      </figcaption>
    </figure>
  )
}

interface Span {
  readonly phase: string
  readonly from: number
  readonly length: number
  readonly share: number
}

function spansOf(task: TaskDetail): readonly Span[] {
  const { phases, changed } = task
  const end = isOpen(task) ? Math.max(Date.now(), changed) : changed
  const [first] = phases
  if (!first) return []
  const whole = Math.max(end - first.at, 1)
  return phases.map(({ phase, at }, index) => {
    const length = Math.max((phases[index + 1]?.at ?? end) - at, 0)
    return { phase, from: at, length, share: Math.max(length / whole, minShare) }
  })
}
