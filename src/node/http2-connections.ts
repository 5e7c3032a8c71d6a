import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/** How often a whole answer was met that its caller has not read to its end. */
const unread = new WeakMap<ServerHttp2Stream, number>()

/** The connections of HTTP/2 that are open. */
export interface Http2Peers {
  add(session: ServerHttp2Session, socket: Socket): void
  /** Takes no new streams, and ends each connection when its last stream has ended. */
  close(): void
  destroy(): void
}

/**
 * Ends connections that are idle for `keepAliveTimeout` milliseconds, and those whose peer does not answer: while a
 * stream has nothing to say, only asking tells whether its reader is still there.
 */
export function createHttp2Peers(keepAliveTimeout: number): Http2Peers {
  const peers = new Set<Peer>()
  const sweep = setInterval(() => {
    for (const peer of peers) check(peer, keepAliveTimeout)
  }, keepAliveTimeout / 2).unref()

  return {
    add(session, socket) {
      const peer: Peer = { session, socket, streams: new Set(), idleSince: performance.now(), isAsked: false }
      peers.add(peer)
      session.on('stream', (stream) => count(peer, stream))
      socket.once('close', () => peers.delete(peer))
    },
    close() {
      clearInterval(sweep)
      for (const { session } of peers) session.close()
    },
    destroy() {
      // Of the session this would be no more than a request, if it is closing already.
      for (const { socket } of peers) socket.destroy()
    },
  }
}

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

interface Peer {
  readonly session: ServerHttp2Session
  readonly socket: Socket
  /** Those that are open. */
  readonly streams: Set<ServerHttp2Stream>
  idleSince: number
  /** A question is on its way, and has not been answered yet. */
  isAsked: boolean
}

function check(peer: Peer, keepAliveTimeout: number): void {
  const { session, socket, streams, idleSince, isAsked } = peer
  if (isAsked || session.closed || session.destroyed) {
    socket.destroy()
  } else if (streams.size > 0) {
    for (const stream of streams) if (stream.writableEnded) cutUnread(stream)
    peer.isAsked = session.ping(() => {
      peer.isAsked = false
    })
  } else if (performance.now() - idleSince >= keepAliveTimeout) {
    session.close()
  }
}

/** A caller that answers our questions may still never read; the answer would be held for as long as it likes. */
function cutUnread(stream: ServerHttp2Stream): void {
  const times = (unread.get(stream) ?? 0) + 1
  unread.set(stream, times)
  // It may be closing already, when all is read.
  if (times > 2) stream.destroy()
}

function count(peer: Peer, stream: ServerHttp2Stream): void {
  peer.streams.add(stream)
  stream.once('close', () => {
    peer.streams.delete(stream)
    peer.idleSince = performance.now()
  })
}

/** As often as Node looks after requests of HTTP/1.1, or more often if there is little time. */
function interval(timeout: number): number {
  return Math.min(1_000, timeout / 2)
}
