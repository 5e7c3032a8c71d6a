import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { configuredKeys, createMeshPeer, importSigningKey } from 'parley-a2a/mesh'
import { toListener } from 'parley-a2a/node'
import { WebSocketServer } from 'ws'
import { meshCard } from '../mesh-card.ts'
import { control } from './control.ts'

/** A peer that answers signed requests. Arguments: its own key and the caller's. */
const [ownKey = '', callerKey = ''] = process.argv.slice(2)

const peer = createMeshPeer({
  card: meshCard('price-agent'),
  key: await importSigningKey(JSON.parse(ownKey)),
  keys: await configuredKeys({ 'shop-agent': JSON.parse(callerKey) }),
  rateLimit: { take: () => 0 },
  methods: { get_price: ({ symbol }) => ({ symbol: symbol ?? '', price: 4.25, currency: 'EUR' }) },
})

const server = createServer(toListener(peer.exchange))
new WebSocketServer({ server }).on('connection', (socket) => peer.accept(socket))
server.listen(0, '127.0.0.1', () => control((server.address() as AddressInfo).port))
