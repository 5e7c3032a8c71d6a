import type { GrpcExchange, Metadata } from '../transports/grpc/rpc.ts'
import { statusCodes } from '../transports/grpc/status.ts'

/** Told how a call was answered, when it is: the method, and the name of the status. */
export type OnAnswered = (method: string, status: string) => void

const names = new Map<string, string>(Object.entries(statusCodes).map(([name, code]) => [`${code}`, name]))

/** The same exchange, of which every call is counted. A stream is one call, answered at its end. */
export function countingGrpc(exchange: GrpcExchange, onAnswered: OnAnswered): GrpcExchange {
  return async (incoming) => {
    const outgoing = await exchange(incoming)
    const answered = (trailers: Metadata | undefined) => {
      const status = names.get(trailers?.['grpc-status'] ?? '') ?? 'CANCELLED'
      // Methods that are not there are made up by callers.
      onAnswered(status === 'UNIMPLEMENTED' ? 'other' : incoming.path.slice(incoming.path.lastIndexOf('/') + 1), status)
    }
    if ('rest' in outgoing) return { ...outgoing, rest: counted(outgoing.rest, answered) }
    answered(outgoing.trailers)
    return outgoing
  }
}

/** Who leaves before the end has canceled the call. */
async function* counted(
  rest: AsyncGenerator<Uint8Array, Metadata>,
  answered: (trailers: Metadata | undefined) => void,
): AsyncGenerator<Uint8Array, Metadata> {
  let trailers: Metadata | undefined
  try {
    trailers = yield* rest
    return trailers
  } finally {
    answered(trailers)
  }
}
