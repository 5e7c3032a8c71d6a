import type { Json } from '../base/json.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import { type Message, textOf } from '../protocol/model.ts'
import type { Reply } from '../protocol/reply.ts'
import type { MessageSender } from './conversation.ts'
import type { Input, SendOptions } from './send-request.ts'

/** Sends the input of a skill as data. Returns the data of the answer, or its text if it has no data. */
export async function callSkill(
  client: Pick<MessageSender, 'send'>,
  id: string,
  input: unknown,
  options: SendOptions | undefined,
): Promise<unknown> {
  return outputOf(await client.send(toInput(input), { ...options, skill: id }), id)
}

/** The output of a skill: the data of its message; or of the final status of its task; or of its last artifact. */
export function outputOf(reply: Reply, id: string): unknown {
  if (reply.type === 'message') return dataIn(reply.message) ?? reply.text
  const { task, text } = reply
  const { state, message } = task.status
  if (state !== 'completed') throw notCompleted(id, reply)
  const artifactData = reply.artifacts.flatMap(({ data }) => data).at(-1)
  return (message && dataIn(message)) ?? artifactData ?? text
}

function toInput(input: unknown): Input {
  if (input === undefined) throw invalidParams('input', 'expected the input of the skill, got undefined')
  // A value that JSON cannot hold is rejected when the request is encoded.
  return typeof input === 'string' ? input : { data: input as Json, mediaType: 'application/json' }
}

function dataIn({ parts }: Message): Json | undefined {
  for (const part of parts) if ('data' in part) return part.data
  return undefined
}

function notCompleted(id: string, { task, text }: Extract<Reply, { type: 'task' }>): A2AError {
  const { state, message } = task.status
  const detail = message ? textOf(message) : text
  const problem = `The skill "${id}" did not complete its task, which is ${state}${detail ? `: ${detail}` : '.'}`
  const isInterrupted = state === 'input-required' || state === 'auth-required'
  return new A2AError(isInterrupted ? 'unsupported-operation' : 'tool-failed', problem, {
    reason: `task-${state}`,
    hint: isInterrupted ? `Answer by client.send(…, { taskId: '${task.id}' }).` : undefined,
    metadata: { taskId: task.id, state },
  })
}
