import { connect, type Socket } from 'node:net'
import { postBytes } from './calls.ts'

export interface LoadOptions {
  readonly port: number
  /** Body of every request; `m-00000000` in it is incremented, so that message ids are unique. */
  readonly body: string
  /** Value of the `A2A-Version` header. Defaults to 1.0. */
  readonly version?: string
  /** Additional headers as `name: value`; each connection uses one of them, in turn. */
  readonly headers?: readonly string[]
  readonly connections: number
  readonly milliseconds: number
}

export interface Load {
  readonly requests: number
  readonly seconds: number
}

/**
 * Sends one request after the other on each connection for the given time. It does less than a real client, so that on a
 * machine with two cores the server is the bottleneck.
 */
export async function load(options: LoadOptions): Promise<Load> {
  const { port, body, version = '1.0', headers = [], connections, milliseconds } = options
  const extraHeaders = (n: number) => headers.slice(n % headers.length, (n % headers.length) + 1)
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const begin = performance.now()
  const end = begin + milliseconds
  const counts = await Promise.all(
    sockets.map((socket, n) => repeat(socket, postBytes(body, `a2a-version: ${version}`, ...extraHeaders(n)), end)),
  )
  const seconds = (performance.now() - begin) / 1_000
  for (const socket of sockets) socket.destroy()
  return { requests: counts.reduce((sum, count) => sum + count, 0), seconds }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

let lastId = 0

function repeat(socket: Socket, bytes: Buffer, end: number): Promise<number> {
  const idAt = bytes.indexOf('m-00000000') + 2
  let count = 0
  return new Promise((resolve, reject) => {
    const send = () => {
      bytes.write(String(++lastId).padStart(8, '0'), idAt, 'latin1')
      socket.write(bytes)
    }
    const onData = createResponseReader(() => {
      count++
      if (performance.now() < end) send()
      else resolve(count)
    })
    socket.on('data', (chunk) => {
      try {
        onData(chunk)
      } catch (error) {
        reject(error)
      }
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed a connection')))
    send()
  })
}

/** Calls back for every complete response. Responses must be successful and have a length; there is one at a time. */
function createResponseReader(onResponse: () => void): (chunk: Buffer) => void {
  let rest: Buffer | undefined
  let missing = 0
  return (chunk) => {
    if (missing === 0) {
      const bytes = rest ? Buffer.concat([rest, chunk]) : chunk
      const headEnd = bytes.indexOf('\r\n\r\n')
      if (headEnd < 0) {
        rest = bytes
        return
      }
      rest = undefined
      missing = headEnd + 4 + lengthOf(bytes.toString('latin1', 0, headEnd)) - bytes.length
    } else {
      missing -= chunk.length
    }
    if (missing < 0) throw new Error('the server sent more than one response')
    if (missing === 0) onResponse()
  }
}

function lengthOf(head: string): number {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (!head.startsWith('HTTP/1.1 200') || length === undefined) throw new Error(`unexpected response: ${head}`)
  return Number(length)
}
