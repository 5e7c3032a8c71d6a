import { connect, type Socket } from 'node:net'
import type { Load } from './load.ts'

export interface GrpcLoadOptions {
  readonly port: number
  readonly path: string
  /** Sent by every call; `m-00000000` in it is incremented, so that message ids are unique. */
  readonly message: Uint8Array
  readonly connections: number
  /** Concurrent calls per connection. */
  readonly streams: number
  readonly milliseconds: number
}

/**
 * Makes unary calls for the given time. It implements only the necessary part of HTTP/2: a real client takes more CPU time
 * than the servers, so the benchmark would measure the client.
 */
export async function grpcLoad(options: GrpcLoadOptions): Promise<Load> {
  const { port, connections, milliseconds } = options
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const begin = performance.now()
  const end = begin + milliseconds
  const counts = await Promise.all(sockets.map((socket) => repeat(socket, options, end)))
  const seconds = (performance.now() - begin) / 1_000
  for (const socket of sockets) socket.destroy()
  return { requests: counts.reduce((sum, count) => sum + count, 0), seconds }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
    // The preface, flow-control windows that no measurement fills, and the acknowledgement of the server's settings.
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])))
    socket.write(frame(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0xff, 0, 0])))
    socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)))
  })
}

let lastId = 0

function repeat(socket: Socket, { path, message, streams }: GrpcLoadOptions, end: number): Promise<number> {
  const call = callBytes(path, message)
  const idAt = call.indexOf('m-00000000') + 2
  const dataAt = 9 + call.readUIntBE(0, 3)
  let nextStream = 1
  let running = streams
  let count = 0
  return new Promise((resolve, reject) => {
    const send = () => {
      call.write(String(++lastId).padStart(8, '0'), idAt, 'latin1')
      call.writeUInt32BE(nextStream, 5)
      call.writeUInt32BE(nextStream, dataAt + 5)
      nextStream += 2
      socket.write(Buffer.from(call))
    }
    const onBytes = createFrameReader((type, flags) => {
      if (type === RST_STREAM || type === GOAWAY) throw new Error('the server refused a call')
      if ((flags & END_STREAM) === 0 || type > HEADERS) return
      count++
      if (performance.now() < end) send()
      else if (--running === 0) resolve(count)
    })
    socket.on('data', (chunk) => {
      try {
        onBytes(chunk)
      } catch (error) {
        reject(error)
      }
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed a connection')))
    for (let n = 0; n < streams; n++) send()
  })
}

const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const GOAWAY = 7
const WINDOW_UPDATE = 8
const ACK = 1
const END_STREAM = 1
const END_HEADERS = 4

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** The frames of a call: its headers as HPACK literals (RFC 7541 §6.2.2), and its only message. */
function callBytes(path: string, message: Uint8Array): Buffer {
  const text = (value: string) => Buffer.from([value.length, ...Buffer.from(value)])
  const headers = Buffer.concat([
    // POST, http
    Buffer.from([0x83, 0x86]),
    Buffer.concat([Buffer.from([0x04]), text(path)]),
    Buffer.concat([Buffer.from([0x01]), text('127.0.0.1')]),
    Buffer.concat([Buffer.from([0x0f, 0x10]), text('application/grpc')]),
    Buffer.concat([Buffer.from([0x00]), text('te'), text('trailers')]),
  ])
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
  return Buffer.concat([frame(HEADERS, END_HEADERS, 0, headers), frame(0, END_STREAM, 0, body)])
}

/** Calls back with the header of every frame that has arrived completely. */
function createFrameReader(onFrame: (type: number, flags: number) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (bytes.length - at >= 9) {
      const end = at + 9 + bytes.readUIntBE(at, 3)
      if (end > bytes.length) break
      onFrame(bytes.readUInt8(at + 3), bytes.readUInt8(at + 4))
      at = end
    }
    rest = bytes.subarray(at)
  }
}
