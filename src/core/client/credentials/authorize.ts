import { unlessAborted } from '../../base/abort.ts'
import type { Fetch } from '../../http/fetch.ts'
import type { AgentCard } from '../../protocol/card.ts'
import type { Credentials } from '../../protocol/credentials.ts'
import { A2AError } from '../../protocol/errors.ts'

/** A request that needs credentials. */
export interface Authorization {
  readonly url: string
  /** Undefined while the card itself is being fetched. */
  readonly card: AgentCard | undefined
  /** The `WWW-Authenticate` header of a 401 response to the previous attempt. */
  readonly challenge?: string
  /** The credentials of the previous attempt, which the agent rejected. */
  readonly refused?: Credentials
}

/** Returns credentials. Called before every request, and once more after a 401 response. */
export type Authorize = (authorization: Authorization) => Credentials | undefined | Promise<Credentials | undefined>

/** The kind of a credential failure. Its message must not contain a secret or anything that a server answered to one. */
export type CredentialFailure =
  | 'unfit'
  | 'malformed'
  | 'not-secure'
  | 'not-trusted'
  | 'refused'
  | 'unreachable'
  | 'garbage'

export function credentialError(failure: CredentialFailure, problem: string, hint: string): A2AError {
  return new A2AError('unauthenticated', problem, { reason: `credentials-${failure}`, hint })
}

/** A `fetch` that sends the credentials of the caller. */
export function authorizing(fetch: Fetch, authorize: Authorize, card: () => AgentCard | undefined): Fetch {
  return async (url, init) => {
    const authorization = { url, card: card() }
    const first = await obtainCredentials(authorize, authorization, init.signal)
    const response = await fetch(...withCredentials(url, init, first))
    if (response.status !== 401) return response
    const challenge = response.headers.get('www-authenticate') ?? ''
    const retry = { ...authorization, challenge, refused: first }
    const second = await obtainCredentials(authorize, retry, init.signal)
    if (second === undefined || JSON.stringify(second) === JSON.stringify(first)) return response
    await response.body?.cancel()
    return await fetch(...withCredentials(url, init, second))
  }
}

/** A user may have to agree, which takes long: a caller may abort meanwhile and get the credentials the next time. */
async function obtainCredentials(
  authorize: Authorize,
  authorization: Authorization,
  signal: AbortSignal | null | undefined,
): Promise<Credentials | undefined> {
  try {
    const credentials = (async () => await authorize(authorization))()
    return await (signal ? unlessAborted(credentials, signal) : credentials)
  } catch (error) {
    if (error instanceof A2AError || signal?.aborted) throw error
    // Its message may contain a secret.
    const problem = 'The function that provides the credentials has failed: see the cause.'
    const hint = 'Check the functions that connect() got for credentials.'
    throw new A2AError('unauthenticated', problem, { cause: error, reason: 'credentials-failed', hint })
  }
}

function withCredentials(url: string, init: RequestInit, credentials: Credentials | undefined): [string, RequestInit] {
  const { headers = {}, query = {} } = credentials ?? {}
  const address = new URL(url)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  const allHeaders = new Headers(init.headers)
  for (const [name, value] of Object.entries(headers)) allHeaders.set(name, value)
  return [Object.keys(query).length === 0 ? url : address.href, { ...init, headers: allHeaders }]
}
