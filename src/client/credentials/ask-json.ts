import { networkFailureOf } from '../../http/network-failure.ts'
import type { Fetch } from '../../http/outbound.ts'
import { readLimited } from '../../http/read-limited.ts'
import { A2AError } from '../../protocol/errors.ts'
import { bare } from './oauth-client.ts'
import { noCredentials } from './trouble.ts'

export interface JsonAnswer {
  readonly isOk: boolean
  readonly body: Readonly<Record<string, unknown>>
}

const maxBytes = 2 ** 16
const timeout = 30_000

/** Asks somebody who gives out tokens. No redirect is followed: what is sent has secrets in it. */
export async function askJson(fetch: Fetch, url: string, init: RequestInit): Promise<JsonAnswer> {
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeout) })
    const body: unknown = parse(await readLimited(response.body, maxBytes))
    if (typeof body === 'object' && body !== null) return { isOk: response.ok, body: { ...body } }
    const problem = `${bare(url)} answered with HTTP status ${response.status}, and not with JSON.`
    throw noCredentials('garbage', problem, 'Check the addresses of the token and discovery endpoints.')
  } catch (error) {
    if (error instanceof A2AError) throw error
    // What the platform says may have the request in it.
    const why = error instanceof Error && error.name === 'TimeoutError' ? 'it takes too long' : networkFailureOf(error)
    const problem = `${bare(url)} gives no credentials: ${why}.`
    throw noCredentials('unreachable', problem, 'See whether it runs and can be reached from here.')
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}
