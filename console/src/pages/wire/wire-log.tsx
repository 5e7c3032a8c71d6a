import type { WireExchangeRow, WireLogQuery, WireRequest, WireSource } from 'parley-a2a/operator'
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agentName, agents } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { useResource, useStream } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'
import { EmptyState, ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { formatClock, formatDuration } from '../../components/time.tsx'
import { VirtualList } from '../../components/virtual-list.tsx'
import { link } from '../../router/links.ts'
import { StatusBadge, WireExchangeView } from './wire-exchange.tsx'

interface WireLogProps {
  readonly agent: string
  /** The number of the exchange that is shown. */
  readonly exchange: string | undefined
  readonly onEdit: (request: WireRequest) => void
}

const sources: readonly (readonly [WireSource | '', string])[] = [
  ['', 'All'],
  ['client', 'Chat and tasks'],
  ['wire', 'Wire page'],
  ['check', 'Checks'],
]

/** Everything that the console sent to an agent, as it happens. */
export function WireLog({ agent, exchange, onEdit }: WireLogProps) {
  const { route } = useLocation()
  const [search, setSearch] = useState('')
  const [source, setSource] = useState<WireSource | ''>('')
  const [isOfAll, setOfAll] = useState(false)
  const query: WireLogQuery = {
    ...(!isOfAll && { agent }),
    ...(source !== '' && { source }),
    ...(search !== '' && { search }),
  }
  const { rows, dropped, isLoading, error, reload } = useRows(query)
  const keyAt = useCallback((index: number) => rows[index]?.id ?? 0, [rows])
  const selected = Number(exchange ?? 0)
  return (
    <div class="wire-log">
      <div class="wire-log-filters">
        <div class="field">
          <label for="wire-search">Search</label>
          <input
            id="wire-search"
            class="input"
            type="search"
            placeholder="Operation, address, status or content"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="wire-source">Sent by</label>
          <select
            id="wire-source"
            class="input"
            value={source}
            onChange={(event) => setSource(event.currentTarget.value as WireSource | '')}
          >
            {sources.map(([id, label]) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        </div>
        {agents.value.length > 1 && (
          <label class="choice">
            <input type="checkbox" checked={isOfAll} onChange={(event) => setOfAll(event.currentTarget.checked)} />
            All agents
          </label>
        )}
        <ExportHar query={query} />
      </div>
      {dropped > 0 && <p class="muted small">{dropped.toLocaleString()} older requests made room for new ones.</p>}
      {rows.length > 0 ? (
        <div class={`wire-log-columns ${selected > 0 ? 'wire-log-two' : ''}`}>
          <VirtualList
            label="Requests"
            class="wire-log-rows"
            count={rows.length}
            estimate={44}
            keyOf={keyAt}
            render={(index) => {
              const row = rows[index] as WireExchangeRow
              return (
                <a
                  class="wire-row"
                  href={link('wire', agent, 'log', row.id)}
                  aria-current={row.id === selected ? 'true' : undefined}
                >
                  <span class="mono small muted">{formatClock(row.at)}</span>
                  <StatusBadge exchange={row} />
                  <bdi class="truncate" title={`${row.method} ${row.url}`}>
                    {row.operation ?? `${row.method} ${row.url}`}
                  </bdi>
                  {isOfAll && <bdi class="truncate small muted">{agentName(row.agent)}</bdi>}
                  <span class="small muted">{row.version}</span>
                  <span class="small muted wire-row-time">
                    {row.eventCount > 0 && `${row.eventCount} events, `}
                    {row.duration === undefined ? '…' : formatDuration(row.duration)}
                  </span>
                </a>
              )
            }}
          />
          {selected > 0 && (
            <Shown id={selected} rows={rows} onEdit={onEdit} onClose={() => route(link('wire', agent, 'log'))} />
          )}
        </div>
      ) : error !== undefined ? (
        <ErrorState error={error} onRetry={reload} />
      ) : isLoading ? (
        <LoadingState label="Loading the log" />
      ) : (
        <EmptyState title="No requests">
          {search || source
            ? 'No request matches these filters.'
            : 'What the chat, the lists of tasks and the wire page send to agents appears here.'}
        </EmptyState>
      )}
    </div>
  )
}

/** The rows that match, newest first, as they change. */
function useRows(query: WireLogQuery) {
  const { value, error, isLoading, reload } = useResource(() => operator.wireLog(query), [query])
  const [changed, setChanged] = useState<ReadonlyMap<number, WireExchangeRow>>(new Map())
  const isSearch = query.search !== undefined
  useEffect(() => setChanged(new Map()), [value])
  useStream(
    (signal, last) =>
      operator.wireLogChanges({ ...(query.agent !== undefined && { agent: query.agent }) }, signal, last),
    (row) => {
      // Only the server can search the contents.
      if (isSearch) reload()
      else if (query.source === undefined || row.source === query.source) {
        setChanged((old) => new Map([...old, [row.id, row]]))
      }
    },
    [query.agent, query.source, isSearch],
  )
  const rows = useMemo(() => {
    const listed = new Map((value?.exchanges ?? []).map((row) => [row.id, row]))
    for (const [id, row] of changed) listed.set(id, row)
    return [...listed.values()].sort((one, other) => other.id - one.id)
  }, [value, changed])
  return { rows, dropped: value?.dropped ?? 0, error, isLoading, reload }
}

interface ShownProps {
  readonly id: number
  readonly rows: readonly WireExchangeRow[]
  readonly onEdit: (request: WireRequest) => void
  readonly onClose: () => void
}

function Shown({ id, rows, onEdit, onClose }: ShownProps) {
  const row = rows.find((each) => each.id === id)
  // An exchange that goes on is read again when it has grown.
  const { value, error, reload } = useResource(
    () => operator.wireExchange(id),
    [id, row?.isOpen, row?.eventCount, row?.received],
  )
  const kept = useKept(value)
  const exchange = kept?.id === id ? kept : undefined
  return (
    <div class="wire-panel">
      <div class="wire-shown-head">
        <h2>Request {id}</h2>
        <button type="button" class="button button-plain button-icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      {exchange ? (
        <WireExchangeView exchange={exchange} onEdit={onEdit} />
      ) : error !== undefined ? (
        <ErrorState error={error} onRetry={reload} />
      ) : (
        <LoadingState label="Loading the request" />
      )}
    </div>
  )
}

/** The last value, while a newer one is read. */
function useKept<T>(value: T | undefined): T | undefined {
  const [kept, setKept] = useState(value)
  useEffect(() => {
    if (value !== undefined) setKept(value)
  }, [value])
  return value ?? kept
}

/** Downloads the exchanges that match as an HTTP Archive. */
function ExportHar({ query }: { readonly query: WireLogQuery }) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  async function save() {
    setBusy(true)
    setProblem(undefined)
    try {
      const har = await operator.wireHar(query)
      const url = URL.createObjectURL(new Blob([JSON.stringify(har, null, 2)], { type: 'application/json' }))
      const anchor = Object.assign(document.createElement('a'), { href: url, download: 'parley.har' })
      anchor.click()
      setTimeout(() => URL.revokeObjectURL(url), 10_000)
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return (
    <>
      <ActionButton onClick={save} isBusy={isBusy}>
        <Icon name="download" /> Export HAR
      </ActionButton>
      {problem && <Notice kind="error">{problem}</Notice>}
    </>
  )
}
