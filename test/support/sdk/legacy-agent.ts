import type { AgentCard, Message, Part, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from 'a2a-sdk-0-3-last'

type Event = Message | Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent

interface Bus {
  publish(event: Event): void
  finished(): void
}

interface Context {
  readonly userMessage: Message
  readonly task?: Task
  readonly taskId: string
  readonly contextId: string
}

export function legacySdkCard(origin: string, more: Partial<AgentCard> = {}): AgentCard {
  return {
    name: 'Ada',
    description: 'Counts to three',
    version: '2.1.0',
    protocolVersion: '0.3.0',
    url: `${origin}/`,
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'count', name: 'Count', description: 'Counts to three', tags: ['numbers'] }],
    ...more,
  }
}

/** The agent of `interop-agent.ts` for the 0.2 and 0.3 SDKs. */
export function legacySdkAgent() {
  const canceled = new Set<string>()

  async function execute({ userMessage, task, taskId, contextId }: Context, bus: Bus): Promise<void> {
    const text = userMessage.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
    const message = (text: string): Message => ({
      kind: 'message',
      messageId: crypto.randomUUID(),
      role: 'agent',
      parts: [{ kind: 'text', text }],
      taskId,
      contextId,
    })
    const status = (state: TaskStatusUpdateEvent['status']['state'], text: string, final = false) =>
      bus.publish({
        kind: 'status-update',
        taskId,
        contextId,
        status: { state, message: message(text), timestamp: new Date().toISOString() },
        final,
      })
    const artifact = (text: string, append: boolean, lastChunk: boolean) => {
      const parts: Part[] = [{ kind: 'text', text }]
      const content = { artifactId: 'numbers', name: 'numbers', parts }
      bus.publish({ kind: 'artifact-update', taskId, contextId, artifact: content, append, lastChunk })
    }

    if (text === 'hello') {
      const { taskId: _, ...answer } = message('hi')
      bus.publish(answer)
      return bus.finished()
    }
    if (!task) {
      const submitted = { state: 'submitted' as const, timestamp: new Date().toISOString() }
      bus.publish({ kind: 'task', id: taskId, contextId, status: submitted, history: [userMessage], artifacts: [] })
    }
    status('working', 'Counting')
    if (text === 'ask') {
      status('input-required', 'Up to what?', true)
    } else if (text === 'wait') {
      while (!canceled.has(taskId)) await new Promise((resolve) => setTimeout(resolve, 5))
      status('canceled', 'Stopped', true)
    } else {
      for (const [n, number] of ['one', 'two', 'three'].entries()) {
        await new Promise((resolve) => setTimeout(resolve, 2))
        artifact(number, n > 0, n === 2)
      }
      status('completed', 'Counted', true)
    }
    bus.finished()
  }

  return { execute, cancelTask: async (taskId: string) => void canceled.add(taskId) }
}
