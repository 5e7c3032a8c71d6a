import type { Clock } from '../core/base/clock.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import type { Client } from '../core/client/client.ts'
import { connect } from '../core/client/connect.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { createA2AEntry } from './a2a-entry.ts'
import { isGuarded, publicMessage } from './conformance.ts'
import type { A2AEntry, AgentListing, EntryIndex, Observation, RegistryStore } from './entry.ts'
import type { A2AOptions, ProbeOptions, RegistryFetch } from './options.ts'
import {
  type CheckedCard,
  freshnessLifetime,
  type LifetimeBounds,
  lifetimeBounds,
  type ReadCardOptions,
  readCard,
  retryDelay,
} from './read-card.ts'
import { rankOf, termsOf } from './search.ts'

const [minute, day] = [60_000, 86_400_000]

export interface A2AAgentsOptions {
  readonly entries: RegistryStore
  readonly fetch: RegistryFetch
  readonly clock: Clock
  readonly a2a?: A2AOptions
  readonly probe?: ProbeOptions
  /** Maximum number of agents per owner. */
  readonly maxPerOwner: number
  readonly describe: (entry: A2AEntry) => AgentListing
}

/** Options of `registry.add`. */
export interface AddOptions {
  /** Principal that may change the entry over HTTP. Without it, only the operator may, through the registry's methods. */
  readonly owner?: string
}

/** Reads the cards of A2A agents, stores their entries and checks the agents. */
export interface A2AAgents {
  /** Adds the agent at this URL, or with its card at this URL. Throws `A2AError` if it cannot be added. */
  add(url: string | URL, options?: AddOptions): Promise<A2AEntry>
  /** Adds an agent whose card is inline in a catalog. */
  addInline(id: string, card: JsonObject, options?: AddOptions): Promise<A2AEntry>
  /** Reads the card again and, if configured, probes the agent. Returns whether the agent is healthy. */
  check(entry: A2AEntry): Promise<boolean>
}

export function createA2AAgents(options: A2AAgentsOptions): A2AAgents {
  const { a2a = {}, fetch, clock } = options
  const settings: Settings = {
    ...options,
    lifetimes: lifetimeBounds(a2a),
    reading: defined({
      fetch,
      clock,
      requireSignature: a2a.requireSignature ?? false,
      maxCardBytes: a2a.maxCardBytes ?? 2 ** 18,
      timeout: a2a.timeout ?? 10_000,
      verifyCard: a2a.verifyCard,
    }),
    mayCall: (url) =>
      fetch.check(url).then(
        () => true,
        () => false,
      ),
  }
  return {
    async add(target, addOptions = {}) {
      const url = requireHttpUrl(target)
      if (!(await settings.mayCall(url))) throw guardedError(url)
      const checked = await readCard(url, settings.reading).catch((error) => {
        throw isGuarded(error) ? guardedError(url) : error
      })
      return await register(settings, checked.cardUrl ?? url, checked, addOptions)
    },
    async addInline(id, card, addOptions = {}) {
      return await register(settings, id, await readCard(card, settings.reading), addOptions)
    },
    async check(entry) {
      try {
        return await refresh(settings, entry)
      } catch (error) {
        await recordFailure(settings, entry, error)
        return false
      }
    },
  }
}

interface Settings extends A2AAgentsOptions {
  readonly lifetimes: LifetimeBounds
  readonly reading: ReadCardOptions
  /** Whether the guarded fetch allows calls to this URL. */
  readonly mayCall: (url: string) => Promise<boolean>
}

async function register(
  settings: Settings,
  id: string,
  checked: CheckedCard,
  { owner }: AddOptions,
): Promise<A2AEntry> {
  const { entries, clock, mayCall, probe, maxPerOwner } = settings
  const stored = await entries.get(id)
  const previous = stored?.kind === 'a2a' && stored.owner === owner ? stored : undefined
  const created = await createA2AEntry(id, checked, { now: clock.now(), mayCall, previous })
  const { endpoint } = created
  if (!(await mayCall(endpoint))) throw guardedError(endpoint === id ? id : 'The endpoint in the card')
  // Adding an agent counts as seeing it, so that an inline card does not expire at once.
  const entry = { ...created, seen: clock.now(), ...defined({ owner }) }
  // Maintenance probes a new agent in its next pass; the caller does not wait for it.
  const isUnprobed = probe?.message !== undefined && created.sightings.completed === undefined
  const index = indexOf(entry, isUnprobed ? clock.now() : nextCheck(settings, checked, entry))
  switch (await entries.put(entry, index, { maxOwned: maxPerOwner })) {
    case 'taken':
      throw new A2AError('conflict', `${id} is already registered by another owner.`)
    case 'full':
      throw new A2AError('unavailable', 'The registry is full.', { reason: 'registry-full' })
    case 'crowded': {
      const message = `You have ${maxPerOwner} agents here, which is the maximum: remove one first.`
      throw new A2AError('forbidden', message, { reason: 'owner-quota' })
    }
    case 'added':
    case 'replaced':
      return entry
  }
}

async function refresh(settings: Settings, previous: A2AEntry): Promise<boolean> {
  const { entries, clock, mayCall, probe, reading } = settings
  const checked = await readCard(previous.cardUrl ?? previous.card, reading, previous)
  let entry = await createA2AEntry(previous.id, checked, { now: clock.now(), mayCall, previous })
  if (probe?.message !== undefined && checked.client && entry.trouble === undefined) {
    entry = await sendProbe(settings, entry, checked.client, probe)
  }
  const isChanged = entry.changed !== previous.changed
  const change = isChanged ? 'updated' : entry.trouble !== previous.trouble ? 'status' : undefined
  await entries.note(entry, indexOf(entry, nextCheck(settings, checked, entry)), change)
  return entry.trouble === undefined && entry.sightings.completed?.ok !== false
}

/** Sends the probe message and returns the entry with the result. */
async function sendProbe(
  settings: Settings,
  entry: A2AEntry,
  client: Client,
  { message = '', timeout = 30_000 }: ProbeOptions,
): Promise<A2AEntry> {
  const { clock } = settings
  const start = performance.now()
  const timing = () => ({ at: clock.now(), latency: Math.round(performance.now() - start) })
  const { sightings } = entry
  try {
    const authorized = await withCredentials(settings, entry, client, timeout)
    const reply = await authorized.send(message, { timeout })
    const state = reply.type === 'message' ? 'completed' : reply.task.status.state
    const problem = `The task is ${state}, and not completed.`
    const completed: Observation =
      state === 'completed' ? { ok: true, ...timing() } : { ok: false, ...timing(), problem }
    const reachable = sightings.reachable ?? { ok: true, ...timing() }
    return { ...entry, seen: clock.now(), sightings: { ...sightings, reachable, completed } }
  } catch (error) {
    const completed = { ok: false, ...timing(), problem: publicMessage(error) }
    const isInvalid = error instanceof A2AError && error.code === 'invalid-agent-response'
    if (!isInvalid) return { ...entry, sightings: { ...sightings, completed } }
    const conforms = { ok: false, at: completed.at, problem: completed.problem }
    return { ...entry, trouble: 'unusable', sightings: { ...sightings, completed, conforms } }
  }
}

/** Connects with the operator's credentials for this agent, if there are any. Uses the card that was verified. */
async function withCredentials(
  { probe, fetch, describe }: Settings,
  entry: A2AEntry,
  client: Client,
  timeout: number,
): Promise<Client> {
  const auth = await probe?.auth?.(describe(entry))
  if (!auth || auth.length === 0) return client
  return await connect(entry.card, { fetch, auth, timeout, retry: { tries: 1 } })
}

async function recordFailure({ entries, clock }: Settings, previous: A2AEntry, error: unknown): Promise<void> {
  const { trouble: _, ...rest } = previous
  const now = clock.now()
  const reachable = { ok: false, at: now, problem: publicMessage(error) }
  const entry: A2AEntry = {
    ...rest,
    failures: previous.failures + 1,
    trouble: 'unreachable',
    sightings: { ...rest.sightings, reachable },
  }
  const change = previous.trouble === 'unreachable' ? undefined : 'status'
  await entries.note(entry, indexOf(entry, now + retryDelay(previous.failures)), change)
}

function indexOf(entry: A2AEntry, due: number): EntryIndex {
  return { terms: termsOf(entry), rank: rankOf(entry), due }
}

/** When the card is no longer fresh, or when the next probe is due if that is earlier. */
function nextCheck({ clock, lifetimes, probe }: Settings, checked: CheckedCard, { cardUrl }: A2AEntry): number {
  const now = clock.now()
  const lifetime = cardUrl === undefined ? day : freshnessLifetime(checked.headers, now, lifetimes)
  return now + (probe ? Math.min(lifetime, probe.every ?? 5 * minute) : lifetime)
}

function guardedError(subject: string): A2AError {
  return new A2AError('forbidden', `${subject} is an address that this registry does not call.`, { reason: 'guarded' })
}

/** Removes the fragment, which is never sent, so that each card has one URL. */
function requireHttpUrl(target: string | URL): string {
  const text = `${target}`
  const url = text.length <= 2_000 && URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new A2AError('invalid-params', 'url: expected the http or https URL of an agent or its card.')
  }
  url.hash = ''
  return url.href
}
