import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/model.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Authentication } from './authentication.ts'

/** Where Prometheus looks by itself. */
export const metricsPath = '/metrics'

export interface MetricsOptions {
  /** Who may read the figures. Where callers need credentials, whoever has some by default; otherwise everybody. */
  readonly allow?: (principal: Principal) => boolean
}

export interface MetricsPage {
  readonly answer: (incoming: Incoming) => Promise<Outgoing>
  /** The same exchange, of which every answer is counted. */
  readonly counting: (exchange: Exchange) => Exchange
  /** One more call of gRPC was answered. */
  readonly answeredGrpc: Metrics['answeredGrpc']
}

/** The figures as a page. Asked who is calling, but not counted against limits, and not refused for too much load. */
export function createMetricsPage(
  metrics: Metrics,
  { auth, principalOf }: Pick<Authentication, 'auth' | 'principalOf'>,
  { allow }: MetricsOptions,
): MetricsPage {
  return {
    async answer(incoming) {
      const principal = await principalOf(incoming)
      auth?.requireSomebody(principal)
      if (allow && !allow(principal)) throw new A2AError('forbidden', 'You may not read the metrics of this agent.')
      const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' }
      return { status: 200, headers, body: metrics.text() }
    },
    answeredGrpc: metrics.answeredGrpc,
    counting: (exchange) => async (incoming) => {
      const outgoing = await exchange(incoming)
      metrics.answered(incoming.method, outgoing.status)
      return outgoing
    },
  }
}
