import type { TaskQuery } from 'parley-a2a/operator'
import { useEffect, useState } from 'preact/hooks'
import { agents } from '../../api/agents.ts'
import { stateLabel } from '../../components/state-badge.tsx'

/** The filters of the list, as its address has them. */
export interface Filters {
  readonly state?: string
  readonly agent?: string
  readonly principal?: string
  readonly skill?: string
  readonly search?: string
  readonly since?: string
}

const names = ['state', 'agent', 'principal', 'skill', 'search', 'since'] as const

export function readFilters(query: Readonly<Record<string, string>>): Filters {
  return Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

const periods: Readonly<Record<string, { readonly label: string; readonly length: number }>> = {
  hour: { label: 'Last hour', length: 3_600_000 },
  day: { label: 'Last day', length: 86_400_000 },
  week: { label: 'Last week', length: 604_800_000 },
}

export function toQuery({ since, state, ...rest }: Filters): TaskQuery {
  const period = periods[since ?? '']
  const preset = presets.find(({ id }) => id === state)
  return {
    ...rest,
    ...(state !== undefined && { state: preset?.states ?? state }),
    ...(period && { since: Date.now() - period.length }),
  }
}

/** The questions that people have about tasks, and the states that answer them. */
const presets = [
  { id: 'active', label: 'Active', states: 'submitted,working' },
  { id: 'waiting', label: 'Waiting', states: 'input-required,auth-required' },
  { id: 'failing', label: 'Failed', states: 'failed,rejected' },
  { id: 'stuck', label: 'Stuck', states: 'stuck' },
] as const

const states = [
  'completed',
  'canceled',
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'failed',
  'rejected',
]

interface TaskFiltersProps {
  readonly filters: Filters
  /** `isTyped`: a person is writing, and the back button should not lead to every pause between two keys. */
  readonly onChange: (filters: Filters, isTyped: boolean) => void
}

export function TaskFilters({ filters, onChange }: TaskFiltersProps) {
  const isWide = () => matchMedia('(width >= 1000px)').matches
  const [showsAll, setShowsAll] = useState(
    () => isWide() || Boolean(filters.since || filters.principal || filters.skill || filters.agent),
  )
  const set = (name: keyof Filters, value: string, isTyped = false) =>
    onChange({ ...filters, [name]: value || undefined }, isTyped)
  return (
    <search class="task-filters">
      <fieldset class="preset-list">
        <legend class="visually-hidden">Show</legend>
        {[{ id: '', label: 'All' }, ...presets].map(({ id, label }) => (
          <button
            key={id}
            type="button"
            class="button button-small"
            aria-pressed={(filters.state ?? '') === id}
            onClick={() => set('state', id)}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <DelayedInput
        label="Search by task, context or caller"
        value={filters.search ?? ''}
        onChange={(value) => set('search', value, true)}
      />
      <button
        type="button"
        class="button button-small task-more"
        aria-expanded={showsAll}
        onClick={() => setShowsAll(!showsAll)}
      >
        {showsAll ? 'Fewer filters' : 'More filters'}
      </button>
      {showsAll && <MoreFilters filters={filters} set={set} />}
    </search>
  )
}

interface MoreFiltersProps {
  readonly filters: Filters
  readonly set: (name: keyof Filters, value: string, isTyped?: boolean) => void
}

function MoreFilters({ filters, set }: MoreFiltersProps) {
  return (
    <>
      <Choice label="State" value={filters.state ?? ''} onChange={(value) => set('state', value)}>
        <option value="">Any state</option>
        {presets.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
        {states.map((state) => (
          <option key={state} value={state}>
            {stateLabel(state)}
          </option>
        ))}
      </Choice>
      {agents.value.length > 1 && (
        <Choice label="Agent" value={filters.agent ?? ''} onChange={(value) => set('agent', value)}>
          <option value="">All agents</option>
          {agents.value.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Choice>
      )}
      <Choice label="Changed" value={filters.since ?? ''} onChange={(value) => set('since', value)}>
        <option value="">Any time</option>
        {Object.entries(periods).map(([id, { label }]) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </Choice>
      <DelayedInput
        label="Caller"
        value={filters.principal ?? ''}
        onChange={(value) => set('principal', value, true)}
      />
      <DelayedInput label="Skill" value={filters.skill ?? ''} onChange={(value) => set('skill', value, true)} />
    </>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly children: preact.ComponentChildren
}

function Choice({ label, value, onChange, children }: ChoiceProps) {
  return (
    <select
      class="input input-small"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {children}
    </select>
  )
}

/** A text that is applied when the person pauses typing. */
function DelayedInput({ label, value, onChange }: Omit<ChoiceProps, 'children'>) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text.trim()), 300)
    return () => clearTimeout(timer)
  }, [text, value, onChange])
  return (
    <input
      class={`input input-small ${label.startsWith('Search') ? 'task-search' : 'task-word'}`}
      type="search"
      placeholder={label}
      aria-label={label}
      value={text}
      maxLength={200}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  )
}
