import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sampleEvent, sampleResponse } from '../sample-responses.ts'
import { control } from './control.ts'
import { readPlan } from './plan.ts'

/** Reads the body and sends a prepared response without any protocol work; with `deferred`, in the next event loop turn. */
const isDeferred = process.argv[2] === 'deferred'

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await read(request)
  if (request.url === '/stream') return await stream(body, response)
  if (isDeferred) await nextTurn()
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sampleResponse) })
  response.end(sampleResponse)
}

/** Writes one event per event loop turn. */
async function stream(body: Buffer, response: ServerResponse): Promise<void> {
  const { chunks, bytes } = readPlan(JSON.parse(body.toString()).params.message.parts[0].text) ?? {
    chunks: 0,
    bytes: 0,
  }
  const event = sampleEvent(bytes)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (let left = chunks; left > 0; left--) {
    if (!response.write(event)) await new Promise((resolve) => response.once('drain', resolve))
    await nextTurn()
  }
  response.end()
}

function read(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
  })
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const server = createServer(respond).listen(0, '127.0.0.1', () => control((server.address() as AddressInfo).port))
