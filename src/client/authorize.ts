import type { Fetch } from '../http/outbound.ts'
import type { AgentCard } from '../protocol/card.ts'

/** What credentials are asked for. */
export interface Authorization {
  readonly url: string
  /** Undefined while the card itself is being fetched. */
  readonly card: AgentCard | undefined
  /** The `WWW-Authenticate` of a refusal: what was sent before did not do. */
  readonly challenge?: string
}

export interface Credentials {
  /** A cookie is one, too. */
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

/** Asked before every request, and once more when one is refused with 401. */
export type Authorize = (asked: Authorization) => Credentials | undefined | Promise<Credentials | undefined>

/** A `fetch` that carries the credentials of the caller. */
export function authorizing(fetch: Fetch, authorize: Authorize, card: () => AgentCard | undefined): Fetch {
  return async (url, init) => {
    const asked = { url, card: card() }
    const first = await authorize(asked)
    const response = await fetch(...withCredentials(url, init, first))
    if (response.status !== 401) return response
    const challenge = response.headers.get('www-authenticate') ?? ''
    const second = await authorize({ ...asked, challenge })
    if (second === undefined || JSON.stringify(second) === JSON.stringify(first)) return response
    await response.body?.cancel()
    return await fetch(...withCredentials(url, init, second))
  }
}

function withCredentials(url: string, init: RequestInit, given: Credentials | undefined): [string, RequestInit] {
  const { headers = {}, query = {} } = given ?? {}
  const address = new URL(url)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  const all = new Headers(init.headers)
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  return [Object.keys(query).length === 0 ? url : address.href, { ...init, headers: all }]
}
