import type { Binding, KnownDialect } from '../dialects/dialect.ts'
import { type Door, doorsOf } from '../dialects/doors.ts'
import type { ReadCard } from '../dialects/peer-card.ts'
import type { Fetch } from '../http/outbound.ts'
import type { AgentCard } from '../protocol/card.ts'
import { systemClock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Service } from '../protocol/service.ts'
import type { SkillMap } from '../protocol/skills.ts'
import type { WireClientOptions } from '../transports/client-options.ts'
import { type Client, createClient } from './client.ts'
import { diagnose } from './diagnose.ts'
import { createJournal } from './journal.ts'
import type { Notice } from './notice.ts'
import { backoffsOf, type ConnectOptions, type Local, type Target, type Transport } from './options.ts'
import { createPeer } from './peer.ts'
import { isLocal, resolveCard } from './resolve-card.ts'
import { createTalk } from './talk.ts'
import { verified } from './verified.ts'
import { findWay } from './way.ts'

/** What a client can speak, and over what. What is not in here is not in the bundle of its user either. */
export interface Abilities {
  /** In the order in which they are tried where nothing else decides. */
  readonly dialects: readonly KnownDialect[]
  /** Reads the cards of versions before 1.0. */
  readonly readOlderCard?: ReadCard
  readonly transports: ReadonlyMap<Binding, (options: WireClientOptions) => Service>
}

/**
 * Finds out what an agent speaks, and where, and gives a client that talks to it. With `connect<typeof myAgent>(…)`, or
 * the types that `skillTypesOf(card)` has written, the client knows what its skills take and give.
 */
export interface Connect {
  <A extends Local>(target: A, options?: ConnectOptions): Promise<Client<SkillsOf<A>>>
  <A = unknown>(target: Target, options?: ConnectOptions): Promise<Client<SkillsOf<A>>>
}

/** The skills of an agent, by its type, or the types themselves. */
export type SkillsOf<A> = A extends { readonly skillTypes?: infer Skills extends SkillMap }
  ? Skills
  : A extends SkillMap
    ? A
    : SkillMap

export function createConnect(abilities: Abilities): Connect {
  // What is known of its skills is known to the compiler alone.
  return (target: Target, options: ConnectOptions = {}) => connect(abilities, target, options) as Promise<Client<never>>
}

async function connect(abilities: Abilities, target: Target, options: ConnectOptions): Promise<Client> {
  const { onNotice, timeout = 60_000, clock = systemClock } = options
  const credentials = await credentialsOf(options)
  const journal = createJournal()
  const notify = (notice: Notice) => {
    if (notice.type === 'polling') journal.note({ type: 'fallback', detail: notice.message })
    onNotice?.(notice)
  }
  const dialects = abilities.dialects.filter(({ name }) => options.dialects?.includes(name) ?? true)
  const { names = [...abilities.transports.keys()], handedIn } = bindingsOf(options)
  const bindings = names.filter((each) => abilities.transports.has(each) || handedIn.has(each))
  let card: AgentCard | undefined
  let cardUrl: string | undefined
  const explained = (error: unknown) => diagnose(error, { card, cardUrl, hasCredentials: credentials !== undefined })

  const withCredentials = (plain: Fetch) => credentials?.carriedBy(plain, () => card) ?? plain
  const fetch = withCredentials(fetchOf(target, options))
  try {
    const { dialects: readers, readOlderCard } = abilities
    const found = await resolveCard(target, {
      ...options,
      authorize: credentials?.authorize,
      fetch,
      journal,
      clock,
      readers,
      ...(readOlderCard && { readOlderCard }),
    })
    card = found.card
    cardUrl = found.cardUrl
    const addressOf = (binding: Binding, address: string) =>
      handedIn.get(binding)?.addressOf?.(address, cardUrl) ?? address
    const among = { dialects, bindings, addressOf, ...found }
    const [first, ...others] = doorsOf(card, among)
    if (!first) throw noCommonDoor()
    const open = async ({ binding, url, dialect, tenant }: Door): Promise<Service> => {
      const own = handedIn.get(binding)
      const create = own?.open ?? abilities.transports.get(binding)
      if (!create) throw noCommonDoor()
      const through = own ? withCredentials(own.fetch) : fetch
      const spoken = await dialect.load()
      const { verifyCard } = options
      return create({
        ...options,
        fetch: through,
        url,
        dialect: spoken,
        ...(tenant !== undefined && { tenant }),
        ...(verifyCard && { believe: (wire: unknown) => verified(wire, url, verifyCard) }),
      })
    }
    const way = findWay({ card, doors: [first, ...others], options: among, open, journal, notify })
    const peer = createPeer({ card, door: way.door, deduplicates: options.peerDeduplicates })
    const service = createTalk({
      ...backoffsOf(options),
      service: way.service,
      peer,
      timeout,
      notify,
      clock,
      diagnose: explained,
    })
    return createClient({
      card,
      service: options.watch?.(service, card) ?? service,
      explain: () => journal.explain(way.door()),
    })
  } catch (error) {
    throw await explained(error)
  }
}

/** Loaded for those who have credentials. */
async function credentialsOf({ auth, authorize, fetch = globalThis.fetch }: ConnectOptions) {
  if (!authorize && !auth) return undefined
  const { authorizing, byCard } = await import('./credentials/carried.ts')
  const given = authorize ?? byCard(auth ?? [], (url, init) => fetch(url, init))
  const carriedBy = (plain: Fetch, card: () => AgentCard | undefined) => authorizing(plain, given, card)
  return { authorize: given, carriedBy }
}

/** Undefined names if nothing is said of them. */
function bindingsOf({ bindings }: ConnectOptions) {
  const handedIn = new Map<Binding, Transport>()
  for (const each of bindings ?? []) if (typeof each === 'object') handedIn.set(each.binding, each)
  return { names: bindings?.map((each) => (typeof each === 'object' ? each.binding : each)), handedIn }
}

function fetchOf(target: Target, { fetch = globalThis.fetch }: ConnectOptions): Fetch {
  if (!isLocal(target)) return (url, init) => fetch(url, init)
  return (url, init) => target.fetch(new Request(url, init))
}

function noCommonDoor(): A2AError {
  const problem = 'The card names no way to the agent that this client can go.'
  return new A2AError('unsupported-operation', problem, { reason: 'no-common-door' })
}
