import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/model.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Authentication } from './authentication.ts'

/** The path that Prometheus scrapes by default. */
export const metricsPath = '/metrics'

/** The `metrics` option of a server: Prometheus metrics at `/metrics`. */
export interface MetricsOptions {
  /** Which principals may read the metrics. Defaults to every caller with credentials or, where none are needed, every caller. */
  readonly allow?: (principal: Principal) => boolean
}

export interface MetricsPage {
  readonly answer: (incoming: Incoming) => Promise<Outgoing>
  /** Counts the answers of an exchange. */
  readonly counting: (exchange: Exchange) => Exchange
  /** Counts an answered gRPC call. */
  readonly answeredGrpc: Metrics['answeredGrpc']
}

/** Reading the metrics needs credentials, but counts against no limit and works while the server is overloaded. */
export function createMetricsPage(
  metrics: Metrics,
  { auth, identify }: Pick<Authentication, 'auth' | 'identify'>,
  { allow }: MetricsOptions,
): MetricsPage {
  return {
    async answer(incoming) {
      const principal = await identify(incoming)
      auth?.requireCredentials(principal)
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
