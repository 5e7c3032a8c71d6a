import type {
  Message,
  MessageSendParams,
  Part,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from 'a2a-sdk-0-3-last'
import type { SdkClient, SdkEvent, SdkSendOptions, SdkTask } from './sdk-client.ts'

type KindEvent = Message | Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent

/** The common interface of the 0.2 and 0.3 clients, whose objects have a `kind`. */
export interface LegacyClient {
  sendMessage(params: MessageSendParams): Promise<Message | Task>
  sendMessageStream(params: MessageSendParams): AsyncGenerator<KindEvent>
  getTask(params: { id: string; historyLength?: number }): Promise<Task>
  cancelTask(params: { id: string }): Promise<Task>
  resubscribeTask(params: { id: string }): AsyncGenerator<KindEvent>
}

export function legacySdkClient(
  client: LegacyClient,
  more: Pick<SdkClient, 'card' | 'push' | 'extendedCard'>,
): SdkClient {
  return {
    ...more,
    async send(text, sending) {
      const outcome = await client.sendMessage(paramsOf(text, sending))
      return outcome.kind === 'task' ? { task: readTask(outcome) } : { message: textOf(outcome.parts) }
    },
    stream: (text, sending) => read(client.sendMessageStream(paramsOf(text, sending))),
    get: async (id, historyLength) =>
      readTask(await client.getTask({ id, ...(historyLength !== undefined && { historyLength }) })),
    cancel: async (id) => readTask(await client.cancelTask({ id })),
    subscribe: (id) => read(client.resubscribeTask({ id })),
  }
}

function paramsOf(text: string, { taskId, blocking }: SdkSendOptions = {}): MessageSendParams {
  const parts: Part[] = [{ kind: 'text', text }]
  return {
    message: { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts, ...(taskId && { taskId }) },
    ...(blocking !== undefined && { configuration: { acceptedOutputModes: ['text/plain'], blocking } }),
  }
}

function readTask({ id, status, artifacts = [], history = [] }: Task): SdkTask {
  return {
    id,
    state: status.state,
    artifacts: artifacts.map(({ parts }) => parts.map((part) => textOf([part]))),
    history: history.map(({ parts }) => textOf(parts)),
  }
}

async function* read(events: AsyncGenerator<KindEvent>): AsyncGenerator<SdkEvent> {
  for await (const event of events) {
    yield { taskId: event.kind === 'task' ? event.id : event.taskId, words: wordsOf(event) }
  }
}

function wordsOf(event: KindEvent): string {
  switch (event.kind) {
    case 'message':
      return `message: ${textOf(event.parts)}`
    case 'task':
      return `task ${event.status.state}`
    case 'status-update': {
      const text = event.status.message ? `: ${textOf(event.status.message.parts)}` : ''
      return `status ${event.status.state}${text}${event.final ? ', final' : ''}`
    }
    case 'artifact-update': {
      const { artifact, append, lastChunk } = event
      return `artifact ${textOf(artifact.parts)}${append ? ', more' : ''}${lastChunk ? ', last' : ''}`
    }
  }
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : part.kind)).join('')
}
