import type { TaskDetail } from 'parley-a2a/operator'
import { useEffect, useRef, useState } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { isOpen } from '../../api/task-state.ts'
import { Icon } from '../../components/icon.tsx'
import { messageOf, Notice } from '../../components/states.tsx'

/** What a timeline shows, as its address has it. `chunks` is `all` or `grouped`. */
export interface Shown {
  readonly type?: string
  readonly text?: string
  readonly order?: 'newest'
  readonly chunks?: 'all' | 'grouped'
}

const types = [
  { id: '', label: 'All events' },
  { id: 'message,reply,cancel', label: 'Messages' },
  { id: 'status', label: 'States' },
  { id: 'artifact', label: 'Artifacts' },
  { id: 'journal', label: 'Journal' },
] as const

interface TimelineToolsProps {
  readonly task: TaskDetail
  readonly shown: Shown
  readonly onShow: (shown: Shown) => void
  readonly follows: boolean
  readonly onFollow: (follows: boolean) => void
}

/** Filters of a timeline, its order, and its export. */
export function TimelineTools({ task, shown, onShow, follows, onFollow }: TimelineToolsProps) {
  const [text, setText] = useState(shown.text ?? '')
  const latest = useRef(shown)
  latest.current = shown
  // A text is searched when the person pauses typing.
  useEffect(() => {
    if (text === (shown.text ?? '')) return
    const timer = setTimeout(() => onShow(without(latest.current, 'text', text)), 300)
    return () => clearTimeout(timer)
  }, [text])
  const isNewestFirst = shown.order === 'newest'
  return (
    <search class="timeline-tools">
      <select
        class="input input-small"
        aria-label="Type of event"
        value={shown.type ?? ''}
        onChange={({ currentTarget }) => onShow(without(shown, 'type', currentTarget.value))}
      >
        {types.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
      <input
        class="input input-small"
        type="search"
        placeholder="Search in events"
        aria-label="Search in events"
        value={text}
        maxLength={200}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Toggle
        label="Group chunks"
        isOn={shown.chunks !== 'all'}
        onChange={(isOn) => onShow({ ...shown, chunks: isOn ? 'grouped' : 'all' })}
      />
      <Toggle
        label="Newest first"
        isOn={isNewestFirst}
        onChange={(isOn) => onShow(without(shown, 'order', isOn ? 'newest' : ''))}
      />
      {isOpen(task) && !isNewestFirst && <Toggle label="Follow" isOn={follows} onChange={onFollow} />}
      <Export task={task} />
    </search>
  )
}

/** The same with another value, or without it if the value is empty. */
function without(shown: Shown, name: keyof Shown, value: string): Shown {
  const { [name]: _, ...rest } = shown
  return value === '' ? rest : { ...rest, [name]: value }
}

interface ToggleProps {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
}

function Toggle({ label, isOn, onChange }: ToggleProps) {
  return (
    <button type="button" class="button button-small" aria-pressed={isOn} onClick={() => onChange(!isOn)}>
      {label}
    </button>
  )
}

/** Downloads all events as a JSON document. */
function Export({ task }: { readonly task: TaskDetail }) {
  const [progress, setProgress] = useState<number>()
  const [problem, setProblem] = useState<string>()
  async function save() {
    setProblem(undefined)
    try {
      download(await collect(task, setProgress), `${task.taskId}.json`)
    } catch (error) {
      setProblem(messageOf(error))
    }
    setProgress(undefined)
  }
  return (
    <>
      <button
        type="button"
        class="button button-small"
        aria-disabled={progress !== undefined}
        onClick={() => progress === undefined && save()}
      >
        <Icon name="download" />
        {progress === undefined ? 'Export JSON' : `${progress.toLocaleString()} events`}
      </button>
      {problem && <Notice kind="error">{problem}</Notice>}
    </>
  )
}

/** The browser keeps the pieces of a large export on its disk. */
async function collect(task: TaskDetail, onProgress: (count: number) => void): Promise<Blob> {
  const pieces: string[] = []
  for (let after = 0; ; ) {
    const { events, generation } = await operator.events(task, { after, limit: 1_000 })
    for (const row of events) {
      // Large events are not in a page.
      const whole = row.event ? row : await operator.event(task, row.generation)
      pieces.push(`${pieces.length === 0 ? '' : ',\n'}${JSON.stringify(whole)}`)
    }
    after = events.at(-1)?.generation ?? generation
    onProgress(after)
    if (after >= generation) break
  }
  return new Blob(['[', ...pieces, ']\n'], { type: 'application/json' })
}

function download(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob)
  const anchor = document.createElement('a')
  anchor.href = address
  anchor.download = name
  anchor.click()
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
