import { type Clock, isTimeout } from '../../base/clock.ts'
import { toHex } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import type { Trace } from '../../base/trace-context.ts'
import type { Fetch } from '../../http/fetch.ts'
import { readLimited } from '../../http/read-limited.ts'
import { parseRetryAfter } from '../../http/response-headers.ts'
import type { PushFetch } from '../options.ts'
import { type PostResponse, type PushRequest, pushHeaders, type SentPost, type SignPush } from '../request.ts'
import type { Webhook, WebhookKey } from '../store.ts'

/** Limits for reading a response body, which is discarded; reading it lets the connection be reused. */
const bodyLimit = { bytes: 16 * 1024, milliseconds: 500 }

export interface DeliveryContent {
  readonly generation: number
  /** The number of the attempt, starting at 1. */
  readonly attempt: number
  readonly contentType: string
  readonly body: string
  readonly trace?: Trace | undefined
}

export function encodeRequest(key: WebhookKey, webhook: Webhook, content: DeliveryContent): PushRequest {
  const { url, token, authentication } = webhook.config
  const { generation, attempt, contentType, body, trace } = content
  const headers: Record<string, string> = {
    'content-type': contentType,
    [pushHeaders.deliveryId]: deliveryIdOf(webhook, generation),
    [pushHeaders.generation]: `${generation}`,
    [pushHeaders.previous]: `${previousOf(webhook, generation)}`,
    [pushHeaders.taskId]: encodeURI(webhook.alias ?? key.taskId),
    [pushHeaders.attempt]: `${attempt}`,
    [pushHeaders.traceparent]: trace?.traceparent ?? `00-${webhook.traceId}-${randomSpanId()}-00`,
  }
  if (trace?.tracestate !== undefined) headers[pushHeaders.tracestate] = trace.tracestate
  if (token !== undefined) headers[pushHeaders.token] = token
  if (authentication?.credentials !== undefined) {
    headers[pushHeaders.authorization] = `${authentication.scheme} ${authentication.credentials}`
  }
  return { url, headers, body }
}

export interface AttemptOptions {
  readonly fetch: PushFetch
  readonly sign?: SignPush
  readonly timeout: number
  /** Aborts the request, for example at shutdown. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** The result of one request to a receiver. */
export interface AttemptResult {
  /** When the request was sent, in milliseconds since 1970. */
  readonly at: number
  /** How long the response took, in milliseconds. */
  readonly latency: number
  readonly status?: number
  /** Why the attempt failed; undefined if it succeeded. */
  readonly problem?: string
  /** Whether the receiver answered with 410 Gone, which removes the webhook. */
  readonly isGone?: boolean
  /** The `Retry-After` of the response, in milliseconds. */
  readonly retryAfter?: number
}

export async function sendRequest(request: PushRequest, options: AttemptOptions): Promise<AttemptResult> {
  const { fetch, sign, timeout, signal, clock } = options
  const at = clock.now()
  const started = performance.now()
  const latency = () => Math.round((performance.now() - started) * 10) / 10
  let sent: SentPost | undefined
  let reason: unknown
  const abort = (error: unknown) => {
    reason ??= error
    sent?.abort(error)
  }
  const shutDown = () => abort(signal.reason)
  const expire = () => abort(new Error(`no answer within ${timeout / 1000} seconds`))
  const timer = isTimeout(timeout) ? clock.setTimeout(expire, timeout) : undefined
  signal.addEventListener('abort', shutDown)
  try {
    const signed = sign ? { ...request, headers: { ...request.headers, ...(await sign(request)) } } : request
    if (signal.aborted) shutDown()
    if (reason !== undefined) throw reason
    sent = fetch.post ? fetch.post(signed) : postWith(fetch, signed)
    const { status, retryAfter: header, discarded } = await sent.response
    const result = { at, latency: latency(), status }
    await discarded
    if (status >= 200 && status < 300) return result
    const retryAfter = parseRetryAfter(header ?? null, clock.now())
    return {
      ...result,
      problem: `answered with ${status}`,
      ...defined({ isGone: status === 410 ? true : undefined, retryAfter }),
    }
  } catch (error) {
    return { at, latency: latency(), problem: problemOf(reason ?? error) }
  } finally {
    clock.clearTimeout(timer)
    signal.removeEventListener('abort', shutDown)
  }
}

/** The id of a delivery: the same for every attempt, in any process. */
export function deliveryIdOf({ uid }: Pick<Webhook, 'uid'>, generation: number): string {
  return `${uid}.${generation}`
}

export function randomHex(bytes: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)))
}

/** The random half of a UUID: platforms make UUIDs from random bytes that they draw in advance. */
function randomSpanId(): string {
  const uuid = crypto.randomUUID()
  return `${uuid.slice(0, 8)}${uuid.slice(-8)}`
}

/** The last event before this one that was delivered or given up, as far as remembered; 0 if there is none. */
function previousOf({ recent, dead }: Webhook, generation: number): number {
  let previous = 0
  for (const deliveries of [recent, dead]) {
    for (const { generation: earlier } of deliveries) {
      if (earlier < generation && earlier > previous) previous = earlier
    }
  }
  return previous
}

/** For a fetch without `post`, such as one of the user. */
function postWith(send: Fetch, { url, headers, body }: PushRequest): SentPost {
  const controller = new AbortController()
  async function respond(): Promise<PostResponse> {
    const { signal } = controller
    const response = await send(url, { method: 'POST', headers, body, signal, redirect: 'follow' })
    const { status, headers: responseHeaders } = response
    return { status, retryAfter: responseHeaders.get('retry-after') ?? undefined, discarded: discardBody(response) }
  }
  return { response: respond(), abort: (reason) => controller.abort(reason) }
}

/** Reads the body within limits. Failures are ignored, because the status has already decided the attempt. */
async function discardBody(response: Response): Promise<void> {
  const { body } = response
  if (!body) return
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, bodyLimit.milliseconds)
  })
  const reader = body.getReader()
  const read = readLimited(chunksOf(reader), bodyLimit.bytes).then(
    () => true,
    () => false,
  )
  const isRead = await Promise.race([read, late])
  clearTimeout(timer)
  if (!isRead) await reader.cancel().catch(() => {})
}

async function* chunksOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
}

/** Describes an error for the operator, without credentials or tokens. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return `${error}`
  const cause = error.cause instanceof Error ? error.cause : error
  const { code } = cause as { readonly code?: unknown }
  const text = cause.message || `${code ?? cause.name}`
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
