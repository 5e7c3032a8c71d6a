import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/** The open HTTP/2 connections. */
export interface Http2Connections {
  add(session: ServerHttp2Session, socket: Socket): void
  /** Accepts no new streams on the open connections, and ends each after its last stream. New ones may follow. */
  drain(): void
  /** The same, and no connection follows. */
  close(): void
  destroy(): void
}

/**
 * Closes connections that are idle for `keepAliveTimeout` milliseconds, and connections whose peer does not respond to a
 * ping: while a stream is silent, only a ping shows whether its reader is still there.
 */
export function createHttp2Connections(keepAliveTimeout: number): Http2Connections {
  const connections = new Set<Connection>()
  const sweep = setInterval(() => {
    for (const connection of connections) check(connection, keepAliveTimeout)
  }, keepAliveTimeout / 2).unref()

  function drain(): void {
    for (const { session } of connections) session.close()
  }

  return {
    drain,
    add(session, socket) {
      const streams = new Set<ServerHttp2Stream>()
      const connection: Connection = { session, socket, streams, idleSince: performance.now(), awaitsPong: false }
      connections.add(connection)
      session.on('stream', (stream) => track(connection, stream))
      socket.once('close', () => connections.delete(connection))
    },
    close() {
      clearInterval(sweep)
      drain()
    },
    destroy() {
      // Destroying a session that is already closing would only be a request.
      for (const { socket } of connections) socket.destroy()
    },
  }
}

export interface SlowRequests {
  watch(stream: ServerHttp2Stream): void
  /** Stops watching a request that was answered. */
  forget(stream: ServerHttp2Stream): void
  stop(): void
}

/** Cancels requests that are not complete within `timeout` milliseconds. One timer serves all of them. */
export function createSlowRequests(timeout: number): SlowRequests {
  const startTimes = new Map<ServerHttp2Stream, number>()
  const sweep = setInterval(() => {
    const latest = performance.now() - timeout
    for (const [stream, start] of startTimes) {
      // A map keeps its order, so all others started later.
      if (start > latest) return
      startTimes.delete(stream)
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_CANCEL)
    }
  }, sweepInterval(timeout)).unref()

  return {
    watch(stream) {
      if (!stream.endAfterHeaders) startTimes.set(stream, performance.now())
    },
    forget: (stream) => void startTimes.delete(stream),
    stop: () => clearInterval(sweep),
  }
}

interface Connection {
  readonly session: ServerHttp2Session
  readonly socket: Socket
  /** The open streams. */
  readonly streams: Set<ServerHttp2Stream>
  idleSince: number
  /** Whether a ping was sent and not yet acknowledged. */
  awaitsPong: boolean
}

function check(connection: Connection, keepAliveTimeout: number): void {
  const { session, socket, streams, idleSince, awaitsPong } = connection
  if (awaitsPong || session.closed || session.destroyed) {
    socket.destroy()
  } else if (streams.size > 0) {
    for (const stream of streams) if (stream.writableEnded) cutUnread(stream)
    connection.awaitsPong = session.ping(() => {
      connection.awaitsPong = false
    })
  } else if (performance.now() - idleSince >= keepAliveTimeout) {
    session.close()
  }
}

/** How many sweeps have found the complete response of a stream still unread. */
const unreadSweeps = new WeakMap<ServerHttp2Stream, number>()

/** A caller that acknowledges pings may still never read, and the server would hold its response for any time. */
function cutUnread(stream: ServerHttp2Stream): void {
  const sweeps = (unreadSweeps.get(stream) ?? 0) + 1
  unreadSweeps.set(stream, sweeps)
  // The first sweeps may find a stream that was read completely and is about to close.
  if (sweeps > 2) stream.destroy()
}

function track(connection: Connection, stream: ServerHttp2Stream): void {
  connection.streams.add(stream)
  stream.once('close', () => {
    connection.streams.delete(stream)
    connection.idleSince = performance.now()
  })
}

/** As often as Node checks HTTP/1.1 requests, or more often for short timeouts. */
function sweepInterval(timeout: number): number {
  return Math.min(1_000, timeout / 2)
}
