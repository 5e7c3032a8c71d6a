import { type Carrier, lost } from './carrier.ts'
import type { MeshEnvelope } from './envelope.ts'
import type { ReadEnvelope } from './read-envelope.ts'
import type { Receive } from './receive.ts'
import { drained, type MeshSocket, type SocketOptions } from './socket.ts'
import { attachSession } from './socket-session.ts'
import { writeFrame } from './traced-frame.ts'

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

interface Pending {
  readonly text: string
  readonly resolve: (envelope: MeshEnvelope) => void
  readonly reject: (error: unknown) => void
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
    const delay = reconnectDelay * Math.min(30, 2 ** attempts++) * (0.5 + Math.random() / 2)
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
