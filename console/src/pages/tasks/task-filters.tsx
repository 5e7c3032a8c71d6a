import type { TaskQuery } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { agents } from '../../api/agents.ts'
import { DelayedInput } from '../../components/delayed-input.tsx'
import { stateLabel } from '../../components/state-badge.tsx'
import { formatTime } from '../../components/time.tsx'

/** The filters of the list, as its address has them. */
export interface Filters {
  readonly state?: string
  readonly agent?: string
  readonly principal?: string
  readonly tenant?: string
  readonly skill?: string
  readonly contextId?: string
  readonly search?: string
  /** The name of a period, or a time in milliseconds since 1970. */
  readonly since?: string
  /** A time in milliseconds since 1970. */
  readonly until?: string
}

const names = ['state', 'agent', 'principal', 'tenant', 'skill', 'contextId', 'search', 'since', 'until'] as const

export function readFilters(query: Readonly<Record<string, string>>): Filters {
  return Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

const periods: Readonly<Record<string, { readonly label: string; readonly length: number }>> = {
  hour: { label: 'Last hour', length: 3_600_000 },
  day: { label: 'Last day', length: 86_400_000 },
  week: { label: 'Last week', length: 604_800_000 },
}

export function toQuery({ since, until, state, ...rest }: Filters): TaskQuery {
  const period = periods[since ?? '']
  const [from, to] = [since, until].map((text) => (/^\d{1,15}$/.test(text ?? '') ? Number(text) : undefined))
  const preset = presets.find(({ id }) => id === state)
  return {
    ...rest,
    ...(state !== undefined && { state: preset?.states ?? state }),
    ...(period ? { since: Date.now() - period.length } : from !== undefined && { since: from }),
    ...(to !== undefined && { until: to }),
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
  /** Whether callers of some tasks have tenants. */
  readonly hasTenants: boolean
  /** `isTyped`: a person is writing, and the back button should not lead to every pause between two keys. */
  readonly onChange: (filters: Filters, isTyped: boolean) => void
}

export function TaskFilters({ filters, hasTenants, onChange }: TaskFiltersProps) {
  const isWide = () => matchMedia('(width >= 1000px)').matches
  const [showsAll, setShowsAll] = useState(
    () => isWide() || Boolean(filters.since || filters.principal || filters.tenant || filters.skill || filters.agent),
  )
  const set = (name: keyof Filters, value: string, isTyped = false) =>
    // A span of time has two ends.
    onChange({ ...filters, ...(name === 'since' && { until: undefined }), [name]: value || undefined }, isTyped)
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
        class="task-search"
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
      {showsAll && <MoreFilters filters={filters} hasTenants={hasTenants} set={set} />}
    </search>
  )
}

interface MoreFiltersProps {
  readonly filters: Filters
  readonly hasTenants: boolean
  readonly set: (name: keyof Filters, value: string, isTyped?: boolean) => void
}

function MoreFilters({ filters, hasTenants, set }: MoreFiltersProps) {
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
        {filters.since && !periods[filters.since] && <option value={filters.since}>{spanText(filters)}</option>}
        {Object.entries(periods).map(([id, { label }]) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </Choice>
      <DelayedInput
        class="task-word"
        label="Caller"
        value={filters.principal ?? ''}
        onChange={(value) => set('principal', value, true)}
      />
      {(hasTenants || filters.tenant) && (
        <DelayedInput
          class="task-word"
          label="Tenant"
          value={filters.tenant ?? ''}
          onChange={(value) => set('tenant', value, true)}
        />
      )}
      <DelayedInput
        class="task-word"
        label="Skill"
        value={filters.skill ?? ''}
        onChange={(value) => set('skill', value, true)}
      />
    </>
  )
}

/** A span of time that no period names, such as the one behind a point of a chart. */
function spanText({ since, until }: Filters): string {
  const text = (at: string | undefined) => (at === undefined ? '' : formatTime(Number(at) || 0))
  return `${text(since)} – ${text(until)}`
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
