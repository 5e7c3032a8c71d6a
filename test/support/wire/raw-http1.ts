import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface RawResponse {
  readonly status: number
  /** In lower case. */
  readonly head: string
  readonly body: string
}

export interface ExchangeOptions {
  /** Say that nothing more will come. */
  readonly end?: boolean
  /** In TLS, whoever the other side is. */
  readonly tls?: boolean
}

/** A connection to a port of this machine. */
export function connectToPort(port: number, tls = false): Socket {
  return tls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    : connect(port, '127.0.0.1')
}

/**
 * Writes bytes to a port of this machine and gives the answer, as soon as it is whole or the other side closes.
 * What was announced and never sent stays open until then.
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
      if (parseAnswer(text).isWhole) socket.destroy()
    })
    // Who is refused may still be writing when the other side closes.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error)
    })
    socket.on('close', () => resolve(parseAnswer(text)))
    for (const piece of pieces) socket.write(piece)
    if (end) socket.end()
  })
}

/** The same for pieces that come one after the other, in packets of their own, until there is an answer. */
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
      if (parseAnswer(text).isWhole) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      isOver = true
      resolve(parseAnswer(text))
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

/** The first answer in a text, as far as it has come. */
function parseAnswer(text: string): RawResponse & { readonly isWhole: boolean } {
  const end = text.indexOf('\r\n\r\n')
  const head = (end < 0 ? text : text.slice(0, end)).toLowerCase()
  const rest = end < 0 ? '' : text.slice(end + 4)
  const length = Number(/^content-length: (\d+)\r?$/m.exec(head)?.[1] ?? Number.POSITIVE_INFINITY)
  const status = Number(/^http\/1\.1 (\d{3}) /.exec(head)?.[1])
  return { status, head, body: rest.slice(0, length), isWhole: end >= 0 && rest.length >= length }
}
