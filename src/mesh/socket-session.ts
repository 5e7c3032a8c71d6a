import type { Trace } from '../protocol/trace.ts'
import type { MeshEnvelope, MessageType } from './envelope.ts'
import { defaultMaxBytes, type ReadEnvelope, type Reading } from './read-envelope.ts'
import type { Receive } from './receive.ts'
import { drained, keepAlive, type MeshSocket, type SocketOptions } from './socket.ts'
import { readFrame } from './traced-frame.ts'

export interface SocketSessionOptions extends SocketOptions {
  readonly read: ReadEnvelope
  readonly receive: Receive
  readonly maxBytes?: number
  /** Takes an answer that somebody waits for. */
  readonly onAnswer?: (envelope: MeshEnvelope) => boolean
  /** Only the side that accepted the connection answers what is no envelope: otherwise both would, for ever. */
  readonly isServer: boolean
}

const answers: ReadonlySet<MessageType> = new Set(['response', 'handshake_ack', 'agent_announcement', 'error'])

interface Received {
  readonly reading: Reading
  readonly bytes: Uint8Array
  readonly trace: Trace | undefined
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
