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

export interface SocketOptions {
  /** Messages of the other side that are worked on at the same time; it waits with the others. */
  readonly maxInFlight?: number
  /** Bytes that may wait, in either direction. A side that does not read slows down only itself. */
  readonly maxBuffered?: number
  /** Milliseconds between pings, where the socket can ping. Without an answer until the next one it is cut off. */
  readonly pingInterval?: number
}

/** Waits until enough of what was sent has left. */
export async function drained(socket: MeshSocket, maxBuffered: number): Promise<void> {
  while (socket.readyState === 1 && socket.bufferedAmount > maxBuffered) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Pings, if that is possible. */
export function keepAlive(socket: MeshSocket, interval: number): void {
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
