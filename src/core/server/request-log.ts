import { isLogged, type Logger } from '../base/logger.ts'
import { requestIdsOf } from '../base/trace-context.ts'
import type { Exchange } from '../http/exchange.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'

/** Logs every answered request at `debug`. Costs nothing if the logger does not write that level. */
export function logRequests(exchange: Exchange, logger: Logger): Exchange {
  if (!isLogged(logger, 'debug')) return exchange
  return async (incoming) => {
    const start = performance.now()
    const outgoing = await exchange(incoming)
    const { method, path } = incoming
    // The query may hold credentials.
    const fields = { ...requestIdsOf(incoming), method, path, status: outgoing.status, duration: since(start) }
    logger.debug(fields, 'request answered')
    return outgoing
  }
}

/** The same for gRPC. A stream is answered when it begins; its status is in trailers that come later. */
export function logGrpcRequests(exchange: GrpcExchange, logger: Logger): GrpcExchange {
  if (!isLogged(logger, 'debug')) return exchange
  return async (incoming) => {
    const start = performance.now()
    const outgoing = await exchange(incoming)
    const status = 'rest' in outgoing ? undefined : outgoing.trailers['grpc-status']
    const fields = { ...requestIdsOf(incoming), method: 'gRPC', path: incoming.path, status, duration: since(start) }
    logger.debug(fields, 'request answered')
    return outgoing
  }
}

function since(start: number): number {
  return Math.round((performance.now() - start) * 10) / 10
}
