import { type Fetch, type Headers, isStream, readEvents } from './wire-client.ts'

export interface RpcResponse {
  readonly jsonrpc: string
  readonly id: string | number | null
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the dialect of its request
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** A JSON-RPC client without a dialect. */
export interface JsonRpc {
  call(method: string, params?: unknown, id?: string | number): Promise<RpcResponse>
  /** The events of a stream. Throws if the response is not a stream. */
  stream(method: string, params: unknown, id?: string | number): AsyncGenerator<RpcResponse>
}

export function jsonRpc(url: string, headers: Headers = {}, fetchFunction: Fetch = fetch): JsonRpc {
  const post = (accept: string, request: object) =>
    fetchFunction(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...request }),
    })
  return {
    async call(method, params, id = 1) {
      return JSON.parse(await (await post('application/json', { id, method, params })).text())
    },
    async *stream(method, params, id = 1) {
      const response = await post('text/event-stream', { id, method, params })
      if (!isStream(response)) throw new Error(`${method} returned no stream but ${await response.text()}`)
      for await (const { jsonrpc, id: responseId, result, error } of readEvents(response)) {
        yield { jsonrpc, id: responseId, ...(result && { result }), ...(error && { error }) }
      }
    },
  }
}
