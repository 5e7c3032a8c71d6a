import type { EventRow, TaskDetail } from 'parley-a2a/operator'
import { useEffect, useRef, useState } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { Icon } from '../../components/icon.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { formatDuration } from '../../components/time.tsx'
import { describeEvent, textOf } from './event-text.ts'

/** A person may have a longer pause of the task shortened: nothing happens in it. */
const longestPause = 5_000
const pageSize = 200
/** Characters of the text that stay on the page. */
const maxText = 200_000

const speeds = [1, 4, 16, 64] as const

/** Plays the stream of a task again: at its original speed, or faster. */
export function Replay({ task }: { readonly task: TaskDetail }) {
  const [isPlaying, setPlaying] = useState(false)
  const [speed, setSpeed] = useState<number>(1)
  const [shown, setShown] = useState<Shown>(nothing)
  const [problem, setProblem] = useState<string>()
  const position = useRef(0)
  const [isShortened, setShortened] = useState(true)
  const pace = useRef<Pace>({ speed, longest: longestPause })
  pace.current = { speed, longest: isShortened ? longestPause : Number.POSITIVE_INFINITY }

  useEffect(() => {
    if (!isPlaying) return
    const abort = new AbortController()
    play(task, position, pace, abort.signal, (event) => setShown((old) => withEvent(old, event, task))).then(
      () => setPlaying(false),
      (error) => {
        if (abort.signal.aborted) return
        setProblem(messageOf(error))
        setPlaying(false)
      },
    )
    return () => abort.abort()
  }, [isPlaying, task.agent, task.taskId])

  function toggle() {
    if (!isPlaying && position.current >= task.events) {
      position.current = 0
      setShown(nothing)
    }
    setProblem(undefined)
    setPlaying(!isPlaying)
  }

  return (
    <section class="replay" aria-label="Replay">
      <div class="replay-controls">
        <button type="button" class="button button-primary" onClick={toggle}>
          <Icon name={isPlaying ? 'stop' : 'play'} />
          {isPlaying ? 'Pause' : 'Play'}
        </button>
        <label class="choice">
          Speed
          <select
            class="input input-small"
            value={speed}
            onChange={({ currentTarget }) => setSpeed(Number(currentTarget.value))}
          >
            {speeds.map((value) => (
              <option key={value} value={value}>
                {value}×
              </option>
            ))}
          </select>
        </label>
        <progress max={task.events} value={shown.generation} aria-label="Position" />
        <span class="muted small">
          {shown.generation} of {task.events}
        </span>
        {shown.phase && <StateBadge state={shown.phase} />}
      </div>
      {problem && <Notice kind="error">{problem}</Notice>}
      <label class="choice small">
        <input
          type="checkbox"
          checked={isShortened}
          onChange={({ currentTarget }) => setShortened(currentTarget.checked)}
        />
        Shorten pauses to {formatDuration(longestPause)}
      </label>
      <bdi class="replay-status">{shown.line}</bdi>
      <pre class="replay-text breakable">{shown.text}</pre>
    </section>
  )
}

interface Pace {
  readonly speed: number
  /** The longest pause, in milliseconds. */
  readonly longest: number
}

interface Shown {
  readonly generation: number
  readonly phase?: string
  readonly line: string
  readonly text: string
}

const nothing: Shown = { generation: 0, line: '', text: '' }

function withEvent(shown: Shown, row: EventRow, task: TaskDetail): Shown {
  const { event, generation } = row
  const next = { ...shown, generation, line: describeEvent(row, task) }
  if (event?.type === 'status') return { ...next, phase: event.status.state }
  if (event?.type !== 'artifact') return next
  const text = textOf(event.artifact.parts)
  return { ...next, text: (event.append ? shown.text + text : `${shown.text}\n${text}`).slice(-maxText) }
}

/** Emits the events after a position with the pauses that were between them. */
async function play(
  task: TaskDetail,
  position: { current: number },
  pace: { readonly current: Pace },
  signal: AbortSignal,
  emit: (event: EventRow) => void,
): Promise<void> {
  let before: number | undefined
  for (;;) {
    const { events } = await operator.events(task, { after: position.current, limit: pageSize })
    if (events.length === 0) return
    for (const event of events) {
      const gap = event.at !== undefined && before !== undefined ? event.at - before : 0
      const { speed, longest } = pace.current
      if (gap > 0) await pause(Math.min(gap, longest) / speed, signal)
      signal.throwIfAborted()
      before = event.at ?? before
      position.current = event.generation
      emit(event)
    }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
