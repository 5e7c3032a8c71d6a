import { readTrace, traceIdOf } from './trace.ts'

/** By which a line of the log is found again, where the request has them. */
export interface RequestIds {
  /** As the caller, or the proxy before us, calls it: `X-Request-Id`. */
  readonly requestId?: string
  readonly traceId?: string
}

/** What callers say goes into the log: no more than an id. */
export function requestIdsOf(incoming: { header(name: string): string | undefined }): RequestIds {
  const requestId = incoming.header('x-request-id')
  const trace = readTrace(incoming.header('traceparent'))
  return {
    ...(requestId !== undefined && /^[\w.:/+=-]{1,128}$/.test(requestId) && { requestId }),
    ...(trace && { traceId: traceIdOf(trace) }),
  }
}
