import { delayAfter } from '../core/base/backoff.ts'
import { SlotMap } from '../core/base/slot-map.ts'
import type { Trace } from '../core/base/trace-context.ts'
import { type Carrier, unavailable } from './carrier.ts'
import type { MeshEnvelope, MessageType } from './envelope.ts'
import { defaultMaxBytes, type ReadEnvelope, type ReadResult } from './envelope-codec.ts'
import type { Receive } from './receive.ts'
import { decodeFrame, encodeFrame } from './versions.ts'

const answerTypes: ReadonlySet<MessageType> = new Set(['response', 'handshake_ack', 'agent_announcement', 'error'])

export interface SocketOptions {
  /** Messages of the peer that are handled concurrently; further messages wait. Defaults to 64. */
  readonly maxInFlight?: number
  /** Bytes that may be buffered in each direction. Defaults to 16 MiB. */
  readonly maxBuffered?: number
  /**
   * Milliseconds between pings, if the socket supports them. A peer without a pong before the next ping is
   * disconnected. Defaults to 30,000.
   */
  readonly pingInterval?: number
}

/** What the WebSockets of browsers, Node and the package `ws` have in common; optional members exist only in `ws`. */
export interface MeshSocket {
  /** 1 means open. */
  readonly readyState: number
  /** Bytes that are not sent yet. */
  readonly bufferedAmount: number
  send(data: string): void
  close(code?: number, reason?: string): void
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
  addEventListener(type: 'open' | 'close' | 'error', listener: () => void): void
  ping?(): void
  on?(event: 'pong', listener: () => void): unknown
  terminate?(): void
  pause?(): void
  resume?(): void
}

export interface SocketCarrierOptions extends SocketOptions {
  /** Opens a connection. */
  readonly open: () => MeshSocket
  readonly read: ReadEnvelope
  /** Handles requests of the peer. */
  readonly receive: Receive
  readonly maxBytes?: number
  /** Requests that may wait for an answer. Defaults to 1024. */
  readonly maxPending?: number
  /** Milliseconds before the first reconnect; doubles each time, up to 30 times this value. Defaults to 100. */
  readonly reconnectDelay?: number
}

/**
 * Carries envelopes over one connection, opened on demand. If the connection breaks, the carrier reconnects and sends
 * unanswered envelopes again, unchanged: a peer handles a message once and repeats its answer for the same bytes.
 */
export function createSocketCarrier(options: SocketCarrierOptions): Carrier {
  const { open, maxPending = 1024, reconnectDelay = 100, maxBuffered = 2 ** 24 } = options
  const pending = new SlotMap<string, PendingRequest>()
  let current: MeshSocket | undefined
  let attempts = 0
  let isClosed = false

  /** Sends all pending envelopes once the connection is open. */
  function connect(): void {
    if (current || isClosed) return
    const socket = open()
    current = socket
    attachSession(socket, { ...options, isServer: false, onAnswer: resolveAnswer })
    const start = () => {
      attempts = 0
      for (const { text } of pending.values()) socket.send(text)
    }
    socket.addEventListener('open', start)
    socket.addEventListener('close', () => {
      current = undefined
      reconnect()
    })
    if (socket.readyState === 1) start()
  }

  /** Only while requests are pending. */
  function reconnect(): void {
    if (pending.size === 0) return
    const delay = delayAfter(++attempts, { minDelay: reconnectDelay, maxDelay: 30 * reconnectDelay })
    setTimeout(() => {
      if (pending.size > 0) connect()
    }, delay)
  }

  function resolveAnswer(envelope: MeshEnvelope): boolean {
    const request = pending.get(envelope.correlation_id ?? '')
    request?.resolve(envelope)
    return request !== undefined
  }

  return {
    async exchange({ messageId, text: envelope, trace, supportsTraceFrames }, signal) {
      const text = supportsTraceFrames ? encodeFrame(envelope, trace) : envelope
      if (isClosed) throw unavailable('The connection was closed.')
      if (pending.size >= maxPending) throw unavailable(`${maxPending} requests are already waiting for an answer.`)
      const { promise, resolve, reject } = Promise.withResolvers<MeshEnvelope>()
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
      pending.set(messageId, { text, resolve, reject })
      try {
        if (current?.readyState === 1) await send(current, text)
        else connect()
        return await promise
      } finally {
        signal.removeEventListener('abort', abort)
        pending.delete(messageId)
      }
    },
    async send(text) {
      if (current?.readyState !== 1) throw unavailable('There is no connection.')
      await send(current, text)
    },
    close() {
      isClosed = true
      for (const { reject } of pending.values()) reject(unavailable('The connection was closed.'))
      current?.close(1000)
    },
  }

  async function send(socket: MeshSocket, text: string): Promise<void> {
    if (socket.bufferedAmount > maxBuffered) await waitUntilDrained(socket, maxBuffered)
    socket.send(text)
  }
}

export interface SocketSessionOptions extends SocketOptions {
  readonly read: ReadEnvelope
  readonly receive: Receive
  readonly maxBytes?: number
  /** Returns whether a request was pending for the answer. */
  readonly onAnswer?: (envelope: MeshEnvelope) => boolean
  /** Only the accepting side answers frames that are not envelopes: otherwise both sides would, forever. */
  readonly isServer: boolean
}

/** Exchanges envelopes in both directions: each message is a text frame, and answers arrive in any order. */
export function attachSession(socket: MeshSocket, options: SocketSessionOptions): void {
  const { read, receive, onAnswer, isServer, maxBytes = defaultMaxBytes } = options
  const { maxInFlight = 64, maxBuffered = 2 ** 24, pingInterval = 30_000 } = options
  const encoder = new TextEncoder()
  const queue: QueuedMessage[] = []
  let queuedBytes = 0
  let inFlight = 0

  async function answer({ result, bytes, trace }: QueuedMessage): Promise<void> {
    const { text } = await receive.process(result, bytes, trace)
    if (text === undefined || (!isServer && result.error && !result.origin)) return
    await waitUntilDrained(socket, maxBuffered)
    if (socket.readyState === 1) socket.send(text)
    if (result.error?.code === 'PAYLOAD_TOO_LARGE') socket.close(1009, 'message too big')
  }

  function startQueued(): void {
    while (inFlight < maxInFlight) {
      const next = queue.shift()
      if (!next) {
        socket.resume?.()
        return
      }
      queuedBytes -= next.bytes.length
      inFlight++
      // Failed messages are answered with errors; only a broken socket or a bug gets here.
      answer(next)
        .catch(() => socket.close(1011, 'internal error'))
        .finally(() => {
          inFlight--
          startQueued()
        })
    }
  }

  function receiveFrame(frame: string): void {
    const { text, trace } = decodeFrame(frame)
    const bytes = encoder.encode(text)
    const result = read(bytes)
    const { envelope } = result
    if (envelope && answerTypes.has(envelope.message_type) && onAnswer?.(envelope)) return
    queue.push({ result, bytes, trace })
    queuedBytes += bytes.length
    if (inFlight >= maxInFlight) socket.pause?.()
    // A socket that cannot pause keeps sending, up to a limit.
    if (queuedBytes > Math.max(maxBuffered, maxBytes) || queue.length > 16 * maxInFlight) closeOverrun()
    else startQueued()
  }

  function closeOverrun(): void {
    queue.length = 0
    queuedBytes = 0
    socket.close(1013, 'too many messages')
  }

  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') receiveFrame(data)
    else socket.close(1003, 'envelopes are text')
  })
  socket.addEventListener('close', () => {
    queue.length = 0
  })
  // Without a listener, the package `ws` would throw. A `close` event follows.
  socket.addEventListener('error', () => {})
  keepAlive(socket, pingInterval)
}

interface QueuedMessage {
  readonly result: ReadResult
  readonly bytes: Uint8Array
  readonly trace: Trace | undefined
}

/** Waits until the send buffer is below the limit. */
async function waitUntilDrained(socket: MeshSocket, maxBuffered: number): Promise<void> {
  while (socket.readyState === 1 && socket.bufferedAmount > maxBuffered) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Sends pings if the socket supports them, and disconnects a peer that does not answer. */
function keepAlive(socket: MeshSocket, interval: number): void {
  if (!socket.ping || !socket.on) return
  let hasPong = true
  socket.on('pong', () => {
    hasPong = true
  })
  const timer = setInterval(() => {
    if (!hasPong) return socket.terminate?.()
    hasPong = false
    if (socket.readyState === 1) socket.ping?.()
  }, interval)
  socket.addEventListener('close', () => clearInterval(timer))
}

interface PendingRequest {
  readonly text: string
  readonly resolve: (envelope: MeshEnvelope) => void
  readonly reject: (error: unknown) => void
}
