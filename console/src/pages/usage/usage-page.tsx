import type { UsageRow } from 'parley-a2a/operator'
import { useLocation } from 'preact-iso/router'
import { agentName } from '../../api/agents.ts'
import { operator } from '../../api/operator.ts'
import { useResource } from '../../api/use-resource.ts'
import { Page } from '../../components/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx'
import { linkWithQuery } from '../../router/links.ts'
import './usage.css'

const groups = {
  day: { label: 'Day', of: (row: UsageRow) => row.day },
  agent: { label: 'Agent', of: (row: UsageRow) => agentName(row.agent) },
  caller: {
    label: 'Caller',
    of: ({ principal, tenant }: UsageRow) => (tenant ? `${principal} (${tenant})` : principal),
  },
  model: { label: 'Model', of: (row: UsageRow) => row.model ?? 'not named' },
} as const

type Group = keyof typeof groups

const isGroup = (text: string | undefined): text is Group => text !== undefined && text in groups

/** The tokens and the cost that turns reported, by day, agent, caller or model. */
export function UsagePage() {
  const { query, route } = useLocation()
  const group: Group = isGroup(query.by) ? query.by : 'day'
  const days = query.days === '7' ? 7 : query.days === '90' ? 90 : 30
  const { value, error, reload } = useResource(() => operator.usage(days), [days])
  const show = (next: { readonly by?: string; readonly days?: string }) =>
    route(linkWithQuery(['usage'], { by: group, days: `${days}`, ...next }))
  return (
    <Page
      title="Usage"
      lead="What turns reported by turn.usage. Days are UTC."
      actions={
        <>
          <select
            class="input input-small"
            aria-label="Group by"
            value={group}
            onChange={({ currentTarget }) => show({ by: currentTarget.value })}
          >
            {Object.entries(groups).map(([id, { label }]) => (
              <option key={id} value={id}>{`By ${label.toLowerCase()}`}</option>
            ))}
          </select>
          <select
            class="input input-small"
            aria-label="Time"
            value={`${days}`}
            onChange={({ currentTarget }) => show({ days: currentTarget.value })}
          >
            {['7', '30', '90'].map((count) => (
              <option key={count} value={count}>{`${count} days`}</option>
            ))}
          </select>
        </>
      }
    >
      {!value && (error === undefined ? <LoadingState /> : <ErrorState error={error} onRetry={reload} />)}
      {value?.rows.length === 0 && (
        <EmptyState title="No usage">No turn has reported tokens or cost in this time.</EmptyState>
      )}
      {value && value.rows.length > 0 && <UsageTable rows={value.rows} group={group} />}
    </Page>
  )
}

function UsageTable({ rows, group }: { readonly rows: readonly UsageRow[]; readonly group: Group }) {
  const sums = sumsOf(rows, groups[group].of)
  const sorted = group === 'day' ? sums : sums.toSorted((one, other) => tokensOf(other) - tokensOf(one))
  const most = Math.max(1, ...sums.map(tokensOf))
  const hasCost = rows.some(({ cost }) => cost !== undefined)
  return (
    <div class="table-scroll card">
      <table class="table usage-table">
        <thead>
          <tr>
            <th scope="col">{groups[group].label}</th>
            <th scope="col">Tokens in</th>
            <th scope="col">Tokens out</th>
            {hasCost && <th scope="col">Cost</th>}
            <th scope="col">Reports</th>
            <th scope="col">
              <span class="visually-hidden">Share</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((sum) => (
            <tr key={sum.name}>
              <th scope="row">
                <bdi class="breakable">{sum.name}</bdi>
              </th>
              <td class="tabular">{sum.inputTokens.toLocaleString()}</td>
              <td class="tabular">{sum.outputTokens.toLocaleString()}</td>
              {hasCost && <td class="tabular">{costText(sum.cost)}</td>}
              <td class="tabular">{sum.reports.toLocaleString()}</td>
              <td class="usage-share">
                <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
                  <rect width={(tokensOf(sum) / most) * 100} height="8" />
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface Sum {
  readonly name: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
  readonly reports: number
}

function sumsOf(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): readonly Sum[] {
  const sums = new Map<string, Sum>()
  for (const row of rows) {
    const name = nameOf(row)
    const old = sums.get(name) ?? { name, inputTokens: 0, outputTokens: 0, cost: 0, reports: 0 }
    sums.set(name, {
      name,
      inputTokens: old.inputTokens + row.inputTokens,
      outputTokens: old.outputTokens + row.outputTokens,
      cost: old.cost + (row.cost ?? 0),
      reports: old.reports + row.reports,
    })
  }
  return [...sums.values()]
}

function tokensOf({ inputTokens, outputTokens }: Sum): number {
  return inputTokens + outputTokens
}

/** Costs are in millionths of a currency that the server knows. */
function costText(cost: number): string {
  return (cost / 1_000_000).toLocaleString(undefined, { maximumFractionDigits: 4 })
}
