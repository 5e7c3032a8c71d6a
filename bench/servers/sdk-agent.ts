import { type AgentCard, type Part, Role, type Task, TaskState } from '@a2a-js/sdk'
import { AgentEvent, type AgentExecutor } from '@a2a-js/sdk/server'
import { chunkOf, readPlan } from './plan.ts'

/** The benchmark agent for the official SDK. */
export const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const { content } = userMessage.parts[0] ?? {}
    const plan = content?.$case === 'text' ? readPlan(content.value) : undefined
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() })
    const task: Task = {
      id: taskId,
      contextId,
      status: status(TaskState.TASK_STATE_WORKING),
      artifacts: [],
      history: [{ ...userMessage, role: Role.ROLE_USER, taskId, contextId }],
      metadata: undefined,
    }
    bus.publish(AgentEvent.task(task))

    const { chunks, bytes } = plan ?? { chunks: 1, bytes: 0 }
    const artifactId = crypto.randomUUID()
    for (let number = 1; number <= chunks; number++) {
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: {
            artifactId,
            name: number === 1 ? 'output' : '',
            description: '',
            parts: [textPart(plan ? chunkOf(number, bytes) : 'Hello from the bench')],
            metadata: undefined,
            extensions: [],
          },
          append: number > 1,
          lastChunk: number === chunks,
          metadata: undefined,
        }),
      )
      // The SDK's bus has no back-pressure to await; an event loop turn lets the reader read.
      if (plan) await new Promise((resolve) => setImmediate(resolve))
    }
    const completed = status(TaskState.TASK_STATE_COMPLETED)
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, metadata: undefined }))
    bus.finished()
  },
  async cancelTask() {},
}

export const card: AgentCard = {
  name: 'Bench',
  description: '',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
}

function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }
}
