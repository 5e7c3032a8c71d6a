import { rpcCard, startHttpServer } from './http-server.ts'

export interface RecordedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: tests read the members that they expect.
  readonly body: any
}

export interface RecordingOptions {
  readonly card?: (origin: string) => object
  /** The JSON-RPC result of a request; an object with `error` is an error. Undefined answers with a message. */
  readonly result?: (request: RecordedRequest, origin: string) => object | undefined
  /** Answers instead of the card and the results, if it returns true. */
  readonly handle?: (request: RecordedRequest, response: import('node:http').ServerResponse) => boolean
}

/** A peer that records all requests, the one for the card included. Closed after the test. */
export async function startRecordingPeer(options: RecordingOptions = {}) {
  const { card = (origin) => rpcCard(origin, validMembers), result, handle } = options
  const requests: RecordedRequest[] = []
  const origin = await startHttpServer(async (incoming, response) => {
    const text = Buffer.concat(await incoming.toArray()).toString()
    const { method = '', url = '', headers } = incoming
    const request = { method, url, headers, body: text === '' ? undefined : JSON.parse(text) }
    requests.push(request)
    if (handle?.(request, response)) return
    response.setHeader('content-type', 'application/json')
    if (url.startsWith('/.well-known/')) return void response.end(JSON.stringify(card(origin)))
    const answer = result?.(request, origin) ?? { message: message('Hi') }
    const outcome = 'error' in answer ? { error: answer.error } : { result: answer }
    response.end(JSON.stringify({ jsonrpc: '2.0', id: request.body?.id ?? null, ...outcome }))
  })
  return { origin, requests, calls: () => requests.filter(({ method }) => method === 'POST') }
}

/** The members that 1.0 requires of a card, besides the interfaces. */
export const validMembers = {
  description: 'A scripted agent.',
  version: '1.0.0',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}

export function message(text: string, more: object = {}): object {
  return { messageId: 'm-1', role: 'ROLE_AGENT', parts: [{ text }], ...more }
}

export function task(state: string, more: object = {}): object {
  return { id: 't-1', contextId: 'c-1', status: { state: `TASK_STATE_${state}` }, ...more }
}
