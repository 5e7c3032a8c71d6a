import type { Fetch } from '../http/outbound.ts'
import type { Trace } from '../protocol/trace.ts'
import { pushHeaders } from './headers.ts'
import type { PushRequest, SignPush } from './request.ts'
import type { Webhook, WebhookKey } from './store.ts'

export interface Telling {
  readonly generation: number
  /** From 1. */
  readonly attempt: number
  readonly contentType: string
  readonly body: string
  readonly trace?: Trace | undefined
}

/** The id of a delivery: the same for every attempt of it, in whatever process. */
export function deliveryIdOf({ uid }: Pick<Webhook, 'uid'>, generation: number): string {
  return `${uid}.${generation}`
}

export function composeRequest(key: WebhookKey, webhook: Webhook, telling: Telling): PushRequest {
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

/** The last event before this one that was delivered or given up, as far as that is remembered; 0 if there is none. */
function previousOf({ recent, dead }: Webhook, generation: number): number {
  const told = [...recent, ...dead].map((delivery) => delivery.generation)
  return Math.max(0, ...told.filter((each) => each < generation))
}

/** Posts it, signed if that is wanted. */
export async function post(request: PushRequest, send: Fetch, sign: SignPush | undefined, signal: AbortSignal) {
  const { url, headers, body } = request
  const signed = sign ? { ...headers, ...(await sign(request)) } : headers
  return await send(url, { method: 'POST', headers: signed, body, signal, redirect: 'follow' })
}

export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
}
