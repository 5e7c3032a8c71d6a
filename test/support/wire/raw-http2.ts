import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'

/** The response to a GET with repeated `Authorization` headers, written frame by frame: HTTP/2 clients do not send them. */
export async function getOverHttp2(port: number, authorizations: readonly string[]): Promise<string> {
  const target = [
    ':method',
    'GET',
    ':scheme',
    'http',
    ':path',
    '/tasks',
    ':authority',
    'localhost',
    'a2a-version',
    '1.0',
  ]
  const fields = [...target, ...authorizations.flatMap((value) => ['authorization', value])]
  // RFC 7541 §6.2.2: literal fields without indexing, each with a new name.
  const block = fields.map((field, n) => Buffer.concat([n % 2 ? Buffer.of() : Buffer.of(0), literal(field)]))
  const socket = connect(port, '127.0.0.1')
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0), frame(1, 5, 1, ...block)]),
  )
  let response = ''
  for await (const chunk of socket) {
    response += chunk.toString('latin1')
    if (response.includes('"error"') || response.includes('"tasks"')) break
  }
  socket.destroy()
  return response
}

/** The status of a GET with Node's client, or the code of its error. */
export function outcomeOverHttp2(url: string, headers: OutgoingHttpHeaders): Promise<string> {
  return new Promise((resolve) => {
    const session = connectHttp2(url, { maxSendHeaderBlockLength: 2 ** 24 })
    const finish = (outcome: string): void => {
      resolve(outcome)
      session.destroy()
    }
    const fail = (error: NodeJS.ErrnoException): void => finish(`${error.code}`)
    session.on('error', fail)
    const stream = session.request({ ':path': '/tasks', ...headers })
    stream.on('error', fail)
    stream.on('response', ({ ':status': status }) => finish(`${status}`))
    stream.on('close', () => finish(`ERR_HTTP2 closed with ${stream.rstCode}`))
  })
}

export function frame(type: number, flags: number, stream: number, ...payload: readonly Buffer[]): Buffer {
  const content = Buffer.concat(payload)
  const head = Buffer.alloc(9)
  head.writeUIntBE(content.length, 0, 3)
  head.set([type, flags], 3)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, content])
}

/** A text after its length: a prefix of seven bits, then seven bits per byte (RFC 7541 §5.1). */
export function literal(text: string): Buffer {
  const length = text.length < 127 ? [text.length] : [127, ...sevens(text.length - 127)]
  return Buffer.concat([Buffer.from(length), Buffer.from(text)])
}

function sevens(number: number): number[] {
  return number < 128 ? [number] : [(number & 127) | 128, ...sevens(number >> 7)]
}
