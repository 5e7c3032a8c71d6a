import { isObject, type JsonObject } from '../core/base/json.ts'
import { detectLegacyVersions } from '../core/dialects/legacy-versions.ts'
import type { Fetch } from '../core/http/fetch.ts'

const timeout = 10_000

export interface FirstVersionOptions {
  readonly fetch: Fetch
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/**
 * The version of an agent whose card fits both 0.1 and 0.2. It is asked for by the methods for sending, without params:
 * the agent refuses these, or does not know the method. Undefined if the card is clear, or the answers are not.
 */
export async function probeFirstVersion(
  card: JsonObject,
  { fetch, headers = {}, signal }: FirstVersionOptions,
): Promise<'0.1' | '0.2' | undefined> {
  const { url, supportedInterfaces } = card
  if (Array.isArray(supportedInterfaces) || typeof url !== 'string' || !URL.canParse(url)) return undefined
  if (detectLegacyVersions(card).alternativeVersion === undefined) return undefined
  const knows = async (method: string) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
    })
    const json: unknown = await answer.json()
    return isObject(json) && isObject(json.error) ? !unknownMethods.includes(json.error.code) : undefined
  }
  try {
    const [second, first] = [await knows('message/send'), await knows('tasks/send')]
    if (first === undefined || second === undefined || first === second) return undefined
    return first ? '0.1' : '0.2'
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

/** MethodNotFound, and UnsupportedOperation of servers that speak other versions. */
const unknownMethods: readonly unknown[] = [-32601, -32004]
