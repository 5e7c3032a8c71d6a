import { createMeshPeer, firstHandshakeKeys, generateSigningKey } from 'parley-a2a/mesh'
import { servePeer } from 'parley-a2a/node'

const card = { name: 'Shop', version: '1.0.0', description: 'Buys tea.', capabilities: ['shopping'] }
const price = await servePeer({
  card: { agent_id: 'price-agent', description: 'Sells tea.' },
  methods: { get_price: async ({ symbol = '' }) => ({ symbol, price: 4.25 }) },
})
const shop = createMeshPeer({
  card: { ...card, agent_id: 'shop-agent', supported_protocols: ['A2A/1.0'] },
  key: await generateSigningKey(),
  firstHandshake: firstHandshakeKeys(),
})
const link = shop.link({ agentId: 'price-agent', endpoint: price.endpoint })
await link.handshake()
console.log(await link.request('get_price', { symbol: 'TEA' }))
await price.close()
