import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { Linked, LinkedList } from '../base/linked-list.ts'

/** The open HTTP/2 connections. */
export interface Http2Connections {
  add(session: ServerHttp2Session, socket: Socket): Http2Connection
  /** Accepts no new streams on the open connections, and ends each after its last stream. New ones may follow. */
  drain(): void
  /** The same, and no connection follows. */
  close(): void
  destroy(): void
}

export interface Http2ConnectionsOptions {
  /** How long an idle connection stays open, in milliseconds. */
  readonly keepAliveTimeout: number
  /** Timeout in milliseconds for receiving a complete request. */
  readonly requestTimeout: number
}

/**
 * Closes connections that are idle for `keepAliveTimeout` milliseconds, and connections whose peer does not respond to a
 * ping: while a stream is silent, only a ping shows whether its reader is still there. Cancels requests that are not
 * complete within `requestTimeout` milliseconds.
 */
export function createHttp2Connections({
  keepAliveTimeout,
  requestTimeout,
}: Http2ConnectionsOptions): Http2Connections {
  const connections = new Set<Http2Connection>()
  const idleSweep = setInterval(() => {
    for (const connection of connections) connection.check(keepAliveTimeout)
  }, keepAliveTimeout / 2).unref()
  const slowSweep = setInterval(() => {
    const latest = performance.now() - requestTimeout
    for (const connection of connections) connection.cancelSlow(latest)
  }, sweepInterval(requestTimeout)).unref()

  function drain(): void {
    for (const { session } of connections) session.close()
  }

  return {
    drain,
    add(session, socket) {
      const connection = new Http2Connection(session, socket)
      connections.add(connection)
      socket.once('close', () => connections.delete(connection))
      return connection
    },
    close() {
      clearInterval(idleSweep)
      clearInterval(slowSweep)
      drain()
    },
    destroy() {
      // Destroying a session that is already closing would only be a request.
      for (const { socket } of connections) socket.destroy()
    },
  }
}

/** A connection and its open streams. */
export class Http2Connection {
  readonly session: ServerHttp2Session
  readonly socket: Socket
  readonly #streams = new LinkedList<OpenStream>()
  #idleSince = performance.now()
  /** Whether a ping was sent and not yet acknowledged. */
  #awaitsPong = false

  constructor(session: ServerHttp2Session, socket: Socket) {
    this.session = session
    this.socket = socket
  }

  /** Follows a stream until it closes. */
  track(stream: ServerHttp2Stream): OpenStream {
    const open = new OpenStream(stream)
    this.#streams.add(open)
    stream.on('close', () => this.#forget(open))
    return open
  }

  #forget(open: OpenStream): void {
    this.#streams.remove(open)
    this.#idleSince = performance.now()
  }

  /** Closes the connection if it is idle or its peer does not respond. */
  check(keepAliveTimeout: number): void {
    if (this.#awaitsPong || this.session.closed || this.session.destroyed) {
      this.socket.destroy()
    } else if (!this.#streams.isEmpty) {
      for (const open of this.#streams) open.cutUnread()
      this.#awaitsPong = this.session.ping(() => {
        this.#awaitsPong = false
      })
    } else if (performance.now() - this.#idleSince >= keepAliveTimeout) {
      this.session.close()
    }
  }

  /** Cancels incomplete requests that started at `latest` or before. */
  cancelSlow(latest: number): void {
    for (const open of this.#streams) {
      if (open.start > latest) return
      open.cancelIncomplete()
    }
  }
}

/** A stream that is not closed yet. */
export class OpenStream extends Linked {
  readonly start = performance.now()
  readonly #stream: ServerHttp2Stream
  #awaitsBody: boolean
  /** How many sweeps have found the complete response still unread. */
  #unreadSweeps = 0

  constructor(stream: ServerHttp2Stream) {
    super()
    this.#stream = stream
    this.#awaitsBody = !stream.endAfterHeaders
  }

  /** The request was answered: its body may be incomplete. */
  answered(): void {
    this.#awaitsBody = false
  }

  cancelIncomplete(): void {
    if (this.#awaitsBody && !this.#stream.readableEnded) this.#stream.close(constants.NGHTTP2_CANCEL)
    this.#awaitsBody = false
  }

  /** A caller that acknowledges pings may still never read, and the server would hold its response for any time. */
  cutUnread(): void {
    if (!this.#stream.writableEnded) return
    this.#unreadSweeps++
    // The first sweeps may find a stream that was read completely and is about to close.
    if (this.#unreadSweeps > 2) this.#stream.destroy()
  }
}

/** As often as Node checks HTTP/1.1 requests, or more often for short timeouts. */
function sweepInterval(timeout: number): number {
  return Math.min(1_000, timeout / 2)
}
