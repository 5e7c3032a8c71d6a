import { CallFailed, type CallFailure } from '../../agent/call-failed.ts'
import type { CallAnswer } from '../../agent/calling.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Message, Task } from '../../protocol/model.ts'
import { textOf } from '../../protocol/parts.ts'
import type { TurnSecrets } from '../scrub.ts'
import type { Link } from './link.ts'

/** What the steps of a call give. All of it is stored in durable turns. */

export interface Keys {
  readonly messageId: string
  readonly idempotencyKey: string
  readonly contextId?: string
  /** Milliseconds since 1970. */
  readonly deadline?: number
}

export interface Failed {
  readonly failed: CallFailure
}

export type Sent = Failed | { readonly agent: string; readonly message: Message } | { readonly link: Link }

export type Followed = Failed | { readonly task: Task } | Asked

export interface Asked {
  readonly asks: 'input-required' | 'auth-required'
  readonly question?: Message
  /** Its place among the questions of the turn. */
  readonly ticket: number
}

/** What the other agent says may be long, and goes into logs and prompts. */
const longestText = 2_000

export function failureOf(error: unknown, agent: string, secrets: TurnSecrets): CallFailure {
  const message = secrets.scrub(error instanceof Error ? error.message : String(error)).slice(0, longestText)
  if (!(error instanceof A2AError)) return { agent, message: `"${agent}" could not be asked: ${message}` }
  const { code, metadata } = error
  const reason = metadata.reason
  return { agent, message: `"${agent}" gave no answer: ${message}`, code, ...(reason !== undefined && { reason }) }
}

export function answerIn(agent: string, { task, message }: { readonly task?: Task; readonly message?: Message }) {
  const artifacts = task?.artifacts ?? []
  const said = message ?? task?.status.message
  const written = artifacts.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join(''))
  const contextId = task?.contextId ?? message?.contextId
  const answer: CallAnswer = {
    agent,
    text: written.filter((text) => text !== '').join('\n') || (said ? textOf(said) : ''),
    artifacts,
    ...(contextId !== undefined && { contextId }),
    ...(task && { task }),
    ...(message && { message }),
  }
  return answer
}

/** The answer that a task has come to; throws if it has come to none. */
export function outcomeOf(agent: string, task: Task, secrets: TurnSecrets): CallAnswer {
  const { state, message } = task.status
  if (state === 'completed') return answerIn(agent, { task })
  const said = message ? secrets.scrub(textOf(message)).slice(0, longestText) : ''
  throw new CallFailed({ agent, state, taskId: task.id, message: `"${agent}" ended as ${state}${said && `: ${said}`}` })
}
