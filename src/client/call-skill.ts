import type { Json } from '../base/json.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import { type Message, textOf } from '../protocol/model.ts'
import type { Speaker } from './conversation.ts'
import type { Reply } from './reply.ts'
import type { Input, SendOptions } from './send-request.ts'

/** Sends a skill what it takes, as data, and gives the data of its answer, or the text if it has none. */
export async function callSkill(
  client: Pick<Speaker, 'send'>,
  id: string,
  input: unknown,
  options: SendOptions | undefined,
): Promise<unknown> {
  return outputOf(await client.send(toInput(input), { ...options, skill: id }), id)
}

/** What a skill has given: the data of its message; or of the last word of its task; or of its last artifact. */
export function outputOf(reply: Reply, id: string): unknown {
  if (reply.type === 'message') return dataIn(reply.message) ?? reply.text
  const { task, text } = reply
  const { state, message } = task.status
  if (state !== 'completed') throw notDone(id, reply)
  const [written] = reply.artifacts.flatMap(({ data }) => data).slice(-1)
  return (message && dataIn(message)) ?? written ?? text
}

function toInput(input: unknown): Input {
  if (input === undefined) throw invalidParams('input', 'expected what the skill takes, got undefined')
  // Whatever JSON cannot hold is refused where it becomes JSON.
  return typeof input === 'string' ? input : { data: input as Json, mediaType: 'application/json' }
}

function dataIn({ parts }: Message): Json | undefined {
  for (const part of parts) if ('data' in part) return part.data
  return undefined
}

function notDone(id: string, { task, text }: Extract<Reply, { type: 'task' }>): A2AError {
  const { state, message } = task.status
  const said = message ? textOf(message) : text
  const problem = `The skill "${id}" did not complete its task, which is ${state}${said ? `: ${said}` : '.'}`
  const isWaiting = state === 'input-required' || state === 'auth-required'
  const hint = isWaiting ? `Answer by client.send(…, { taskId: '${task.id}' }).` : undefined
  const metadata = { taskId: task.id, state }
  return new A2AError(isWaiting ? 'unsupported-operation' : 'tool-failed', problem, {
    reason: `task-${state}`,
    hint,
    metadata,
  })
}
