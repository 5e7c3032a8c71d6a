import { A2AClient } from 'a2a-sdk-0-2/client'
import { describe } from 'vitest'
import { sdkClientContract } from '../contracts/sdk-client.ts'
import { unwrapResult, unwrapResults } from '../support/sdk/json-rpc-results.ts'
import { legacySdkClient } from '../support/sdk/legacy-client.ts'

describe('the client of @a2a-js/sdk 0.2.5 over JSON-RPC', () => {
  sdkClientContract({
    async connect(origin, cardPath) {
      const client = new A2AClient(origin, cardPath)
      await client.getAgentCard()
      return legacySdkClient(unwrapResults(client), {
        card: () => client.getAgentCard(),
        push: { get: (id) => unwrapResult(client.getTaskPushNotificationConfig({ id })) },
      })
    },
    hasFinal: true,
    lateSubscription: 'the task',
    hasExtendedCard: false,
  })
})
