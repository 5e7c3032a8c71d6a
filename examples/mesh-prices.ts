/**
 * A shop finds a price agent through a registry; they shake hands and exchange signed requests. Replayed requests, old ones
 * and those signed with an unknown key are refused. The example asserts its own results.
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
  signEnvelope,
} from 'parley-a2a/mesh'
import { createGuardedFetch, toListener } from 'parley-a2a/node'
import { createRegistry } from 'parley-a2a/registry'

const [registryKey, priceKey, shopKey, unknownKey] = await Promise.all([
  generateSigningKey(),
  generateSigningKey(),
  generateSigningKey(),
  generateSigningKey(),
])
const keys = await configuredKeys({ registry: registryKey.jwk, 'price-agent': priceKey.jwk, 'shop-agent': shopKey.jwk })

// All agents run on this machine. Elsewhere, createGuardedFetch() keeps the registry from calling private addresses.
const guardedFetch = createGuardedFetch({ loopback: 'allow' })
const registry = createRegistry({ key: registryKey, keys, fetch: guardedFetch })
const registryServer = await listen(() => registry.peer)

let requestCount = 0
const priceServer = await listen(() => price)
const price = createMeshPeer({
  card: { ...cardOf('price-agent', 'prices'), metadata: { endpoint: priceServer.url } },
  key: priceKey,
  keys,
  methods: {
    get_price({ symbol = 'TEA' }) {
      requestCount++
      return { symbol, price: 4.25 }
    },
  },
})
const shop = createMeshPeer({ card: cardOf('shop-agent', 'shopping'), key: shopKey, keys })

const priceToRegistry = price.link({ agentId: 'registry', endpoint: registryServer.url })
await priceToRegistry.handshake()
log('The price agent is registered')

const result = await shop
  .link({ agentId: 'registry', endpoint: registryServer.url })
  .discover({ capabilities: ['prices'] })
const [seller] = result.agents
assert.equal(result.total_count, 1)
assert.ok(seller)
log(`The shop found ${seller.agent_id}, which is ${seller.status}`)

const link = shop.link({ agentId: seller.agent_id, endpoint: seller.endpoint, fetch: guardedFetch })
assert.equal((await link.handshake()).state, 'established')
assert.deepEqual(await link.request('get_price', { symbol: 'TEA' }), { symbol: 'TEA', price: 4.25 })
log('The shop and the price agent shook hands, and tea costs 4.25')

const id = { message_id: crypto.randomUUID() }
const request = await signedRequest(shopKey, id)
const first = await post(request)
assert.equal(first.status, 200)
assert.equal((await post(request)).text, first.text)
assert.equal(requestCount, 2)
log('The same request again returns the stored response and is not executed again')

const replay = await post(await signedRequest(shopKey, id))
assert.deepEqual([replay.status, replay.error?.details?.reason], [401, 'REPLAY'])
log('Another request with the same id is refused as a replay')

const sixMinutesAgo = new Date(Date.now() - 360_000).toISOString()
const old = await post(await signedRequest(shopKey, { timestamp: sixMinutesAgo }))
assert.deepEqual([old.status, old.error?.details?.reason], [400, 'STALE'])
log('An old request is refused')

const forged = await post(await signedRequest(unknownKey))
assert.deepEqual([forged.status, forged.error?.code], [401, 'AUTHENTICATION_FAILED'])
log('A request signed with an unknown key is refused')

await link.goodbye({ reason: 'Enough tea.' })
assert.equal(price.sessionWith('shop-agent').state, 'goodbye')
await priceToRegistry.goodbye()
assert.equal((await registry.discover()).total_count, 0)
log('Both agents said goodbye, and the registry is empty')

guardedFetch.close()
for (const { server } of [registryServer, priceServer]) {
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

/** Takes a function because the peer's card contains the URL that is only known here. */
async function listen(peer: () => MeshPeer): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(toListener((incoming) => peer().exchange(incoming)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mesh` }
}

/** A signed request of the shop in wire form. */
async function signedRequest(
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
  return JSON.stringify(await signEnvelope(request, key))
}

async function post(body: string) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(priceServer.url, { method: 'POST', headers, body })
  const text = await response.text()
  const { payload } = JSON.parse(text) as {
    readonly payload: { readonly error?: { readonly code: string; readonly details?: { readonly reason?: string } } }
  }
  return { status: response.status, text, error: payload.error }
}

function log(sentence: string): void {
  console.info(`✓ ${sentence}.`)
}
