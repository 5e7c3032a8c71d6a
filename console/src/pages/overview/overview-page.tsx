import type { AgentOverview, OverviewWindow } from 'parley-a2a/operator'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agentName, agents } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { Page } from '../../components/page.tsx'
import { stateLabel } from '../../components/state-badge.tsx'
import { ErrorState, LoadingState, messageOf, Notice } from '../../components/states.tsx'
import { formatBytes, formatDuration } from '../../components/time.tsx'
import { linkWithQuery } from '../../router/links.ts'
import { Chart, type Series } from './chart.tsx'
import './overview.css'

const refreshAfter = 15_000

/** Tasks by state, throughput, durations and errors over the last hour or day. */
export function OverviewPage() {
  const { query, route } = useLocation()
  const window: OverviewWindow = query.window === 'day' ? 'day' : 'hour'
  const chosen = query.agent ?? ''
  const { value, error, reload } = useResource(() => operator.overview(window), [window])
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), refreshAfter)
    return () => clearInterval(timer)
  }, [reload])
  const show = (next: { readonly window?: string; readonly agent?: string }) =>
    route(linkWithQuery(['overview'], { window, agent: chosen, ...next }))
  if (!value) {
    return (
      <Page title="Overview">
        {error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />}
      </Page>
    )
  }
  const figures = value.agents.find(({ agent }) => agent === chosen) ?? value.total
  return (
    <Page
      title="Overview"
      lead={figures === value.total ? 'All agents' : agentName(chosen)}
      actions={
        <>
          {agents.value.length > 1 && (
            <select
              class="input input-small"
              aria-label="Agent"
              value={chosen}
              onChange={({ currentTarget }) => show({ agent: currentTarget.value })}
            >
              <option value="">All agents</option>
              {agents.value.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
          {(['hour', 'day'] as const).map((id) => (
            <button
              key={id}
              type="button"
              class="button button-small"
              aria-pressed={id === window}
              onClick={() => show({ window: id })}
            >
              Last {id}
            </button>
          ))}
        </>
      }
    >
      {error !== undefined && <Notice kind="warning">{messageOf(error)}</Notice>}
      <Tiles figures={figures} agent={chosen} />
      <Now figures={figures} />
      <Charts figures={figures} agent={chosen} />
      {value.agents.length > 1 && <AgentTable rows={value.agents} />}
    </Page>
  )
}

function Charts({ figures: { points }, agent }: { readonly figures: AgentOverview; readonly agent: string }) {
  const { times, throughput, durations, errors } = useMemo(
    () => ({
      times: points.map(({ at }) => at),
      throughput: [
        { label: 'Started', colour: '--accent', values: points.map(({ started }) => started) },
        { label: 'Completed', colour: '--ok', values: points.map(({ completed }) => completed) },
        { label: 'Failed', colour: '--bad', values: points.map(({ failed }) => failed) },
      ] satisfies readonly Series[],
      durations: [
        { label: 'Median', colour: '--ok', values: points.map(({ p50 }) => p50) },
        { label: '95 %', colour: '--warning', values: points.map(({ p95 }) => p95) },
        { label: '99 %', colour: '--bad', values: points.map(({ p99 }) => p99) },
      ] satisfies readonly Series[],
      errors: [{ label: 'Error rate', colour: '--bad', values: points.map(errorRateOf) }] satisfies readonly Series[],
    }),
    [points],
  )
  const step = (times[1] ?? 0) - (times[0] ?? 0)
  /** The tasks whose status changed in the time of a point. */
  const tasksAt = (state?: string) => (index: number) => {
    const since = times[index] ?? 0
    return linkWithQuery(['tasks'], { state, agent, since, until: since + step })
  }
  return (
    <div class="charts">
      <Chart title="Tasks" times={times} series={throughput} format={asCount} distances={counts} hrefAt={tasksAt()} />
      <Chart
        title="Durations"
        times={times}
        series={durations}
        format={formatDuration}
        distances={durationSteps}
        hrefAt={tasksAt('completed')}
      />
      <Chart
        title="Error rate"
        times={times}
        series={errors}
        format={asPercent}
        distances={counts}
        hrefAt={tasksAt('failing')}
      />
    </div>
  )
}

/** Distances of ticks whose texts differ. */
const counts = [1, 2, 5]
  .flatMap((digit) => Array.from({ length: 9 }, (_, power) => digit * 10 ** power))
  .toSorted((a, b) => a - b)
const seconds = [1, 2, 5, 10, 15, 30].map((second) => second * 1_000)
const minutes = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1_440].map((minute) => minute * 60_000)
const durationSteps = [...counts.filter((step) => step < 1_000), ...seconds, ...minutes]

const asCount = (value: number) => Math.round(value).toLocaleString()
const asPercent = (value: number) => `${Math.round(value)} %`

function errorRateOf({ completed, failed, canceled }: AgentOverview['points'][number]): number | undefined {
  const ended = completed + failed + canceled
  return ended === 0 ? undefined : (failed / ended) * 100
}

const shownStates = [
  'working',
  'submitted',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'canceled',
] as const

/** What this process does at the moment, and how large the store is. */
function Now({ figures: { now, store, durations } }: { readonly figures: AgentOverview }) {
  const facts = [
    ...(durations
      ? ([
          ['Duration, median', formatDuration(durations.p50)],
          ['Duration, 95 %', formatDuration(durations.p95)],
          ['Duration, 99 %', formatDuration(durations.p99)],
        ] as const)
      : []),
    ['Turns that run here', now.runs.toLocaleString()],
    ['Messages that wait for their turn', now.queued.toLocaleString()],
    ['Leases', now.leases.toLocaleString()],
    [`Store, ${store.kind}`, store.bytes === undefined ? 'size unknown' : formatBytes(store.bytes)],
  ] as const
  return (
    <dl class="now card">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt class="muted small">{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Tiles({ figures: { tasks, stuck }, agent }: { readonly figures: AgentOverview; readonly agent: string }) {
  return (
    <ul class="plain tiles">
      {shownStates.map((state) => (
        <Tile key={state} label={stateLabel(state)} href={linkWithQuery(['tasks'], { state, agent })}>
          {(tasks[state] ?? 0).toLocaleString()}
        </Tile>
      ))}
      <Tile label="Stuck" href={linkWithQuery(['tasks'], { state: 'stuck', agent })} isAlert={stuck > 0}>
        {stuck.toLocaleString()}
      </Tile>
    </ul>
  )
}

interface TileProps {
  readonly label: string
  readonly href?: string
  readonly isAlert?: boolean
  readonly children: ComponentChildren
}

function Tile({ label, href, isAlert, children }: TileProps) {
  return (
    <li class={`tile card ${isAlert ? 'tile-alert' : ''}`}>
      <span class="tile-value">{href ? <a href={href}>{children}</a> : children}</span>
      <span class="muted small">{label}</span>
    </li>
  )
}

function AgentTable({ rows }: { readonly rows: readonly (AgentOverview & { readonly agent: string })[] }) {
  return (
    <div class="card chart-table">
      <table>
        <caption class="visually-hidden">Figures of each agent</caption>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Started</th>
            <th scope="col">Completed</th>
            <th scope="col">Failed</th>
            <th scope="col">Waiting</th>
            <th scope="col">Stuck</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ agent, points, tasks, stuck }) => (
            <tr key={agent}>
              <th scope="row">
                <a href={linkWithQuery(['overview'], { agent })}>
                  <bdi>{agentName(agent)}</bdi>
                </a>
              </th>
              <td>{sum(points.map(({ started }) => started))}</td>
              <td>{sum(points.map(({ completed }) => completed))}</td>
              <td>{sum(points.map(({ failed }) => failed))}</td>
              <td>{(tasks['input-required'] ?? 0) + (tasks['auth-required'] ?? 0)}</td>
              <td>{stuck}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0).toLocaleString()
