import * as sdk from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import type { WireMessage, WireOutcome, WirePart, WireTask } from '../wire/wire-client.ts'
import type { SdkClient, SdkEvent, SdkSendOptions, SdkTask } from './sdk-client.ts'

type Public<T> = Pick<T, keyof T>

/** The client factory of the 1.x SDKs. */
export interface SdkClientFactory {
  createFromUrl(origin: string, cardPath?: string): Promise<Public<Client>>
  createFromAgentCard(card: sdk.AgentCard): Promise<Public<Client>>
}

export async function sdkFactoryClient(
  factory: SdkClientFactory,
  origin: string,
  cardPath?: string,
): Promise<SdkClient> {
  const client = await factory.createFromUrl(origin, cardPath)
  const card = await client.getAgentCard()
  const capabilities = { ...card.capabilities, pushNotifications: true, extendedAgentCard: true, extensions: [] }
  const deceived = await factory.createFromAgentCard({ ...card, capabilities })
  const tenant = ''
  return {
    card: () => client.getAgentCard(),
    async send(text, sending) {
      const outcome = await client.sendMessage(requestOf(text, sending))
      if ('messageId' in outcome) return { message: textOf(sdk.Message.toJSON(outcome) as WireMessage) }
      return { task: readTask(outcome) }
    },
    stream: (text, sending) => read(client.sendMessageStream(requestOf(text, sending))),
    get: async (id, historyLength) =>
      readTask(await client.getTask(sdk.GetTaskRequest.fromJSON({ id, historyLength }))),
    cancel: async (id) => readTask(await client.cancelTask(sdk.CancelTaskRequest.fromJSON({ id }))),
    subscribe: (id) => read(client.resubscribeTask({ id, tenant })),
    async list(pageSize, pageToken) {
      const { tasks, nextPageToken } = await client.listTasks(sdk.ListTasksRequest.fromJSON({ pageSize, pageToken }))
      return { ids: tasks.map(({ id }) => id), nextPageToken }
    },
    push: {
      create: (taskId) =>
        deceived.createTaskPushNotificationConfig(
          sdk.TaskPushNotificationConfig.fromJSON({ taskId, id: 'c', url: 'https://example.com/hook' }),
        ),
      get: (taskId) => deceived.getTaskPushNotificationConfig({ taskId, id: 'c', tenant }),
      list: (taskId) =>
        deceived.listTaskPushNotificationConfig(sdk.ListTaskPushNotificationConfigsRequest.fromJSON({ taskId })),
      delete: (taskId) => deceived.deleteTaskPushNotificationConfig({ taskId, id: 'c', tenant }),
    },
    extendedCard: () => deceived.getAgentCard(),
  }
}

function requestOf(text: string, { taskId, blocking = true }: SdkSendOptions = {}): sdk.SendMessageRequest {
  return sdk.SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], taskId },
    configuration: { returnImmediately: !blocking },
  })
}

function readTask(task: sdk.Task): SdkTask {
  const { id, status, artifacts = [], history = [] } = sdk.Task.toJSON(task) as WireTask
  return {
    id,
    state: stateOf(status.state),
    artifacts: artifacts.map(({ parts }) => parts.map((part) => textOf({ parts: [part] }))),
    history: history.map(textOf),
  }
}

async function* read(events: AsyncGenerator<sdk.StreamResponse>): AsyncGenerator<SdkEvent> {
  for await (const event of events) {
    const { task, message, statusUpdate, artifactUpdate } = sdk.StreamResponse.toJSON(event) as WireOutcome
    if (task) yield { taskId: task.id, words: `task ${stateOf(task.status.state)}` }
    if (message) yield { taskId: undefined, words: `message: ${textOf(message)}` }
    if (statusUpdate) {
      const { taskId, status } = statusUpdate
      const text = status.message ? `: ${textOf(status.message)}` : ''
      yield { taskId, words: `status ${stateOf(status.state)}${text}` }
    }
    if (artifactUpdate) {
      const { taskId, artifact, append, lastChunk } = artifactUpdate
      yield { taskId, words: `artifact ${textOf(artifact)}${append ? ', more' : ''}${lastChunk ? ', last' : ''}` }
    }
  }
}

function stateOf(state: string): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

function textOf({ parts }: { readonly parts: readonly WirePart[] }): string {
  return parts.map(({ text }) => text).join('')
}
