import { A2AClient } from 'a2a-sdk-0-2/client'
import { describe } from 'vitest'
import { peerContract } from '../contracts/peer.ts'
import { kindPeer } from '../support/kind-peer.ts'
import { unwrap, unwrapping } from '../support/rpc-client.ts'

describe('the client of @a2a-js/sdk 0.2.5 over JSON-RPC', () => {
  peerContract({
    async connect(origin, cardPath) {
      const client = new A2AClient(origin, cardPath)
      await client.getAgentCard()
      return kindPeer(unwrapping(client), {
        card: () => client.getAgentCard(),
        push: { get: (id) => unwrap(client.getTaskPushNotificationConfig({ id })) },
      })
    },
    hasFinal: true,
    followedTooLate: 'the task',
    hasExtendedCard: false,
  })
})
