import type { Fetch } from '../../http/fetch.ts'
import type { AgentCard } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Credentials } from '../../protocol/principal.ts'

/** What credentials are asked for. */
export interface Authorization {
  readonly url: string
  /** Undefined while the card itself is being fetched. */
  readonly card: AgentCard | undefined
  /** The `WWW-Authenticate` of a refusal: what was sent before did not do. */
  readonly challenge?: string
  /** What was sent before, if anything was, and did not do. */
  readonly refused?: Credentials
}

/** Asked before every request, and once more when one is refused with 401. */
export type Authorize = (asked: Authorization) => Credentials | undefined | Promise<Credentials | undefined>

/** A `fetch` that carries the credentials of the caller. */
export function authorizing(fetch: Fetch, authorize: Authorize, card: () => AgentCard | undefined): Fetch {
  return async (url, init) => {
    const asked = { url, card: card() }
    const { signal } = init
    const first = await given(authorize, asked, signal)
    const response = await fetch(...withCredentials(url, init, first))
    if (response.status !== 401) return response
    const challenge = response.headers.get('www-authenticate') ?? ''
    const second = await given(authorize, { ...asked, challenge, ...(first && { refused: first }) }, signal)
    if (second === undefined || JSON.stringify(second) === JSON.stringify(first)) return response
    await response.body?.cancel()
    return await fetch(...withCredentials(url, init, second))
  }
}

/** They may take long, as where a user has to agree: who asks for them may leave, and get them the next time. */
async function given(
  authorize: Authorize,
  asked: Authorization,
  signal: AbortSignal | null | undefined,
): Promise<Credentials | undefined> {
  let leave: (() => void) | undefined
  try {
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal?.reason)
      signal?.addEventListener('abort', leave)
    })
    return await Promise.race([authorize(asked), left])
  } catch (error) {
    if (error instanceof A2AError || signal?.aborted) throw error
    // What it says may have a secret in it.
    const problem = 'There are no credentials: what is to give them has failed. See the cause.'
    const hint = 'Look into the functions that were handed to connect() for credentials.'
    throw new A2AError('unauthenticated', problem, { cause: error, reason: 'credentials-failed', hint })
  } finally {
    if (leave) signal?.removeEventListener('abort', leave)
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
