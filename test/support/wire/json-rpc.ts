import { type Fetch, type Headers, isStream, readEvents } from './wire-client.ts'

export interface RpcAnswer {
  readonly jsonrpc: string
  readonly id: string | number | null
  // biome-ignore lint/suspicious/noExplicitAny: every test knows the dialect in which it asked
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** JSON-RPC as it is on the wire, in no dialect at all. */
export interface JsonRpc {
  call(method: string, params?: unknown, id?: string | number): Promise<RpcAnswer>
  /** What the events of a stream say; that there is a stream is required. */
  stream(method: string, params: unknown, id?: string | number): AsyncGenerator<RpcAnswer>
}

export function jsonRpc(url: string, headers: Headers = {}, through: Fetch = fetch): JsonRpc {
  const post = (accept: string, request: object) =>
    through(url, {
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
      if (!isStream(response)) throw new Error(`${method} gave no stream but ${await response.text()}`)
      for await (const { jsonrpc, id: answered, result, error } of readEvents(response)) {
        yield { jsonrpc, id: answered, ...(result && { result }), ...(error && { error }) }
      }
    },
  }
}
