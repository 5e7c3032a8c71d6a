import { type CallAnswer, CallFailed, type CallFailure } from '../../agent/call-agent.ts'
import { A2AError } from '../../protocol/errors.ts'
import { type Task, textOf } from '../../protocol/model.ts'
import { toReply } from '../../protocol/reply.ts'
import type { Outcome } from '../../protocol/service.ts'
import type { TurnSecrets } from '../secrets.ts'

/** Characters of the other agent's text in a failure, which goes into logs and prompts. */
const maxText = 2_000

/** The answer of a call. */
export function answerOf(agent: string, outcome: Outcome): CallAnswer {
  return { ...toReply(outcome), agent }
}

/** The answer of an ended task. Throws unless the task is completed. */
export function answerOfTask(agent: string, task: Task, secrets: TurnSecrets): CallAnswer {
  const { state, message } = task.status
  if (state === 'completed') return answerOf(agent, { type: 'task', task })
  const text = message ? secrets.redact(textOf(message)).slice(0, maxText) : ''
  throw new CallFailed({ agent, state, taskId: task.id, message: `"${agent}" ended as ${state}${text && `: ${text}`}` })
}

/** The failure of a call that got no answer. */
export function failureOf(error: unknown, agent: string, secrets: TurnSecrets): CallFailure {
  const message = secrets.redact(error instanceof Error ? error.message : String(error)).slice(0, maxText)
  if (!(error instanceof A2AError)) return { agent, message: `"${agent}" could not be asked: ${message}` }
  const { code, metadata } = error
  const { reason } = metadata
  return { agent, message: `"${agent}" gave no answer: ${message}`, code, ...(reason !== undefined && { reason }) }
}
