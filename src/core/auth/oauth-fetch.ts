import { defined, isObject, type JsonObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import { readLimited } from '../http/read-limited.ts'

export interface OAuthFetchOptions {
  readonly fetch: Fetch
  /** Milliseconds. */
  readonly timeout: number
  readonly maxBytes: number
  /** Completes the members of a response, or throws to reject it. `body` is undefined if it is not JSON. */
  readonly readBody: (body: unknown, status: number) => JsonObject
}

/**
 * The `fetch` for oauth4webapi. It follows no redirect, because requests contain secrets, and bounds the time and the size
 * of a response. The response that it returns has only a status that says whether the request succeeded, and a body:
 * servers put errors into responses of any status, and send headers that RFC 6749 does not expect.
 */
export async function oauthFetch(url: string, init: RequestInit, options: OAuthFetchOptions): Promise<Response> {
  const { fetch, timeout, maxBytes, readBody } = options
  const response = await fetch(url, {
    method: init.method,
    headers: init.headers,
    ...defined({ body: init.body ? `${init.body}` : undefined }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeout),
  })
  const body = readBody(parseJson(await readLimited(response.body, maxBytes)), response.status)
  const isError = !response.ok || (typeof body.error === 'string' && body.access_token === undefined)
  return Response.json(body, { status: isError ? 400 : 200 })
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** The members of a response that have the type that the standards require; the others are as good as absent. */
export function wellTypedMembers(
  body: unknown,
  { strings, numbers }: { readonly strings: readonly string[]; readonly numbers: readonly string[] },
): JsonObject {
  const members = Object.entries(isObject(body) ? body : {})
  return Object.fromEntries(
    members.flatMap(([name, value]): [string, string | number][] => {
      if (strings.includes(name)) return typeof value === 'string' && value !== '' ? [[name, value]] : []
      return numbers.includes(name) && Number(value) > 0 ? [[name, Number(value)]] : []
    }),
  )
}
