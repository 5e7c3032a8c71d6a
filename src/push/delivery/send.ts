import type { Clock } from '../../base/clock.ts'
import type { Trace } from '../../base/trace-context.ts'
import type { Fetch } from '../../http/fetch.ts'
import { readLimited } from '../../http/read-limited.ts'
import { parseRetryAfter } from '../../http/response-headers.ts'
import type { PushFetch } from '../options.ts'
import { type PushRequest, pushHeaders, type SignPush } from '../request.ts'
import type { Webhook, WebhookKey } from '../store.ts'

/** Of an answer, which nobody needs: so much is read that the connection can be used again. */
const answerLimit = { bytes: 16 * 1024, milliseconds: 500 }

export interface DeliveryContent {
  readonly generation: number
  /** From 1. */
  readonly attempt: number
  readonly contentType: string
  readonly body: string
  readonly trace?: Trace | undefined
}

export function composeRequest(key: WebhookKey, webhook: Webhook, telling: DeliveryContent): PushRequest {
  const { url, token, authentication } = webhook.config
  const { generation, attempt, contentType, body, trace } = telling
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
  /** Gives up early, as when this process stops. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** How one request to a receiver went. */
export interface Attempted {
  /** When it was sent, in milliseconds since 1970, and how long the answer took. */
  readonly at: number
  readonly latency: number
  readonly status?: number
  /** Why it does not count as received; undefined if it does. */
  readonly problem?: string
  /** The receiver wants nothing any more (410). */
  readonly isGone?: boolean
  /** For how long the receiver wants to be left alone, in milliseconds. */
  readonly retryAfter?: number
}

export async function attempt(request: PushRequest, options: AttemptOptions): Promise<Attempted> {
  const { fetch, sign, timeout, signal, clock } = options
  const at = clock.now()
  const started = performance.now()
  const latency = () => Math.round((performance.now() - started) * 10) / 10
  const given = new AbortController()
  const giveUp = () => given.abort(signal.reason)
  const timer = clock.setTimeout(() => given.abort(new Error(`no answer within ${timeout / 1000} seconds`)), timeout)
  signal.addEventListener('abort', giveUp)
  if (signal.aborted) giveUp()
  try {
    const response = await post(request, fetch, sign, given.signal)
    const { status, headers } = response
    const answered = { at, latency: latency(), status }
    await finish(response)
    if (response.ok) return answered
    const retryAfter = parseRetryAfter(headers.get('retry-after'), clock.now())
    return {
      ...answered,
      problem: `answered with ${status}`,
      ...(status === 410 && { isGone: true }),
      ...(retryAfter !== undefined && { retryAfter }),
    }
  } catch (error) {
    return { at, latency: latency(), problem: problemOf(error) }
  } finally {
    clock.clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
}

/** The id of a delivery: the same for every attempt of it, in whatever process. */
export function deliveryIdOf({ uid }: Pick<Webhook, 'uid'>, generation: number): string {
  return `${uid}.${generation}`
}

export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
}

/** The last event before this one that was delivered or given up, as far as that is remembered; 0 if there is none. */
function previousOf({ recent, dead }: Webhook, generation: number): number {
  const told = [...recent, ...dead].map((delivery) => delivery.generation)
  return Math.max(0, ...told.filter((each) => each < generation))
}

/** Posts it, signed if that is wanted. */
async function post(request: PushRequest, send: Fetch, sign: SignPush | undefined, signal: AbortSignal) {
  const { url, headers, body } = request
  const signed = sign ? { ...headers, ...(await sign(request)) } : headers
  return await send(url, { method: 'POST', headers: signed, body, signal, redirect: 'follow' })
}

/** Whatever comes of it, the answer counts. */
async function finish(response: Response): Promise<void> {
  const { body } = response
  if (!body) return
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, answerLimit.milliseconds)
  })
  const reader = body.getReader()
  const read = readLimited(chunksOf(reader), answerLimit.bytes).then(
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

/** For the operator: it names neither credentials nor tokens. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return `${error}`
  const cause = error.cause instanceof Error ? error.cause : error
  const { code } = cause as { readonly code?: unknown }
  const text = cause.message || `${code ?? cause.name}`
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
