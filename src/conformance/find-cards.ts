import { isObject, type JsonObject } from '../core/base/json.ts'
import { diagnoseFailure } from '../core/client/diagnostics/diagnose.ts'
import { protocolVersions } from '../core/dialects/versions.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { readLimited } from '../core/http/read-limited.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { networkError } from '../core/transports/client/failures.ts'
import { probeFirstVersion } from './first-version.ts'
import { type Interface, interfacesOf, type Version } from './interface.ts'
import type { ServedCard } from './session.ts'

/** Maximum length of a card in bytes. */
const maxCard = 1024 * 1024

/** What an agent declares in one version: its card, and its interfaces. */
export interface Declared {
  readonly version: Version
  readonly served: ServedCard
  readonly interfaces: readonly Interface[]
}

export interface CardRequest {
  readonly fetch: Fetch
  readonly headers: Readonly<Record<string, string>>
  readonly timeout: number
  readonly signal: AbortSignal
}

/** The cards of an agent, as clients of each version find them. Throws an `A2AError` if there is none. */
export async function findCards(url: string, request: CardRequest): Promise<readonly Declared[]> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new A2AError('invalid-params', `Expected an http or https URL, got "${url}".`, { reason: 'bad-url' })
  }
  const declared: Declared[] = []
  let seen: ServedCard | undefined
  const probed = new Map<string, Promise<Version | undefined>>()
  for (const version of protocolVersions) {
    const served = await findCard(url, version, request)
    if (!served) continue
    seen ??= served
    const probe = probed.get(served.text) ?? probeFirstVersion(served.json, request)
    probed.set(served.text, probe)
    const all = interfacesOf(served.json, served.url, await probe)
    const interfaces = all.filter((each) => each.version === version)
    if (interfaces.length > 0) declared.push({ version, served, interfaces })
  }
  if (!seen) {
    throw new A2AError('invalid-agent-response', `There is no agent card at ${url}.`, { reason: 'card-not-found' })
  }
  return declared
}

async function findCard(url: string, version: Version, request: CardRequest) {
  for (const candidate of cardUrls(url, version)) {
    const headers: Record<string, string> = isOld(version) ? {} : { 'a2a-version': version }
    const response = await requestCard(candidate, headers, request).catch((error) => {
      throw explainFailure(error, candidate, request)
    })
    if (response.status === 200 && isObject(response.json)) {
      return { ...response, json: response.json, url: candidate, selectedBy: headers }
    }
  }
  return undefined
}

/** The error for a card that could not be fetched, explained as `connect` does. */
function explainFailure(error: unknown, url: string, { signal, timeout, headers }: CardRequest): A2AError {
  const isLate = error instanceof Error && error.name === 'TimeoutError' && !signal.aborted
  const late = () =>
    new A2AError('timeout', `There was no answer from ${url} within ${timeout / 1000} seconds.`, { url })
  const hasCredentials = Object.keys(headers).length > 0
  return diagnoseFailure(isLate ? late() : networkError(error, url, signal), { cardUrl: url, hasCredentials })
}

/** Requests a card, with further headers. */
export async function requestCard(
  url: string,
  headers: Readonly<Record<string, string>>,
  { fetch, headers: own, timeout, signal }: CardRequest,
) {
  const response = await fetch(url, {
    headers: { accept: 'application/json', ...own, ...headers },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
  })
  const text = new TextDecoder().decode(await readLimited(response.body, maxCard))
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

/** Clients of 0.1 and 0.2 look for another name. */
function cardUrls(url: string, version: Version): readonly string[] {
  const { pathname, origin } = new URL(url)
  if (pathname.endsWith('.json')) return [url]
  const names = isOld(version) ? ['agent.json', 'agent-card.json'] : ['agent-card.json']
  const bases = [...new Set([url.replace(/\/$/, ''), origin])]
  return bases.flatMap((base) => names.map((name) => `${base}/.well-known/${name}`))
}

function isOld(version: Version): boolean {
  return version === '0.2' || version === '0.1'
}

function parse(text: string): JsonObject | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
