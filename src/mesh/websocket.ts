import { delayAfter } from '../base/backoff.ts'
import type { Trace } from '../base/trace-context.ts'
import { type Carrier, lost } from './carrier.ts'
import type { MeshEnvelope, MessageType } from './envelope.ts'
import { defaultMaxBytes, type ReadEnvelope, type Reading } from './envelope-codec.ts'
import type { Receive } from './receive.ts'
import { readFrame, writeFrame } from './versions.ts'

const answers: ReadonlySet<MessageType> = new Set(['response', 'handshake_ack', 'agent_announcement', 'error'])

export interface SocketOptions {
  /** Messages of the other side that are worked on at the same time; it waits with the others. */
  readonly maxInFlight?: number
  /** Bytes that may wait, in either direction. A side that does not read slows down only itself. */
  readonly maxBuffered?: number
  /** Milliseconds between pings, where the socket can ping. Without an answer until the next one it is cut off. */
  readonly pingInterval?: number
}

/** What the WebSocket of browsers, of Node and of the package `ws` have in common, and what only the last one has. */
export interface MeshSocket {
  /** 1 is open. */
  readonly readyState: number
  /** Bytes that wait to be sent. */
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
  /** Opens a connection: the global `WebSocket` unless it is given. */
  readonly open: () => MeshSocket
  readonly read: ReadEnvelope
  /** The other side may ask, too. */
  readonly receive: Receive
  readonly maxBytes?: number
  /** Questions that may wait for their answers. */
  readonly maxPending?: number
  /** Milliseconds before the first attempt to connect again; then twice as long each time, up to 30 times. */
  readonly reconnectDelay?: number
}

/**
 * One connection that is opened when it is needed. If it breaks, it is opened again, and what has no answer yet is sent
 * again as it was: a peer works on a message once and gives the same answer to the same bytes.
 */
export function createSocketCarrier(options: SocketCarrierOptions): Carrier {
  const { open, maxPending = 1024, reconnectDelay = 100, maxBuffered = 2 ** 24 } = options
  const pending = new Map<string, Pending>()
  let current: MeshSocket | undefined
  let attempts = 0
  let isClosed = false

  /** Once it is open, everything that waits is sent. */
  function connect(): void {
    if (current || isClosed) return
    const socket = open()
    current = socket
    attachSession(socket, { ...options, isServer: false, onAnswer: take })
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

  /** For those who wait; nobody else needs a connection. */
  function reconnect(): void {
    if (pending.size === 0) return
    const delay = delayAfter(++attempts, { minDelay: reconnectDelay, maxDelay: 30 * reconnectDelay })
    setTimeout(() => {
      if (pending.size > 0) connect()
    }, delay)
  }

  function take(envelope: MeshEnvelope): boolean {
    const question = pending.get(envelope.correlation_id ?? '')
    question?.resolve(envelope)
    return question !== undefined
  }

  return {
    async ask({ messageId, text: envelope, trace, knowsFrames }, signal) {
      const text = knowsFrames ? writeFrame(envelope, trace) : envelope
      if (isClosed) throw lost('The connection was closed.')
      if (pending.size >= maxPending) throw lost(`${maxPending} questions wait for their answers already.`)
      const { promise, resolve, reject } = Promise.withResolvers<MeshEnvelope>()
      const leave = () => reject(signal.reason)
      signal.addEventListener('abort', leave)
      if (signal.aborted) leave()
      pending.set(messageId, { text, resolve, reject })
      try {
        if (current?.readyState === 1) await send(current, text)
        else connect()
        return await promise
      } finally {
        signal.removeEventListener('abort', leave)
        pending.delete(messageId)
      }
    },
    async tell(text) {
      if (current?.readyState !== 1) throw lost('There is no connection.')
      await send(current, text)
    },
    close() {
      isClosed = true
      for (const { reject } of pending.values()) reject(lost('The connection was closed.'))
      current?.close(1000)
    },
  }

  async function send(socket: MeshSocket, text: string): Promise<void> {
    if (socket.bufferedAmount > maxBuffered) await drained(socket, maxBuffered)
    socket.send(text)
  }
}

export interface SocketSessionOptions extends SocketOptions {
  readonly read: ReadEnvelope
  readonly receive: Receive
  readonly maxBytes?: number
  /** Takes an answer that somebody waits for. */
  readonly onAnswer?: (envelope: MeshEnvelope) => boolean
  /** Only the side that accepted the connection answers what is no envelope: otherwise both would, for ever. */
  readonly isServer: boolean
}

/** Many envelopes over one connection, in both directions: a message is a text frame, and answers come in any order. */
export function attachSession(socket: MeshSocket, options: SocketSessionOptions): void {
  const { read, receive, onAnswer, isServer, maxBytes = defaultMaxBytes } = options
  const { maxInFlight = 64, maxBuffered = 2 ** 24, pingInterval = 30_000 } = options
  const encoder = new TextEncoder()
  const queue: Received[] = []
  let queued = 0
  let inFlight = 0

  async function work({ reading, bytes, trace }: Received): Promise<void> {
    const { text } = await receive.reading(reading, bytes, trace)
    if (text === undefined || (!isServer && reading.error && !reading.origin)) return
    await drained(socket, maxBuffered)
    if (socket.readyState === 1) socket.send(text)
    if (reading.error?.code === 'PAYLOAD_TOO_LARGE') socket.close(1009, 'message too big')
  }

  function pump(): void {
    while (inFlight < maxInFlight) {
      const next = queue.shift()
      if (!next) {
        socket.resume?.()
        return
      }
      queued -= next.bytes.length
      inFlight++
      // What can fail answers with an error itself; a socket that breaks closes.
      work(next)
        .catch(() => socket.close(1011, 'internal error'))
        .finally(() => {
          inFlight--
          pump()
        })
    }
  }

  function take(frame: string): void {
    const { text, trace } = readFrame(frame)
    const bytes = encoder.encode(text)
    const reading = read(bytes)
    const { envelope } = reading
    if (envelope && answers.has(envelope.message_type) && onAnswer?.(envelope)) return
    queue.push({ reading, bytes, trace })
    queued += bytes.length
    if (inFlight >= maxInFlight) socket.pause?.()
    // A socket that cannot pause goes on; at some point that is too much.
    if (queued > Math.max(maxBuffered, maxBytes) || queue.length > 16 * maxInFlight) overrun()
    else pump()
  }

  function overrun(): void {
    queue.length = 0
    queued = 0
    socket.close(1013, 'too many messages')
  }

  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') take(data)
    else socket.close(1003, 'envelopes are text')
  })
  socket.addEventListener('close', () => {
    queue.length = 0
  })
  // Without a listener the package `ws` would throw; what follows is `close`.
  socket.addEventListener('error', () => {})
  keepAlive(socket, pingInterval)
}

interface Received {
  readonly reading: Reading
  readonly bytes: Uint8Array
  readonly trace: Trace | undefined
}

/** Waits until enough of what was sent has left. */
async function drained(socket: MeshSocket, maxBuffered: number): Promise<void> {
  while (socket.readyState === 1 && socket.bufferedAmount > maxBuffered) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Pings, if that is possible. */
function keepAlive(socket: MeshSocket, interval: number): void {
  if (!socket.ping || !socket.on) return
  let isAnswered = true
  socket.on('pong', () => {
    isAnswered = true
  })
  const timer = setInterval(() => {
    if (!isAnswered) return socket.terminate?.()
    isAnswered = false
    if (socket.readyState === 1) socket.ping?.()
  }, interval)
  socket.addEventListener('close', () => clearInterval(timer))
}

interface Pending {
  readonly text: string
  readonly resolve: (envelope: MeshEnvelope) => void
  readonly reject: (error: unknown) => void
}
