import { AgentCard, type Message, Message as MessageJson, Task, TaskState } from '@a2a-js/sdk'
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from '@a2a-js/sdk/server'

export function sdkCard(origin: string, more: object = {}): AgentCard {
  return AgentCard.fromJSON({
    name: 'Ada',
    description: 'Counts to three',
    version: '2.1.0',
    supportedInterfaces: [
      { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    ],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'count', name: 'Count', description: 'Counts to three', tags: ['numbers'] }],
    ...more,
  })
}

/** The agent of `interop-agent.ts` for the 1.x SDKs. */
export function sdkAgent(): AgentExecutor {
  const canceled = new Set<string>()

  async function execute({ userMessage, task, taskId, contextId }: RequestContext, bus: ExecutionEventBus) {
    const text = textOf(userMessage)
    const message = (text: string, members = {}): Message =>
      MessageJson.fromJSON({
        messageId: crypto.randomUUID(),
        role: 'ROLE_AGENT',
        parts: [{ text }],
        contextId,
        ...members,
      })
    const statusOf = (state: TaskState, text: string) => ({
      state,
      message: message(text, { taskId }),
      timestamp: new Date().toISOString(),
    })
    const status = (state: TaskState, text: string) =>
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: statusOf(state, text), metadata: undefined }))
    const artifact = (text: string, append: boolean, lastChunk: boolean) => {
      const { artifacts } = Task.fromJSON({
        artifacts: [{ artifactId: 'numbers', name: 'numbers', parts: [{ text }] }],
      })
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: artifacts[0],
          append,
          lastChunk,
          metadata: undefined,
        }),
      )
    }

    if (text === 'hello') {
      bus.publish(AgentEvent.message(message('hi')))
      return bus.finished()
    }
    const working = statusOf(TaskState.TASK_STATE_WORKING, 'Counting')
    bus.publish(
      AgentEvent.task({
        ...Task.fromJSON({ id: taskId, contextId }),
        history: task ? task.history : [userMessage],
        artifacts: task?.artifacts ?? [],
        status: working,
      }),
    )
    if (text === 'ask') {
      status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Up to what?')
    } else if (text === 'wait') {
      while (!canceled.has(taskId)) await new Promise((resolve) => setTimeout(resolve, 5))
      status(TaskState.TASK_STATE_CANCELED, 'Stopped')
    } else {
      for (const [n, number] of ['one', 'two', 'three'].entries()) {
        await new Promise((resolve) => setTimeout(resolve, 2))
        artifact(number, n > 0, n === 2)
      }
      status(TaskState.TASK_STATE_COMPLETED, 'Counted')
    }
    bus.finished()
  }

  return { execute, cancelTask: async (taskId) => void canceled.add(taskId) }
}

function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}
