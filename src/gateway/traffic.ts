import { A2AError } from '../core/protocol/errors.ts'
import type { Operation } from '../core/protocol/service.ts'
import { createMetricRegistry } from '../core/telemetry/prometheus.ts'
import type { LoggedCall } from './rules.ts'

/** Minutes of which the calls are kept. */
const keptMinutes = 60

/** Callers and rules that are counted one by one; further ones count as `other`. */
const maxCounted = 500

/** Callers that are shown. */
const shownCallers = 20

const minute = 60_000

/** The calls of one agent in this process since it is served. */
export interface TrafficFigures {
  readonly calls: number
  /** Calls that ended with an error, without those that a rule refused. */
  readonly failed: number
  /** Calls that a rule refused. */
  readonly refused: number
  /** Calls in each of the last 60 minutes, oldest first. */
  readonly minutes: readonly { readonly at: number; readonly calls: number; readonly failed: number }[]
  /** The callers with the most calls. */
  readonly callers: readonly { readonly id: string; readonly calls: number; readonly failed: number }[]
  /** Messages by the version of their callers. */
  readonly versions: Readonly<Record<string, number>>
  readonly operations: Readonly<Record<string, number>>
  /** Errors by their code. */
  readonly errors: Readonly<Record<string, number>>
  /** Refused calls by the rule. */
  readonly refusedBy: Readonly<Record<string, number>>
  /** Calls of the gateway to the agent, and their mean duration in milliseconds. */
  readonly upstream: { readonly calls: number; readonly failed: number; readonly meanDuration: number }
}

/** Counts the calls of one agent, for operators and for metrics. */
export interface Traffic {
  onCall(call: LoggedCall): void
  /** A call of the gateway to the agent has ended. */
  onUpstreamCall(operation: Operation, duration: number, error?: unknown): void
  onLoss(member: string, towards: string, dialect: string): void
  figures(): TrafficFigures
  /** In the Prometheus text format. */
  metrics(): string
}

export function createTraffic(agent: string): Traffic {
  const registry = createMetricRegistry({ labels: { upstream: agent } })
  const callsTotal = registry.counter(
    'parley_gateway_calls_total',
    'Calls of callers to an agent behind the gateway.',
    [...['caller', 'operation', 'outcome']],
  )
  const callTime = registry.histogram('parley_gateway_call_duration_seconds', 'Duration of calls.', ['operation'])
  const refusedTotal = registry.counter('parley_gateway_refused_total', 'Calls that a rule refused.', [
    'rule',
    'caller',
  ])
  const sentTotal = registry.counter('parley_gateway_upstream_calls_total', 'Calls of the gateway to the agent.', [
    ...['operation', 'outcome'],
  ])
  const sentTime = registry.histogram('parley_gateway_upstream_duration_seconds', 'Duration of calls to the agent.', [
    'operation',
  ])
  const lost = registry.counter('parley_gateway_losses_total', 'Members that a translation lost.', [
    ...['member', 'towards', 'dialect'],
  ])
  const totals = { calls: 0, failed: 0, refused: 0, sent: 0, sentFailed: 0, sentTime: 0 }
  const callers = new Map<string, { calls: number; failed: number }>()
  const versions: Counts = new Map()
  const operations: Counts = new Map()
  const errors: Counts = new Map()
  const refusedBy: Counts = new Map()
  let minutes: { at: number; calls: number; failed: number }[] = []

  function countMinute(isFailed: boolean): void {
    const at = Math.floor(Date.now() / minute) * minute
    let last = minutes.at(-1)
    if (last?.at !== at) {
      last = { at, calls: 0, failed: 0 }
      minutes = [...minutes.slice(1 - keptMinutes), last]
    }
    last.calls++
    if (isFailed) last.failed++
  }

  return {
    onCall({ principal, operation, rule, code, duration, isRefused, dialect }) {
      const isFailed = code !== undefined
      totals.calls++
      if (isRefused) totals.refused++
      else if (isFailed) totals.failed++
      callsTotal.add(1, principal, operation, code ?? 'ok')
      callTime.observe(duration / 1_000, operation)
      if (isRefused) refusedTotal.add(1, rule, principal)
      countMinute(isFailed)
      const id = callers.has(principal) || callers.size < maxCounted ? principal : 'other'
      const caller = callers.get(id) ?? { calls: 0, failed: 0 }
      callers.set(id, caller)
      caller.calls++
      if (isFailed) caller.failed++
      increase(operations, operation)
      if (dialect !== undefined) increase(versions, dialect)
      if (isRefused) increase(refusedBy, rule)
      else if (isFailed) increase(errors, code)
    },
    onUpstreamCall(operation, duration, error) {
      const outcome = error === undefined ? 'ok' : error instanceof A2AError ? error.code : 'error'
      totals.sent++
      totals.sentTime += duration
      if (error !== undefined) totals.sentFailed++
      sentTotal.add(1, operation, outcome)
      sentTime.observe(duration / 1_000, operation)
    },
    onLoss: (member, towards, dialect) => lost.add(1, member, towards, dialect),
    figures: () => ({
      calls: totals.calls,
      failed: totals.failed,
      refused: totals.refused,
      minutes: minutes.filter(({ at }) => at > Date.now() - keptMinutes * minute),
      callers: [...callers]
        .map(([id, counts]) => ({ id, ...counts }))
        .toSorted((one, other) => other.calls - one.calls)
        .slice(0, shownCallers),
      versions: Object.fromEntries(versions),
      operations: Object.fromEntries(operations),
      errors: Object.fromEntries(errors),
      refusedBy: Object.fromEntries(refusedBy),
      upstream: {
        calls: totals.sent,
        failed: totals.sentFailed,
        meanDuration: totals.sent === 0 ? 0 : Math.round(totals.sentTime / totals.sent),
      },
    }),
    metrics: registry.text,
  }
}

type Counts = Map<string, number>

function increase(counts: Counts, name: string): void {
  const key = counts.has(name) || counts.size < maxCounted ? name : 'other'
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
