import { isObject } from '../dialects/is-object.ts'
import type { Incoming } from '../http/exchange.ts'
import { parseJson } from '../http/json.ts'
import { isJson } from '../http/media-type.ts'
import { withBody } from '../http/with-body.ts'

/** A request that was looked at, and can still be answered. */
export interface Addressed {
  readonly tenant: string | undefined
  readonly incoming: Incoming
}

export interface LookLimits {
  readonly bodyLimit: number
  readonly jsonDepth: number
}

/**
 * For which tenant a request is: by its query, or by its body, of JSON-RPC or of REST (A2A 1.0 §5.8). What cannot be
 * read is left to whoever answers, to be refused.
 */
export async function tenantIn(incoming: Incoming, { bodyLimit, jsonDepth }: LookLimits): Promise<Addressed> {
  const named = new URLSearchParams(incoming.query).get('tenant')
  if (named) return { tenant: named, incoming }
  if (incoming.method !== 'POST' || !isJson(incoming.header('content-type'))) return { tenant: undefined, incoming }
  const body = incoming.bytes(bodyLimit)
  const read = withBody(incoming, body)
  try {
    return { tenant: tenantOf(parseJson(await body, { depth: jsonDepth })), incoming: read }
  } catch {
    return { tenant: undefined, incoming: read }
  }
}

function tenantOf(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { tenant } = isObject(body.params) ? body.params : body
  return typeof tenant === 'string' && tenant !== '' ? tenant : undefined
}
