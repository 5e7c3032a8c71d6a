import { createParser } from 'eventsource-parser'

/** The members of A2A 1.0 objects that tests use. */
export interface WirePart {
  readonly text?: string
  readonly data?: unknown
}
export interface WireMessage {
  readonly messageId: string
  readonly role: string
  readonly parts: readonly WirePart[]
  readonly taskId?: string
  readonly contextId?: string
}
export interface WireArtifact {
  readonly artifactId: string
  readonly name?: string
  readonly parts: readonly WirePart[]
}
export interface WireStatus {
  readonly state: string
  readonly timestamp: string
  readonly message?: WireMessage
}
export interface WireTask {
  readonly id: string
  readonly contextId: string
  readonly status: WireStatus
  readonly artifacts?: readonly WireArtifact[]
  readonly history?: readonly WireMessage[]
}
export interface WirePage {
  readonly tasks: readonly WireTask[]
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}
/** The result of a send, and each event of a stream. Exactly one member is set. */
export interface WireOutcome {
  readonly task?: WireTask
  readonly message?: WireMessage
  readonly statusUpdate?: { readonly taskId: string; readonly status: WireStatus }
  readonly artifactUpdate?: {
    readonly taskId: string
    readonly artifact: WireArtifact
    readonly append?: boolean
    readonly lastChunk?: boolean
  }
}
export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: readonly Readonly<Record<string, unknown>>[]
}
export interface WireResponse<T> {
  readonly jsonrpc: string
  readonly id: string | number | null
  readonly result?: T
  readonly error?: WireError
}
/** One server-sent event. */
export interface WireEvent extends WireResponse<WireOutcome> {
  /** The `id:` of the event, which is a generation. */
  readonly generation: number | undefined
  readonly name: string | undefined
}

export type Headers = Readonly<Record<string, string>>
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A minimal A2A 1.0 client over JSON-RPC that returns responses unchanged. */
export interface WireClient {
  readonly url: string
  post(body: unknown, headers?: Headers): Promise<Response>
  call<T = unknown>(method: string, params?: unknown, headers?: Headers): Promise<WireResponse<T> & { status: number }>
  /** The result of a call. Throws if it fails. */
  result<T>(method: string, params?: unknown, headers?: Headers): Promise<T>
  /** Sends a text and returns the outcome. */
  send(text: string, more?: SendOptions, headers?: Headers): Promise<WireOutcome>
  /** Sends a text and returns the task. Throws if the outcome is a message. */
  sendTask(text: string, more?: SendOptions, headers?: Headers): Promise<WireTask>
  getTask(id: string, historyLength?: number): Promise<WireTask>
  stream(method: string, params: unknown, options?: StreamOptions): AsyncGenerator<WireEvent>
  /** Sends a text and reads the stream. */
  sendStream(text: string, options?: StreamOptions & SendOptions): AsyncGenerator<WireEvent>
  subscribe(id: string, options?: StreamOptions): AsyncGenerator<WireEvent>
}

export interface SendOptions {
  readonly messageId?: string
  readonly taskId?: string
  readonly contextId?: string
  readonly configuration?: Readonly<Record<string, unknown>>
}

export interface StreamOptions {
  /** Sent as `Last-Event-ID`. */
  readonly after?: number
  readonly headers?: Headers
  readonly signal?: AbortSignal
}

export function createWireClient(url: string, fetchFunction: Fetch = fetch): WireClient {
  let calls = 0

  const post: WireClient['post'] = (body, headers = {}) =>
    fetchFunction(url, { method: 'POST', body: bodyOf(body), headers: { ...jsonHeaders, ...headers } })

  const call: WireClient['call'] = async (method, params, headers) => {
    const response = await post({ jsonrpc: '2.0', id: ++calls, method, params }, headers)
    return { status: response.status, ...JSON.parse(await response.text()) }
  }

  const result = async <T>(method: string, params?: unknown, headers?: Headers): Promise<T> => {
    const response = await call<T>(method, params, headers)
    if (response.result === undefined) throw new Error(`${method} was answered with ${JSON.stringify(response)}`)
    return response.result
  }

  const send: WireClient['send'] = (text, more, headers) => result('SendMessage', sendParams(text, more), headers)

  const stream: WireClient['stream'] = async function* (method, params, { after, headers, signal } = {}) {
    const resume: Headers = after === undefined ? {} : { 'last-event-id': `${after}` }
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++calls, method, params })
    const allHeaders = { ...jsonHeaders, ...resume, ...headers }
    const response = await fetchFunction(url, { method: 'POST', body, headers: allHeaders, ...(signal && { signal }) })
    if (!isStream(response)) throw new Error(`${method} returned no stream but ${await response.text()}`)
    yield* readEvents(response)
  }

  return {
    url,
    post,
    call,
    result,
    send,
    async sendTask(text, more, headers) {
      const outcome = await send(text, more, headers)
      if (!outcome.task) throw new Error(`expected a task, got ${JSON.stringify(outcome)}`)
      return outcome.task
    },
    getTask: (id, historyLength) => result('GetTask', { id, historyLength }),
    stream,
    sendStream: (text, options) => stream('SendStreamingMessage', sendParams(text, options), options),
    subscribe: (id, options) => stream('SubscribeToTask', { id }, options),
  }
}

const jsonHeaders: Headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

let sent = 0
export function sendParams(text: string, { messageId = `m-${++sent}`, configuration, ...target }: SendOptions = {}) {
  const { taskId, contextId } = target
  return { message: { messageId, role: 'ROLE_USER', parts: [{ text }], taskId, contextId }, configuration }
}

export function isStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') === true
}

/** Closes the connection when the reader stops. */
export async function* readEvents(response: Response): AsyncGenerator<WireEvent> {
  const ready: WireEvent[] = []
  const parser = createParser({
    onEvent: ({ id, event, data }) =>
      ready.push({ ...JSON.parse(data), generation: id === undefined ? undefined : Number(id), name: event }),
  })
  for await (const text of textsOf(response)) {
    parser.feed(text)
    yield* ready.splice(0)
  }
}

/** The chunks of a body as text, as they arrive. */
export async function* textsOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) yield decoder.decode(chunk, { stream: true })
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}
