import { constants, type ServerHttp2Stream } from 'node:http2'

export interface SlowRequests {
  watch(stream: ServerHttp2Stream): void
  /** It has been answered. */
  forget(stream: ServerHttp2Stream): void
  stop(): void
}

/** Cuts off requests that do not come in whole within `timeout` milliseconds. One timer is enough for all of them. */
export function createSlowRequests(timeout: number): SlowRequests {
  const begun = new Map<ServerHttp2Stream, number>()
  const sweep = setInterval(() => {
    const latest = performance.now() - timeout
    for (const [stream, begin] of begun) {
      // A map keeps its order, so that all others are younger.
      if (begin > latest) return
      begun.delete(stream)
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_CANCEL)
    }
  }, interval(timeout)).unref()

  return {
    watch(stream) {
      if (!stream.endAfterHeaders) begun.set(stream, performance.now())
    },
    forget: (stream) => void begun.delete(stream),
    stop: () => clearInterval(sweep),
  }
}

/** As often as Node looks after requests of HTTP/1.1, or more often if there is little time. */
function interval(timeout: number): number {
  return Math.min(1_000, timeout / 2)
}
