import type { RegistryRow } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { Ago, formatDuration, formatTime } from '../../components/time.tsx'
import { linkWithQuery } from '../../router/links.ts'
import './registry.css'

const tones = { up: 'ok', down: 'bad', unknown: 'neutral' } as const
const labels = { up: 'Up', down: 'Down', unknown: 'Not probed yet' } as const

/** The agents of the registry that this server serves. */
export function RegistryPage() {
  const { query, route } = useLocation()
  const { search = '', cursor } = query
  const { value, error, reload } = useResource(
    () => operator.registryAgents({ search, ...(cursor && { cursor }) }),
    [search, cursor],
  )
  return (
    <Page title="Registry" lead="Agents that this registry lists.">
      <div class="registry-tools">
        <search>
          <form
            class="registry-form"
            onSubmit={(event) => {
              event.preventDefault()
              const text = new FormData(event.currentTarget).get('search')
              route(linkWithQuery(['registry'], { search: `${text ?? ''}` }))
            }}
          >
            <input
              class="input"
              type="search"
              name="search"
              aria-label="Search agents"
              placeholder="Search agents"
              value={search}
            />
            <button type="submit" class="button">
              Search
            </button>
          </form>
        </search>
        <AddAgent onAdded={reload} />
      </div>
      {!value && (error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />)}
      {value?.agents.length === 0 && (
        <EmptyState title={search ? 'No agent matches' : 'No agents yet'}>
          {search ? 'Try other words.' : 'Add an agent by its address, or let agents register themselves.'}
        </EmptyState>
      )}
      <ul class="plain registry-list">
        {value?.agents.map((agent) => (
          <RegistryItem key={agent.id} agent={agent} onChange={reload} />
        ))}
      </ul>
      {value?.next && (
        <a class="button" href={linkWithQuery(['registry'], { search, cursor: value.next })}>
          More agents
        </a>
      )}
    </Page>
  )
}

function AddAgent({ onAdded }: { readonly onAdded: () => void }) {
  const [url, setUrl] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  async function add() {
    setBusy(true)
    setProblem(undefined)
    try {
      await operator.addToRegistry(url)
      setUrl('')
      onAdded()
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return (
    <div>
      <form
        class="registry-form"
        onSubmit={(event) => {
          event.preventDefault()
          add()
        }}
      >
        <input
          class="input"
          type="url"
          required
          aria-label="Address of an agent"
          placeholder="https://agent.example.com"
          value={url}
          onInput={({ currentTarget }) => setUrl(currentTarget.value)}
        />
        <ActionButton type="submit" kind="primary" isBusy={isBusy}>
          Add
        </ActionButton>
      </form>
      {problem && <Notice kind="error">{problem}</Notice>}
    </div>
  )
}

function RegistryItem({ agent, onChange }: { readonly agent: RegistryRow; readonly onChange: () => void }) {
  const { id, kind, name, description, url, health, probes } = agent
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const last = probes.at(-1)
  async function probe() {
    setBusy(true)
    setProblem(undefined)
    try {
      await operator.probe(id)
      onChange()
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return (
    <li class="card registry-agent">
      <div class="registry-head">
        <h2 class="breakable">
          <bdi>{name}</bdi>
        </h2>
        <Badge tone={tones[health]}>{labels[health]}</Badge>
      </div>
      {description && (
        <p class="breakable">
          <bdi>{description}</bdi>
        </p>
      )}
      <p class="muted small">
        {kind === 'mesh' ? 'Mesh peer' : 'A2A agent'} at <code class="breakable">{url}</code>
      </p>
      <Probes probes={probes} />
      {last && (
        <p class="muted small">
          Last probe <Ago at={last.at} />
          {last.latency !== undefined && `, ${formatDuration(last.latency)}`}
          {last.problem && (
            <>
              : <bdi class="breakable">{last.problem}</bdi>
            </>
          )}
        </p>
      )}
      {problem && <Notice kind="error">{problem}</Notice>}
      <ActionButton isBusy={isBusy} onClick={probe}>
        Probe now
      </ActionButton>
    </li>
  )
}

/** The health over time: one mark per probe. */
function Probes({ probes }: { readonly probes: RegistryRow['probes'] }) {
  if (probes.length === 0) return null
  const up = probes.filter(({ isUp }) => isUp).length
  return (
    <ol class="plain probes" aria-label={`${up} of the last ${probes.length} probes succeeded`}>
      {probes.map(({ at, isUp, problem }) => (
        <li
          key={at}
          class={isUp ? 'probe-up' : 'probe-down'}
          title={`${formatTime(at)}: ${isUp ? 'reachable' : (problem ?? 'not reachable')}`}
        />
      ))}
    </ol>
  )
}
