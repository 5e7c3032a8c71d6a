import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { hostOf } from '../http/address-guard.ts'
import { BodyTooLarge } from '../http/exchange.ts'
import { redirectStatuses } from '../http/redirect.ts'
import type { Post, PostRequest, PostResponse } from '../mesh/carrier.ts'
import { type CreateMeshPeer, createMeshPeerBy } from '../mesh/peer.ts'
import { http } from './http-module.ts'

/**
 * The `createMeshPeer` for Node: links without a `fetch` send by `node:http`, which takes half the CPU time of the global
 * `fetch` for a short envelope.
 */
export const createMeshPeer: CreateMeshPeer = createMeshPeerBy({ createPost })

/** Sends `POST` requests to one endpoint, over the connections of the global agent. */
export function createPost(endpoint: string): Post {
  let target: Target | undefined
  return async (request) => {
    target ??= readTarget(endpoint)
    try {
      return await send(target, request)
    } catch (error) {
      // The peer had closed the idle connection. It handles an envelope once, and repeats its answer for the same bytes.
      if (!(error instanceof StaleConnection) || request.signal.aborted) throw error
      return await send(target, request)
    }
  }
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
  return { options: { ...options, servername: '' } as RequestOptions, open: (all) => http.request(all) }
}

/** A kept connection was closed before it carried a response. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection'
}

function send({ options, open }: Target, { headers, body, signal, maxBytes }: PostRequest): Promise<PostResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const length = Buffer.byteLength(body)
    const request = open({ ...options, headers: { ...headers, 'content-length': length } })
    const abort = (): void => {
      request.destroy(signal.reason)
    }
    const fail = (error: unknown): void => {
      signal.removeEventListener('abort', abort)
      reject(error)
    }
    signal.addEventListener('abort', abort)
    request.once('error', (error) => fail(isStale(request, error) ? new StaleConnection('', { cause: error }) : error))
    request.once('response', (response) => {
      readResponse(response, maxBytes, fail, (bytes) => {
        signal.removeEventListener('abort', abort)
        resolve({ status: response.statusCode ?? 0, bytes })
      })
    })
    request.end(body)
  })
}

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
  if (redirectStatuses.has(statusCode)) return fail(new Error(`The peer redirects (${statusCode}).`))
  const encoding = headers['content-encoding'] ?? 'identity'
  // The request accepts none.
  if (encoding !== 'identity') return fail(new Error(`The response is compressed (${encoding}).`))
  const chunks: Uint8Array[] = []
  let length = 0
  response.on('data', (chunk: Uint8Array) => {
    length += chunk.length
    if (length > maxBytes) fail(new BodyTooLarge(maxBytes))
    else chunks.push(chunk)
  })
  response.once('error', reject)
  response.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)))
}
