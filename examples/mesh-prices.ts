/**
 * A price agent and a shop find each other through a registry, shake hands and exchange signed requests. A replayed one,
 * an old one and one of a stranger are refused. It checks itself: it ends with an error if anything is otherwise.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  configuredKeys,
  createMeshPeer,
  generateSigningKey,
  type MeshCard,
  type MeshEnvelope,
  type MeshPeer,
  type MeshSigningKey,
  sign,
} from 'parley-a2a/mesh'
import { createGuardedFetch, toListener } from 'parley-a2a/node'
import { createRegistry } from 'parley-a2a/registry'

const [registryKey, priceKey, shopKey, strangerKey] = await Promise.all([
  generateSigningKey(),
  generateSigningKey(),
  generateSigningKey(),
  generateSigningKey(),
])
const keys = await configuredKeys({ registry: registryKey.jwk, 'price-agent': priceKey.jwk, 'shop-agent': shopKey.jwk })

// Everybody is on this machine here; elsewhere createGuardedFetch() keeps the registry out of its own network.
const fetchGuarded = createGuardedFetch({ loopback: 'allow' })
const registry = createRegistry({ key: registryKey, keys, fetch: fetchGuarded })
const registryPlace = await listen(() => registry.peer)

let asked = 0
const pricePlace = await listen(() => price)
const price = createMeshPeer({
  card: { ...cardOf('price-agent', 'prices'), metadata: { endpoint: pricePlace.url } },
  key: priceKey,
  keys,
  methods: {
    get_price({ symbol = 'TEA' }) {
      asked++
      return { symbol, price: 4.25 }
    },
  },
})
const shop = createMeshPeer({ card: cardOf('shop-agent', 'shopping'), key: shopKey, keys })

const priceToRegistry = price.link({ agentId: 'registry', endpoint: registryPlace.url })
await priceToRegistry.handshake()
say('The price agent is registered')

const found = await shop
  .link({ agentId: 'registry', endpoint: registryPlace.url })
  .discover({ capabilities: ['prices'] })
const [seller] = found.agents
assert.equal(found.total_count, 1)
assert.ok(seller)
say(`The shop found ${seller.agent_id}, which is ${seller.status}`)

const link = shop.link({ agentId: seller.agent_id, endpoint: seller.endpoint, fetch: fetchGuarded })
assert.equal((await link.handshake()).state, 'established')
assert.deepEqual(await link.request('get_price', { symbol: 'TEA' }), { symbol: 'TEA', price: 4.25 })
say('They shook hands, and tea costs 4.25')

const id = { message_id: crypto.randomUUID() }
const request = await signed(shopKey, id)
const first = await post(request)
assert.equal(first.status, 200)
assert.equal((await post(request)).text, first.text)
assert.equal(asked, 2)
say('The same request again gets its old answer, and is not done again')

const replayed = await post(await signed(shopKey, id))
assert.deepEqual([replayed.status, replayed.error?.details?.reason], [401, 'REPLAY'])
say('Another request under its id is a replay, and refused')

const sixMinutesAgo = new Date(Date.now() - 360_000).toISOString()
const old = await post(await signed(shopKey, { timestamp: sixMinutesAgo }))
assert.deepEqual([old.status, old.error?.details?.reason], [400, 'STALE'])
say('An old request is refused')

const forged = await post(await signed(strangerKey))
assert.deepEqual([forged.status, forged.error?.code], [401, 'AUTHENTICATION_FAILED'])
say('A stranger with a key of its own is refused')

await link.goodbye({ reason: 'Enough tea.' })
assert.equal(price.sessionWith('shop-agent').state, 'goodbye')
await priceToRegistry.goodbye()
assert.equal((await registry.discover()).total_count, 0)
say('They said goodbye, and the registry is empty')

fetchGuarded.close()
for (const { server } of [registryPlace, pricePlace]) {
  server.closeAllConnections()
  server.close()
}

function cardOf(agentId: string, capability: string): MeshCard {
  return {
    agent_id: agentId,
    name: agentId,
    version: '1.0.0',
    description: `The ${agentId} of this example.`,
    capabilities: [capability],
    supported_protocols: ['A2A/1.0'],
  }
}

/** The peer is asked for late: its card names the address that it gets here. */
async function listen(peer: () => MeshPeer): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(toListener((incoming) => peer().exchange(incoming)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mesh` }
}

/** A request of the shop as it goes over the wire. */
async function signed(
  key: MeshSigningKey,
  more: Partial<Pick<MeshEnvelope, 'message_id' | 'timestamp'>> = {},
): Promise<string> {
  const request: MeshEnvelope = {
    message_id: crypto.randomUUID(),
    message_type: 'request',
    sender_id: 'shop-agent',
    recipient_id: 'price-agent',
    timestamp: new Date().toISOString(),
    payload: { method: 'get_price' },
    correlation_id: null,
    ...more,
  }
  return JSON.stringify(await sign(request, key))
}

async function post(body: string) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(pricePlace.url, { method: 'POST', headers, body })
  const text = await response.text()
  const { payload } = JSON.parse(text) as {
    readonly payload: { readonly error?: { readonly code: string; readonly details?: { readonly reason?: string } } }
  }
  return { status: response.status, text, error: payload.error }
}

function say(sentence: string): void {
  console.info(`✓ ${sentence}.`)
}
