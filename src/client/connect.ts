import { allClients } from '../dialects/all-clients.ts'
import type { Binding } from '../dialects/dialect.ts'
import { type Door, doorsOf, relativeDoors } from '../dialects/doors.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Service } from '../protocol/service.ts'
import type { Fetch, WireClientOptions } from '../transports/client-options.ts'
import { createJsonRpcClient } from '../transports/jsonrpc/client.ts'
import { createRestClient } from '../transports/rest/client.ts'
import { authorizing } from './authorize.ts'
import { type Client, createClient } from './client.ts'
import { diagnose } from './diagnose.ts'
import { createJournal } from './journal.ts'
import type { Notice } from './notice.ts'
import { backoffsOf, type ConnectOptions, type Target } from './options.ts'
import { createPeer } from './peer.ts'
import { isLocal, resolveCard } from './resolve-card.ts'
import { createTalk } from './talk.ts'
import { findWay } from './way.ts'

/** Finds out what an agent speaks, and where, and gives a client that talks to it. */
export async function connect(target: Target, options: ConnectOptions = {}): Promise<Client> {
  const { authorize, onNotice, timeout = 60_000 } = options
  const journal = createJournal()
  const notify = (notice: Notice) => {
    if (notice.type === 'polling') journal.note({ type: 'fallback', detail: notice.message })
    onNotice?.(notice)
  }
  const dialects = allClients.filter(({ name }) => options.dialects?.includes(name) ?? true)
  const bindings = carried.filter((binding) => options.bindings?.includes(binding) ?? true)
  let card: AgentCard | undefined
  let cardUrl: string | undefined
  const explained = (error: unknown) => diagnose(error, { card, cardUrl, hasCredentials: authorize !== undefined })

  const plain = fetchOf(target, options)
  const fetch = authorize ? authorizing(plain, authorize, () => card) : plain
  try {
    const found = await resolveCard(target, { ...options, fetch, journal })
    card = found.card
    cardUrl = found.cardUrl
    const doors = doorsOf(card, { dialects, bindings, ...(found.orElse && { orElse: found.orElse }) })
    if (!doors.some(({ origin }) => origin === 'card')) throw noCommonDoor()
    const declared = doors.filter(({ origin }) => origin === 'card')
    const all = cardUrl === undefined ? doors : [...doors, ...relativeDoors(declared, cardUrl)]
    const open = (door: Door) => openDoor(door, { ...options, fetch })
    const way = findWay({ doors: all, open, journal, notify })
    const peer = createPeer({ card, door: way.door, deduplicates: options.peerDeduplicates })
    const service = createTalk({
      ...backoffsOf(options),
      service: way.service,
      peer,
      timeout,
      notify,
      diagnose: explained,
    })
    return createClient({ card, service, explain: () => journal.explain(way.door()) })
  } catch (error) {
    throw explained(error)
  }
}

/** What this client can carry; gRPC needs more than `fetch`. */
const carried: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']

function fetchOf(target: Target, { fetch = globalThis.fetch }: ConnectOptions): Fetch {
  if (!isLocal(target)) return (url, init) => fetch(url, init)
  return (url, init) => target.fetch(new Request(url, init))
}

function openDoor(
  { binding, url, dialect, tenant }: Door,
  options: Omit<WireClientOptions, 'url' | 'dialect'>,
): Service {
  const create = binding === 'JSONRPC' ? createJsonRpcClient : createRestClient
  return create({ ...options, url, dialect, ...(tenant !== undefined && { tenant }) })
}

function noCommonDoor(): A2AError {
  const problem = 'The card names no way to the agent that this client can go.'
  return new A2AError('unsupported-operation', problem, { reason: 'no-common-door' })
}
