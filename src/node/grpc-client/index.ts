import type { Transport } from '../../client/options.ts'
import { createGuard, type GuardOptions } from '../../http/guard/guard.ts'
import { createGrpcClient } from '../../transports/grpc/client.ts'
import { dialledUrl } from '../../transports/grpc/dialled-url.ts'
import { loopbackHere, warnOfLoopback } from '../guard/loopback.ts'
import { pinnedLookup, systemResolve } from '../guard/pinned-lookup.ts'
import { createHttp2Fetch } from './http2-fetch.ts'
import { createSessions, type TlsOptions } from './sessions.ts'

export interface GrpcOptions extends Pick<GuardOptions, 'allow' | 'loopback'> {
  readonly tls?: TlsOptions
  /** Milliseconds until there must be a connection. 10 seconds by default. */
  readonly connectTimeout?: number
  /** Milliseconds after which a connection with open calls is asked whether it is still there. 20 seconds by default. */
  readonly keepAlive?: number
}

/** A2A over gRPC, to be handed to `connect`. Its connections are shared by all clients that it is handed to. */
export interface Grpc extends Transport {
  /** Ends the connections when their calls have ended. Idle ones end by themselves, and keep no process alive. */
  close(): void
}

/** Calls agents over gRPC: `connect(url, { bindings: [grpc()] })`. */
export function grpc(options: GrpcOptions = {}): Grpc {
  const { tls = {}, connectTimeout = 10_000, keepAlive = 20_000 } = options
  const guard = createGuard({ loopback: loopbackHere(), ...options, warn: (host) => warnOfLoopback(host) })
  const sessions = createSessions({ tls, connectTimeout, keepAlive, lookup: pinnedLookup(guard, systemResolve) })
  return {
    binding: 'GRPC',
    fetch: createHttp2Fetch(sessions, guard.checkUrl),
    open: createGrpcClient,
    addressOf: dialledUrl,
    close: () => sessions.close(),
  }
}
