import type { AgentCard, PushNotificationConfig } from 'a2a-sdk-0-3-last'
import type { Client } from 'a2a-sdk-0-3-last/client'
import { legacySdkClient } from './legacy-client.ts'
import type { SdkClient } from './sdk-client.ts'

type Public<T> = Pick<T, keyof T>

/** The client factory of the SDKs from 0.3.5 on. */
export interface LegacyClientFactory {
  createFromUrl(origin: string, cardPath?: string): Promise<Public<Client>>
  createFromAgentCard(card: AgentCard): Promise<Public<Client>>
}

const pushNotificationConfig: PushNotificationConfig = { id: 'c', url: 'https://example.com/hook' }

export async function legacyFactoryClient(
  factory: LegacyClientFactory,
  origin: string,
  cardPath?: string,
): Promise<SdkClient> {
  const client = await factory.createFromUrl(origin, cardPath)
  const card = await client.getAgentCard()
  const capabilities = { ...card.capabilities, pushNotifications: true }
  // A client that believes the agent supports push and an extended card.
  const unrestricted = await factory.createFromAgentCard({
    ...card,
    capabilities,
    supportsAuthenticatedExtendedCard: true,
  })
  return legacySdkClient(client, {
    card: () => client.getAgentCard(),
    push: {
      set: (taskId) => unrestricted.setTaskPushNotificationConfig({ taskId, pushNotificationConfig }),
      get: (id) => unrestricted.getTaskPushNotificationConfig(configOf(id)),
      list: (id) => unrestricted.listTaskPushNotificationConfig({ id }),
      delete: (id) => unrestricted.deleteTaskPushNotificationConfig(configOf(id)),
    },
    extendedCard: () => unrestricted.getAgentCard(),
  })
}

function configOf(id: string) {
  return { id, pushNotificationConfigId: 'c' }
}
