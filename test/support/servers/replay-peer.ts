import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isObject } from '../../../src/core/base/json.ts'
import { startHttpServer } from './http-server.ts'

/** The requests and answers of a real peer, in their order. `{origin}` stands for the origin of the peer. */
export interface Recording {
  readonly peer: string
  readonly version: string
  readonly binding: string
  readonly exchanges: readonly Exchange[]
}

interface Exchange {
  readonly request: { readonly method: string; readonly path: string; readonly body?: RequestBody }
  readonly response: {
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
    /** A text, or JSON. */
    readonly body?: unknown
    /** Whether the peer kept the response open. */
    readonly open?: boolean
    /** Whether the peer cut the connection. */
    readonly cut?: boolean
  }
}

interface RequestBody {
  /** Of JSON-RPC. */
  readonly id?: number
  readonly method?: string
}

/** Serves the answers of a recording in `test/interop/fixtures/`, and 501 to requests that it does not have. */
export async function startReplayPeer(name: string): Promise<string> {
  const text = await readFile(new URL(`../../interop/fixtures/${name}.json`, import.meta.url), 'utf8')
  const recording: Recording = JSON.parse(text)
  const unused = new Set(recording.exchanges)
  const origin = await startHttpServer(async (request, response) => {
    const body = await readBody(request)
    const matches = ({ request: recorded }: Exchange) =>
      recorded.method === request.method && recorded.path === request.url && recorded.body?.method === body.method
    const exchange = [...unused].find(matches) ?? recording.exchanges.findLast(matches)
    if (!exchange) return void response.writeHead(501).end(`not recorded: ${request.method} ${request.url}`)
    unused.delete(exchange)
    answer(exchange, body, response, origin)
  })
  return origin
}

function answer(
  { request, response: recorded }: Exchange,
  { id }: RequestBody,
  response: ServerResponse,
  origin: string,
) {
  const { status = 200, headers = {}, body = '', open = false, cut = false } = recorded
  const ownId = id !== undefined && isObject(body) && 'id' in body ? { ...body, id } : body
  const text = typeof ownId === 'string' ? ownId : JSON.stringify(ownId)
  response.writeHead(status, headers)
  response.write(text.replaceAll('{origin}', origin).replaceAll(`"id":${request.body?.id},`, `"id":${id},`))
  if (cut) response.destroy()
  else if (!open) response.end()
}

async function readBody(request: IncomingMessage): Promise<RequestBody> {
  const text = Buffer.concat(await request.toArray()).toString()
  return text === '' ? {} : JSON.parse(text)
}
