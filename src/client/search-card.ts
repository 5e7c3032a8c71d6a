import { isObject } from '../dialects/is-object.ts'
import { readPeerCard } from '../dialects/peer-card.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import { failureOf, failures } from '../transports/on-failure.ts'
import { isLocal, likeliestUrl, localOrigin, wellKnown } from './card-place.ts'
import type { FoundCard, SearchOptions } from './found-card.ts'
import { isCard } from './is-card.ts'
import { isFile } from './is-file.ts'
import type { Local, Target } from './options.ts'
import { isTransient, retryBackoff, retrying } from './retry.ts'
import { verified } from './verified.ts'

/** The card of a target, whatever and wherever it is, and however it is written. */
export async function searchCard(target: Target, options: SearchOptions): Promise<FoundCard> {
  const { journal, clock, signal, verifyCard: verify } = options
  if (isModel(target)) return { card: target }
  if (!isAddress(target)) return read(await verified(requireCard(target), undefined, verify), options)
  if (!isLocal(target) && isFile(target)) {
    // Browsers have no files, and need nothing of it.
    const { readCardFile } = await import('./card-file.ts')
    return read(await readCardFile(target, { journal, ...(verify && { verify }) }), options)
  }
  const address = isLocal(target) ? localOrigin : `${target}`
  const first = likeliestUrl(target)
  if (first === '') {
    const problem = `${JSON.stringify(address)} is no address of an agent.`
    throw new A2AError('invalid-params', problem, { reason: 'bad-url', url: address })
  }
  const find = () => searchAt([first, ...otherUrls(new URL(address))], address, options)
  const backoff = retryBackoff(options.retry)
  const { wire, url } = await find().catch((error) =>
    retrying(find, error, { backoff, signal, clock, isWorthIt: isTransient }),
  )
  return { ...(await read(wire, options)), cardUrl: url }
}

async function read(wire: JsonObject, { journal, readers, readOlderCard }: SearchOptions): Promise<FoundCard> {
  const { card, evidence, orElse } = await readPeerCard(wire, readers, readOlderCard)
  journal.note({ type: 'reading', detail: evidence })
  return { card, ...(orElse !== undefined && { orElse }) }
}

async function searchAt(urls: readonly string[], target: string, options: SearchOptions) {
  const { journal, signal } = options
  const failures: string[] = []
  for (const url of urls) {
    try {
      return await cardAt(url, options)
    } catch (error) {
      const failure = await failureOf(error, url, signal)
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

/** Whether it may be at another address. What nobody answers, or refuses, is not looked for behind its back. */
function isElsewhere({ code, reason }: A2AError): boolean {
  return code === 'method-not-found' || reason === 'html' || reason === 'not-json' || reason === 'not-a-card'
}

async function cardAt(asked: string, options: SearchOptions) {
  const { cache, journal, verifyCard } = options
  const answer = await options.look(asked)
  const unchanged = answer.status === 304 ? cache.get(asked)?.wire : undefined
  const isRefused = answer.status < 200 || answer.status >= 300 || answer.form !== 'json'
  if (!unchanged && isRefused) throw (await failures()).foreignAnswer(answer)
  const wire = unchanged ?? answer.body
  if (!isObject(wire) || !isCard(wire)) {
    const problem = `${asked} has JSON that is no agent card.`
    throw new A2AError('invalid-agent-response', problem, { reason: 'not-a-card', url: asked })
  }
  const believed = await verified(wire, asked, verifyCard)
  const etag = answer.headers.get('etag')
  if (!unchanged && etag !== null) cache.set(asked, { etag, wire })
  const url = unchanged ? asked : answer.url
  journal.note({ type: 'card', url, outcome: unchanged ? 'unchanged' : 'found', detail: '' })
  return { wire: believed, url }
}

/** Where cards were before 0.3. */
const formerly = '/.well-known/agent.json'

/** A path may be a card, or where an agent is mounted; and the agent of an origin may be meant by any of its pages. */
function otherUrls({ origin, pathname, search, href }: URL): readonly string[] {
  if (pathname.endsWith('.json')) return []
  const path = pathname.replace(/\/+$/, '')
  const beside = `${origin}${path}${formerly}${search}`
  return path === '' ? [beside] : [beside, href, `${origin}${wellKnown}`, `${origin}${formerly}`]
}

/** An agent as its author wrote it has no way to be asked. */
function requireCard(target: JsonObject): JsonObject {
  if (typeof target.run !== 'function') return target
  const problem = 'This agent cannot be asked: expected one made by agent() of parley-a2a, or createHandler(agent).'
  throw new A2AError('invalid-params', problem, { reason: 'not-a-card' })
}

function isAddress(target: Target): target is string | URL | Local {
  return typeof target === 'string' || target instanceof URL || isLocal(target)
}

function isModel(target: Target): target is AgentCard {
  return isObject(target) && Array.isArray(target.interfaces) && target.supportedInterfaces === undefined
}
