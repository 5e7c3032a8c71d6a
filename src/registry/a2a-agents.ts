import type { Clock } from '../base/clock.ts'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import type { Client } from '../client/client.ts'
import { connect } from '../client/connect.ts'
import { A2AError } from '../protocol/errors.ts'
import { isGuarded, sayProblem } from './conformance.ts'
import type { A2AEntry, About, EntryStore, Sighting, SkillInfo } from './entry.ts'
import { ageBounds, freshFor } from './freshness.ts'
import type { AgentListing } from './listing.ts'
import type { A2AOptions, ProbeOptions, RegistryFetch } from './options.ts'
import { type CardReading, type ReadCardOptions, readCard } from './read-card.ts'
import { rankOf, termsOf } from './search.ts'

const maxText = 10_000

const maxTags = 100

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

const maxName = 300

export interface A2AAgentsOptions {
  readonly entries: EntryStore
  readonly fetch: RegistryFetch
  readonly clock: Clock
  readonly a2a?: A2AOptions
  readonly probe?: ProbeOptions
  /** How many agents an owner may have. */
  readonly maxPerOwner: number
  readonly describe: (entry: A2AEntry) => AgentListing
}

export interface AddOptions {
  /** Who may change it later. Without it, only the operator, by the methods of the registry. */
  readonly owner?: string
}

/** The agents that speak A2A: their cards, and what was seen of them. */
export interface A2AAgents {
  /** Where a card is is enough. Throws `A2AError` if it is not listed. */
  add(url: string | URL, options?: AddOptions): Promise<A2AEntry>
  /** A card that came in a catalog, under a name of its own. */
  addInline(id: string, card: JsonObject, options?: AddOptions): Promise<A2AEntry>
  /** Reads its card again, and probes it if that is wanted. Answers whether all is well. */
  look(entry: A2AEntry): Promise<boolean>
}

export function createA2AAgents(options: A2AAgentsOptions): A2AAgents {
  const { entries, fetch, clock, a2a = {}, probe, maxPerOwner, describe } = options
  const ages = ageBounds(a2a)
  const reading: ReadCardOptions = {
    fetch,
    clock,
    requireSignature: a2a.requireSignature ?? false,
    maxCardBytes: a2a.maxCardBytes ?? 2 ** 18,
    timeout: a2a.timeout ?? 10_000,
    ...(a2a.verifyCard && { verifyCard: a2a.verifyCard }),
  }

  const mayAsk = (url: string) =>
    fetch.check(url).then(
      () => true,
      () => false,
    )

  /** What is known after a card was read. */
  async function entryFrom(id: string, read: CardReading, before?: A2AEntry): Promise<A2AEntry> {
    const { card, cardUrl, etag, reachable, signature } = read
    const now = clock.now()
    const endpoint = endpointOf(card)
    const isOpen = endpoint !== undefined && (await mayAsk(endpoint))
    const elsewhere = { ok: false, at: now, problem: 'The card names an address that this registry does not ask.' }
    const conforms = isOpen || endpoint === undefined ? read.conforms : elsewhere
    const isChanged = before === undefined || JSON.stringify(before.card) !== JSON.stringify(card)
    const completed = before?.sightings.completed
    return {
      kind: 'a2a',
      id,
      name: typeof card.name === 'string' ? card.name.slice(0, maxName) : id,
      card,
      about: aboutOf(card),
      endpoint: endpoint ?? id,
      ...(cardUrl !== undefined && { cardUrl }),
      ...(etag !== undefined && { etag }),
      added: before?.added ?? now,
      changed: isChanged ? now : before.changed,
      failures: 0,
      // Of a card in a catalog, that it lies there is no sign of life.
      seen: reachable ? now : (before?.seen ?? now),
      ...(!conforms.ok && { trouble: 'unusable' }),
      sightings: {
        ...(reachable && { reachable }),
        conforms,
        ...(signature && { signature }),
        ...(completed && { completed }),
      },
    }
  }

  function indexOf(entry: A2AEntry, due: number) {
    return { terms: termsOf(entry), rank: rankOf(entry), due }
  }

  /** When to look again: for the card, or to probe before that. */
  function dueAfter(read: CardReading, { cardUrl }: A2AEntry): number {
    const now = clock.now()
    const again = cardUrl === undefined ? day : freshFor(read.headers, now, ages)
    return now + (probe ? Math.min(again, probe.every ?? 5 * minute) : again)
  }

  async function put(id: string, read: CardReading, { owner }: AddOptions): Promise<A2AEntry> {
    const known = await entries.get(id)
    const before = known?.kind === 'a2a' && known.owner === owner ? known : undefined
    const made = await entryFrom(id, read, before)
    if (!(await mayAsk(made.endpoint))) throw notAsked(made.endpoint === id ? id : 'The endpoint in the card')
    // That it was listed just now keeps it, also if nobody has asked it.
    const entry = { ...made, seen: clock.now(), ...(owner !== undefined && { owner }) }
    // Who is new is probed soon, if at all, and not while somebody waits.
    const isNew = probe?.message !== undefined && made.sightings.completed === undefined
    const index = indexOf(entry, isNew ? clock.now() : dueAfter(read, entry))
    switch (await entries.put(entry, index, { maxOwned: maxPerOwner })) {
      case 'taken':
        throw new A2AError('conflict', `${id} is registered already, and belongs to somebody else.`)
      case 'full':
        throw new A2AError('unavailable', 'The registry is full.', { reason: 'registry-full' })
      case 'crowded': {
        const problem = `You have ${maxPerOwner} agents here, and nobody may have more: remove one first.`
        throw new A2AError('forbidden', problem, { reason: 'owner-quota' })
      }
      case 'added':
      case 'replaced':
        return entry
    }
  }

  /** What is known after an agent was sent a message. */
  async function tried(entry: A2AEntry, client: Client, { message = '', timeout = 30_000 }: ProbeOptions) {
    const begun = performance.now()
    const took = () => ({ at: clock.now(), latency: Math.round(performance.now() - begun) })
    const { sightings } = entry
    try {
      const known = await knownTo(entry, client, timeout)
      const reply = await known.send(message, { timeout })
      const state = reply.type === 'message' ? 'completed' : reply.task.status.state
      const problem = `The task is ${state}, and not completed.`
      const completed: Sighting = state === 'completed' ? { ok: true, ...took() } : { ok: false, ...took(), problem }
      const reachable = sightings.reachable ?? { ok: true, ...took() }
      return { ...entry, seen: clock.now(), sightings: { ...sightings, reachable, completed } }
    } catch (error) {
      const completed: Sighting = { ok: false, ...took(), problem: sayProblem(error) }
      const isOdd = error instanceof A2AError && error.code === 'invalid-agent-response'
      if (!isOdd) return { ...entry, sightings: { ...sightings, completed } }
      const conforms = { ok: false, at: completed.at, problem: completed.problem ?? '' }
      return { ...entry, trouble: 'unusable', sightings: { ...sightings, completed, conforms } } as const
    }
  }

  /** With the credentials for it, if there are any. The card is that which was believed. */
  async function knownTo(entry: A2AEntry, client: Client, timeout: number): Promise<Client> {
    const auth = await probe?.auth?.(describe(entry))
    if (!auth || auth.length === 0) return client
    return await connect(entry.card, { fetch, auth, timeout, retry: { tries: 1 } })
  }

  async function lookAgain(before: A2AEntry): Promise<boolean> {
    const read = await readCard(before.cardUrl ?? before.card, reading, before)
    let entry = await entryFrom(before.id, read, before)
    if (probe?.message !== undefined && read.client && entry.trouble === undefined) {
      entry = await tried(entry, read.client, probe)
    }
    const isChanged = entry.changed !== before.changed
    const change = isChanged ? 'updated' : entry.trouble !== before.trouble ? 'status' : undefined
    await entries.note(entry, indexOf(entry, dueAfter(read, entry)), change)
    return entry.trouble === undefined && entry.sightings.completed?.ok !== false
  }

  async function noteFailure(before: A2AEntry, error: unknown): Promise<void> {
    const { trouble: _, ...rest } = before
    const [now, failures] = [clock.now(), before.failures + 1]
    const reachable = { ok: false, at: now, problem: sayProblem(error) }
    const entry: A2AEntry = { ...rest, failures, trouble: 'unreachable', sightings: { ...rest.sightings, reachable } }
    const change = before.trouble === 'unreachable' ? undefined : 'status'
    await entries.note(entry, indexOf(entry, now + Math.min(hour, minute * 2 ** Math.min(failures - 1, 10))), change)
  }

  return {
    async add(url, adding = {}) {
      const address = addressOf(url)
      if (!(await mayAsk(address))) throw notAsked(address)
      const read = await readCard(address, reading).catch((error) => {
        throw isGuarded(error) ? notAsked(address) : error
      })
      return await put(read.cardUrl ?? address, read, adding)
    },
    async addInline(id, card, adding = {}) {
      return await put(id, await readCard(card, reading), adding)
    },
    async look(entry) {
      try {
        return await lookAgain(entry)
      } catch (error) {
        await noteFailure(entry, error)
        return false
      }
    },
  }
}

/** The first way by HTTP that the card names. */
function endpointOf({ url, supportedInterfaces }: JsonObject): string | undefined {
  const ways: readonly Json[] = Array.isArray(supportedInterfaces) ? supportedInterfaces : []
  const named = [...ways.map((way) => (isObject(way) ? way.url : undefined)), url]
  return named.filter((each) => typeof each === 'string').find((each) => /^https?:/i.test(each) && URL.canParse(each))
}

/** What a card says of its agent. All versions of A2A say it in the same way. */
function aboutOf(card: JsonObject): About {
  const { capabilities } = card
  const { extensions, ...flags } = isObject(capabilities) ? capabilities : {}
  const features = Object.keys(flags).filter((name) => flags[name] === true)
  const uris = list(extensions).flatMap((each) => (isObject(each) && typeof each.uri === 'string' ? [each.uri] : []))
  return {
    description: text(card.description),
    version: text(card.version),
    skills: list(card.skills).filter(isObject).map(skillOf),
    features: [...features, ...uris].slice(0, maxTags),
  }
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value.slice(0, maxText) : ''
}

function skillOf({ id, name, description, tags }: JsonObject): SkillInfo {
  const labels = list(tags).filter((each) => typeof each === 'string')
  return { id: text(id), name: text(name), description: text(description), tags: labels.slice(0, maxTags) }
}

function notAsked(what: string): A2AError {
  return new A2AError('forbidden', `${what} is an address that this registry does not ask.`, { reason: 'guarded' })
}

/** Without a fragment, which is never sent, so that the same card has one address. */
function addressOf(given: string | URL): string {
  const text = `${given}`
  const url = text.length <= 2_000 && URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new A2AError('invalid-params', 'url: expected the address of an agent or its card, by http or https.')
  }
  url.hash = ''
  return url.href
}
