import type { IncomingMessage } from 'node:http'
import { BodyTooLarge } from '../http/exchange.ts'
import { Overloaded } from '../http/load.ts'
import { inNextTurn } from './next-turn.ts'

export interface ParsedRequest extends IncomingMessage {
  /** What a body parser in front of us, such as `express.json()`, made of the body. */
  readonly body?: unknown
}

/** Whether there is room for more bytes. */
export interface Room {
  take(bytes: number): boolean
}

/** The whole body of a request. Past `limit`, or where there is no room, it stops reading and keeps nothing. */
export function readBody(request: ParsedRequest, limit: number, room: Room): Promise<Uint8Array> {
  if (Number(request.headers['content-length']) > limit) return Promise.reject(new BodyTooLarge(limit))
  if (!request.readableDidRead) return collect(request, limit, room)
  const bytes = encodeParsed(request.body)
  return bytes.length > limit ? Promise.reject(new BodyTooLarge(limit)) : Promise.resolve(bytes)
}

function collect(request: IncomingMessage, limit: number, room: Room): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    const take = (chunk: Uint8Array): void => {
      length += chunk.length
      chunks.push(chunk)
      const hasRoom = room.take(chunk.length)
      if (length <= limit && hasRoom) return
      chunks.length = 0
      request.off('data', take).pause()
      reject(length > limit ? new BodyTooLarge(limit) : new Overloaded())
    }
    if (request.destroyed) reject(new Error('the caller left before its body had come'))
    request.on('data', take)
    request.once('end', () => {
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)
      inNextTurn(() => resolve(bytes))
    })
    request.once('error', reject)
  })
}

function encodeParsed(body: unknown): Uint8Array {
  if (body === undefined) return new Uint8Array()
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
