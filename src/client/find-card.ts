import { isObject } from '../dialects/is-object.ts'
import type { Fetch } from '../http/outbound.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import { answerLimitsOf } from '../transports/client-options.ts'
import { failureOf, failures } from '../transports/on-failure.ts'
import { readAnswer } from '../transports/read-answer.ts'
import type { CardCache } from './card-cache.ts'
import type { Journal } from './journal.ts'
import { type VerifyCard, verified } from './verified.ts'

export interface FoundCard {
  readonly wire: JsonObject
  /** Where it was found in the end. */
  readonly url: string
}

export interface FindCardOptions {
  readonly fetch: Fetch
  readonly cache: CardCache
  readonly journal: Journal
  readonly signal: AbortSignal
  /** The newest that we speak: some servers have a card for each. */
  readonly version: string
  readonly verify?: VerifyCard
}

/** Since 0.3, and before. */
const wellKnown = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** The card of whoever is at this address, wherever it may be. */
export async function findCard(target: string, options: FindCardOptions): Promise<FoundCard> {
  const { journal } = options
  const urls = cardUrls(new URL(target))
  const failures: string[] = []
  for (const url of urls) {
    try {
      const { isUnchanged, ...found } = await fetchCard(url, options)
      journal.note({ type: 'card', url: found.url, outcome: isUnchanged ? 'unchanged' : 'found', detail: '' })
      return found
    } catch (error) {
      const failure = await failureOf(error, url, options.signal)
      journal.note({ type: 'card', url, outcome: 'failed', detail: failure.message })
      if (!isElsewhere(failure)) throw failure
      failures.push(failure.message)
    }
  }
  throw new A2AError('invalid-agent-response', `There is no agent card at ${target}. ${failures.join(' ')}`, {
    reason: 'card-not-found',
    url: urls[0],
  })
}

/** A path may be a card, or where an agent is mounted; and the agent of an origin may be meant by any of its pages. */
function cardUrls({ origin, pathname, search, href }: URL): readonly string[] {
  if (/\.json$/.test(pathname)) return [href]
  const path = pathname.replace(/\/+$/, '')
  const below = wellKnown.map((each) => `${origin}${path}${each}${search}`)
  return path === '' ? below : [...below, href, ...wellKnown.map((each) => `${origin}${each}`)]
}

/** Whether it may be at another address. What nobody answers, or refuses, is not looked for behind its back. */
function isElsewhere({ code, reason }: A2AError): boolean {
  return code === 'method-not-found' || reason === 'html' || reason === 'not-json' || reason === 'not-a-card'
}

async function fetchCard(url: string, options: FindCardOptions): Promise<FoundCard & { isUnchanged: boolean }> {
  const { fetch, cache, signal, version, verify } = options
  const known = cache.get(url)
  const headers = {
    accept: 'application/json',
    'a2a-version': version,
    ...(known && { 'if-none-match': known.etag }),
  }
  const response = await fetch(url, { method: 'GET', headers, signal })
  if (response.status === 304 && known) {
    return { wire: await verified(known.wire, url, verify), url, isUnchanged: true }
  }
  const answer = await readAnswer(response, { ...answerLimitsOf({ answerLimit: 2 ** 20 }), url })
  if (!response.ok || answer.form !== 'json') throw (await failures()).foreignAnswer(answer)
  const { body: wire } = answer
  if (!isObject(wire) || !isCard(wire)) {
    const problem = `${url} has JSON that is no agent card.`
    throw new A2AError('invalid-agent-response', problem, { reason: 'not-a-card', url })
  }
  const believed = await verified(wire, url, verify)
  const etag = response.headers.get('etag')
  if (etag !== null) cache.set(url, { etag, wire })
  return { wire: believed, url: answer.url, isUnchanged: false }
}

export function isCard({ name, url, supportedInterfaces, agent_id }: JsonObject): boolean {
  return agent_id !== undefined || (name !== undefined && (url !== undefined || supportedInterfaces !== undefined))
}
