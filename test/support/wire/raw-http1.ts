import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface RawResponse {
  readonly status: number
  /** In lower case. */
  readonly head: string
  readonly body: string
}

export interface ExchangeOptions {
  /** Half-closes the connection after writing. */
  readonly end?: boolean
  /** Uses TLS and accepts any certificate. */
  readonly tls?: boolean
}

/** A connection to a loopback port. */
export function connectToPort(port: number, tls = false): Socket {
  return tls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    : connect(port, '127.0.0.1')
}

/**
 * Writes bytes to a loopback port and returns the response once it is complete or the server closes. The connection
 * stays open until then, even if the request is incomplete.
 */
export function exchangeBytes(
  port: number,
  pieces: Iterable<string | Uint8Array>,
  { end = false, tls = false }: ExchangeOptions = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const socket = connectToPort(port, tls)
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      text += chunk
      if (parseResponse(text).isComplete) socket.destroy()
    })
    // The server may close while a rejected request is still being written.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error)
    })
    socket.on('close', () => resolve(parseResponse(text)))
    for (const piece of pieces) socket.write(piece)
    if (end) socket.end()
  })
}

/** Like `exchangeBytes`, with every chunk in its own packet, until there is a response. */
export function exchangeBytesSlowly(
  port: number,
  pieces: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
  { tls = false }: Pick<ExchangeOptions, 'tls'> = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const socket = connectToPort(port, tls).setNoDelay()
    let text = ''
    let isOver = false
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      text += chunk
      if (parseResponse(text).isComplete) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      isOver = true
      resolve(parseResponse(text))
    })
    async function write(): Promise<void> {
      for await (const piece of pieces) {
        if (isOver) return
        await new Promise((written) => socket.write(piece, written))
        await new Promise(setImmediate)
      }
    }
    write().catch(reject)
  })
}

/** Parses the first response in a text, as far as it has arrived. */
export function parseResponse(text: string): RawResponse & { readonly isComplete: boolean } {
  const end = text.indexOf('\r\n\r\n')
  const head = (end < 0 ? text : text.slice(0, end)).toLowerCase()
  const rest = end < 0 ? '' : text.slice(end + 4)
  const length = Number(/^content-length: (\d+)\r?$/m.exec(head)?.[1] ?? Number.POSITIVE_INFINITY)
  const status = Number(/^http\/1\.1 (\d{3}) /.exec(head)?.[1])
  return { status, head, body: rest.slice(0, length), isComplete: end >= 0 && rest.length >= length }
}
