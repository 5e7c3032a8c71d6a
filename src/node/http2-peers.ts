import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'

/** The connections of HTTP/2 that are open. */
export interface Http2Peers {
  add(session: ServerHttp2Session): void
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
    add(session) {
      const peer: Peer = { session, streams: 0, idleSince: performance.now(), isAsked: false }
      peers.add(peer)
      session.on('stream', (stream) => count(peer, stream))
      session.once('close', () => peers.delete(peer))
    },
    close() {
      clearInterval(sweep)
      for (const { session } of peers) session.close()
    },
    destroy() {
      for (const { session } of peers) session.destroy()
    },
  }
}

interface Peer {
  readonly session: ServerHttp2Session
  /** How many are open. */
  streams: number
  idleSince: number
  /** A question is on its way, and has not been answered yet. */
  isAsked: boolean
}

function count(peer: Peer, stream: ServerHttp2Stream): void {
  peer.streams++
  stream.once('close', () => {
    peer.streams--
    peer.idleSince = performance.now()
  })
}

function check(peer: Peer, keepAliveTimeout: number): void {
  const { session, streams, idleSince, isAsked } = peer
  if (streams === 0) {
    if (performance.now() - idleSince >= keepAliveTimeout) session.close()
  } else if (isAsked) {
    session.destroy()
  } else {
    peer.isAsked = session.ping(() => {
      peer.isAsked = false
    })
  }
}
