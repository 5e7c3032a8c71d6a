import { withDeadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { toHex } from '../../base/hash.ts'
import type { Trace } from '../../base/trace-context.ts'
import type { Fetch } from '../../http/fetch.ts'
import { readLimited } from '../../http/read-limited.ts'
import { parseRetryAfter } from '../../http/response-headers.ts'
import type { PushFetch } from '../options.ts'
import { type PushRequest, pushHeaders, type SignPush } from '../request.ts'
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
    [pushHeaders.traceparent]: trace?.traceparent ?? `00-${webhook.traceId}-${randomHex(8)}-00`,
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
  const timedOut = () => new Error(`no answer within ${timeout / 1000} seconds`)
  const deadline = withDeadline(signal, timeout, timedOut, clock)
  try {
    const response = await post(request, fetch, sign, deadline.signal)
    const { status, headers } = response
    const result = { at, latency: latency(), status }
    await discardBody(response)
    if (response.ok) return result
    const retryAfter = parseRetryAfter(headers.get('retry-after'), clock.now())
    return {
      ...result,
      problem: `answered with ${status}`,
      ...(status === 410 && { isGone: true }),
      ...(retryAfter !== undefined && { retryAfter }),
    }
  } catch (error) {
    return { at, latency: latency(), problem: problemOf(error) }
  } finally {
    deadline.release()
  }
}

/** The id of a delivery: the same for every attempt, in any process. */
export function deliveryIdOf({ uid }: Pick<Webhook, 'uid'>, generation: number): string {
  return `${uid}.${generation}`
}

export function randomHex(bytes: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)))
}

/** The last event before this one that was delivered or given up, as far as remembered; 0 if there is none. */
function previousOf({ recent, dead }: Webhook, generation: number): number {
  const generations = [...recent, ...dead].map((delivery) => delivery.generation)
  return Math.max(0, ...generations.filter((earlier) => earlier < generation))
}

async function post(request: PushRequest, send: Fetch, sign: SignPush | undefined, signal: AbortSignal) {
  const { url, headers, body } = request
  const signed = sign ? { ...headers, ...(await sign(request)) } : headers
  return await send(url, { method: 'POST', headers: signed, body, signal, redirect: 'follow' })
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
