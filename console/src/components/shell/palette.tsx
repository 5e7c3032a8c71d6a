import type { TaskRow } from 'parley-a2a/operator'
import { useEffect, useId, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agentName, agents } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { hasFeature } from '../../api/session.ts'
import { taskName } from '../../api/task-name.ts'
import { link, linkWithQuery } from '../../router/links.ts'
import { Dialog } from '../dialog.tsx'
import { StateBadge } from '../state-badge.tsx'
import './palette.css'

/** A page with its address, for the palette. */
export interface Target {
  readonly title: string
  readonly href: string
}

interface Entry extends Target {
  readonly key: string
  /** What kind of thing it leads to. */
  readonly kind: string
  readonly state?: string
}

const maxEntries = 12
const maxTasks = 6

/** Pages and agents, so that there is room for tasks. */
const maxTargets = 6

/** A field that leads to any page, agent or task by a part of its name. */
export function Palette({ pages, onClose }: { readonly pages: readonly Target[]; readonly onClose: () => void }) {
  const { route } = useLocation()
  const id = useId()
  const [text, setText] = useState('')
  const [selected, setSelected] = useState(0)
  const tasks = useTasks(text.trim())
  const entries = [...entriesOf(text.trim(), pages), ...tasks.map(taskEntry)].slice(0, maxEntries)
  const current = Math.min(selected, entries.length - 1)

  function open(entry: Entry | undefined) {
    if (!entry) return
    onClose()
    route(entry.href)
  }

  function move(event: KeyboardEvent) {
    if (event.key === 'ArrowDown') setSelected((current + 1) % entries.length)
    else if (event.key === 'ArrowUp') setSelected((current + entries.length - 1) % entries.length)
    else if (event.key === 'Enter') open(entries[current])
    else return
    event.preventDefault()
  }

  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        class="input"
        type="text"
        role="combobox"
        aria-label="Page, agent or task"
        aria-expanded={entries.length > 0}
        aria-controls={id}
        aria-activedescendant={entries[current] && `${id}-${current}`}
        aria-autocomplete="list"
        autoComplete="off"
        placeholder="Page, agent or task"
        value={text}
        maxLength={200}
        ref={(element) => element?.focus()}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setSelected(0)
        }}
        onKeyDown={move}
      />
      <div id={id} role="listbox" aria-label="Results" class="palette">
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
          <div
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            class="palette-entry"
            onClick={() => open(entry)}
          >
            <bdi class="truncate">{entry.title}</bdi>
            {entry.state && <StateBadge state={entry.state} />}
            <span class="muted small truncate">{entry.kind}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p class="muted">Nothing matches.</p>}
    </Dialog>
  )
}

function entriesOf(text: string, pages: readonly Target[]): readonly Entry[] {
  const matches = (name: string) => name.toLowerCase().includes(text.toLowerCase())
  const search: readonly Entry[] =
    text === '' || !hasFeature('history')
      ? []
      : [
          {
            key: 'search',
            kind: 'Tasks',
            title: `Search tasks: ${text}`,
            href: linkWithQuery(['tasks'], { search: text }),
          },
        ]
  const targets: readonly Entry[] = [
    ...pages.map((page) => ({ ...page, key: `page ${page.title}`, kind: 'Page' })),
    ...agents.value.flatMap(({ id, name }) => [
      { key: `chat ${id}`, kind: 'Chat', title: `Chat with ${name}`, href: link('chat', id) },
      { key: `agent ${id}`, kind: 'Agent', title: name, href: link('agents', id) },
    ]),
  ]
  return [...targets.filter(({ title }) => matches(title)).slice(0, maxTargets), ...search]
}

function taskEntry(task: TaskRow): Entry {
  const { agent, taskId, phase } = task
  return {
    key: `task ${agent} ${taskId}`,
    kind: agentName(agent),
    title: taskName(task),
    href: link('tasks', agent, taskId),
    state: phase,
  }
}

/** The newest tasks that match, when the person pauses typing. */
function useTasks(text: string): readonly TaskRow[] {
  const [found, setFound] = useState<{ readonly text: string; readonly tasks: readonly TaskRow[] }>()
  useEffect(() => {
    if (!hasFeature('history') || text.length === 1) return
    let isCurrent = true
    const timer = setTimeout(
      () => {
        operator.tasks({ limit: maxTasks, ...(text !== '' && { search: text }) }).then(
          ({ tasks }) => isCurrent && setFound({ text, tasks }),
          () => {}, // the connection status shows why
        )
      },
      text === '' ? 0 : 200,
    )
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text])
  return found?.text === text ? found.tasks : []
}
