import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { hostOf } from '../core/http/address-guard.ts'
import { BodyTooLarge } from '../core/http/exchange.ts'
import { redirectStatuses } from '../core/http/redirect.ts'
import { http } from '../core/node/http-module.ts'
import type { Post, PostRequest, PostResponse } from '../mesh/carrier.ts'
import { type CreateMeshPeer, createMeshPeerBy } from '../mesh/peer.ts'

/**
 * The `createMeshPeer` for Node: links without a `fetch` send by `node:http`, which takes half the CPU time of the global
 * `fetch` for a short envelope.
 */
export const createMeshPeer: CreateMeshPeer = createMeshPeerBy({ createPost })

/** Sends `POST` requests to one endpoint, over connections that are kept. */
export function createPost(endpoint: string): Post {
  let target: Target | undefined
  return (request) =>
    new Promise((resolve, reject) => {
      target ??= readTarget(endpoint)
      send(target, request, { resolve, reject })
    })
}

interface Target {
  readonly options: RequestOptions
  readonly open: (options: RequestOptions) => ClientRequest
}

function readTarget(endpoint: string): Target {
  const url = new URL(endpoint)
  const { protocol, port, username, password, pathname, search } = url
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('Expected an http or https URL.')
  if (username !== '' || password !== '') throw new TypeError('The URL contains a user name or password: leave it out.')
  const options = { host: hostOf(url), port, path: `${pathname}${search}`, method: 'POST' }
  // The functions are read at each call, because instrumentation replaces them.
  if (protocol === 'https:') return { options, open: (all) => process.getBuiltinModule('node:https').request(all) }
  // An empty name, or the agent would derive one for TLS from every request.
  return { options: { ...options, servername: '' } as RequestOptions, open: (all) => http.request(withAgent(all)) }
}

/** With the options that the types of Node do not list. */
type ProxyAgent = Agent & { readonly options?: { readonly proxyEnv?: unknown } }

let keptConnections: Agent | undefined

/**
 * The global agent sets a timer for every request. It is used only if the process has replaced it, or configured it for a
 * proxy; otherwise the peer decides how long an idle connection stays open.
 */
function withAgent(options: RequestOptions): RequestOptions {
  const agent: ProxyAgent = http.globalAgent
  if (agent.options?.proxyEnv || agent.constructor !== http.Agent) return options
  keptConnections ??= new http.Agent({ keepAlive: true })
  return { ...options, agent: keptConnections }
}

interface Outcome {
  resolve(response: PostResponse): void
  reject(error: unknown): void
}

function send(target: Target, request: PostRequest, { resolve, reject }: Outcome, mayRepeat = true): void {
  const { headers, body, signal, maxBytes } = request
  signal.throwIfAborted()
  const options = {
    ...target.options,
    headers: { ...headers, 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body) },
  }
  const outgoing = target.open(options)
  const release = (): void => signal.removeEventListener('abort', abort)
  const fail = (error: unknown): void => {
    release()
    reject(error)
  }
  const abort = (): void => {
    fail(signal.reason)
    // Without the reason: the error of a socket whose response is being discarded may have no listener.
    outgoing.destroy()
  }
  let isRepeated = !mayRepeat
  signal.addEventListener('abort', abort)
  // More than one error may follow a connection that is destroyed.
  outgoing.on('error', (error) => {
    if (isRepeated || signal.aborted || !isStale(outgoing, error)) {
      fail(error)
      return
    }
    // The peer had closed the idle connection. It handles an envelope once, and repeats its answer for the same bytes.
    isRepeated = true
    release()
    send(target, request, { resolve, reject }, false)
  })
  outgoing.once('response', (response) => {
    readResponse(response, maxBytes, fail, (bytes) => {
      release()
      resolve({ status: response.statusCode ?? 0, bytes })
    })
  })
  outgoing.end(body)
}

/** Whether a kept connection was closed before it carried a response. */
function isStale({ reusedSocket, res }: ClientRequest & { readonly res?: unknown }, error: Error): boolean {
  return reusedSocket && !res && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

function readResponse(
  response: IncomingMessage,
  maxBytes: number,
  reject: (error: unknown) => void,
  resolve: (bytes: Uint8Array) => void,
): void {
  const fail = (error: Error): void => {
    reject(error)
    response.destroy()
  }
  const { statusCode = 0, headers } = response
  if (redirectStatuses.has(statusCode)) {
    fail(new Error(`The peer redirects (${statusCode}).`))
    return
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  // The request accepts none.
  if (encoding !== 'identity') {
    fail(new Error(`The response is compressed (${encoding}).`))
    return
  }
  const chunks: Uint8Array[] = []
  let length = 0
  response.on('data', (chunk: Uint8Array) => {
    length += chunk.length
    if (length > maxBytes) fail(new BodyTooLarge(maxBytes))
    else chunks.push(chunk)
  })
  response.on('error', reject)
  response.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)))
}
