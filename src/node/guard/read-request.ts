import type { Hop } from '../../http/guard/redirect.ts'
import { RequestRefused } from '../../http/guard/request-refused.ts'

export interface ReadRequest {
  readonly hop: Hop
  readonly signal: AbortSignal | undefined
  readonly redirect: RequestRedirect
}

/** What `fetch` was given, so that it can be sent several times: bodies are read to their end first. */
export async function readRequest(address: string | URL, init: RequestInit): Promise<ReadRequest> {
  if (!URL.canParse(`${address}`)) throw new RequestRefused('bad-url', 'what is to be asked is no address')
  const headers = new Headers(init.headers)
  for (const name of ofConnection) headers.delete(name)
  const body = await readBody(init.body, headers)
  // A packed answer could grow beyond measure while it is unpacked.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity')
  if (!headers.has('accept')) headers.set('accept', '*/*')
  const method = (init.method ?? 'GET').toUpperCase()
  const hop = { url: new URL(address), method, headers, body }
  return { hop, signal: init.signal ?? undefined, redirect: init.redirect ?? 'follow' }
}

/** Of the connection, not of the message: who could set them could smuggle a second request in (RFC 9112 §11.2). */
const ofConnection = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
].concat(['upgrade', 'proxy-authorization', 'proxy-connection'])

async function readBody(body: BodyInit | null | undefined, headers: Headers): Promise<Uint8Array | undefined> {
  if (body === null || body === undefined) return undefined
  if (body instanceof Uint8Array) return body
  const carrier = new Response(body)
  const type = carrier.headers.get('content-type')
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type)
  return typeof body === 'string' ? Buffer.from(body) : new Uint8Array(await carrier.arrayBuffer())
}
