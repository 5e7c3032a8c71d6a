import { type CallAnswer, CallFailed, type CallFailure } from '../../agent/call-agent.ts'
import type { AgentEvents } from '../../agent/turn-output.ts'
import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { ArtifactEvent, StatusEvent } from '../../protocol/events.ts'
import { lineageExtension } from '../../protocol/extensions/lineage.ts'
import { type Message, type Part, type Task, type TaskState, textOf } from '../../protocol/model.ts'
import type { Journal } from '../recovery/journal.ts'
import type { TurnSecrets } from '../secrets.ts'

/** What the other agent says may be long, and goes into logs and prompts. */
const longestText = 2_000

/** A task of another agent, for our own caller. */
export interface ChildTaskLink {
  readonly agent: string
  readonly taskId: string
  readonly contextId?: string | undefined
}

export interface ForwardedEvent {
  readonly link: ChildTaskLink
  readonly parts?: readonly Part[]
  /** Of the other agent. */
  readonly message?: Message | undefined
  readonly childState?: TaskState
}

/** A status of ours that tells what the other agent says, and where. */
export function forwardedStatus(
  voice: AgentEvents,
  state: 'working' | 'input-required' | 'auth-required',
  told: ForwardedEvent,
): StatusEvent {
  const { link, message, childState = state } = told
  const metadata = linked(link, childState, message?.metadata)
  const event = voice.status(state, told.parts)
  const own = event.status.message
  if (!own) return { ...event, metadata }
  const { [lineageExtension]: _, ...beside } = message?.metadata ?? {}
  const said: Message = {
    ...own,
    referenceTaskIds: [link.taskId],
    metadata: { ...beside, ...metadata },
    ...(message?.extensions && { extensions: message.extensions }),
  }
  return { ...event, status: { ...event.status, message: said }, metadata }
}

/** An artifact of the other agent as one of ours. The same again replaces it. */
export function relayedArtifact({ artifact, append, lastChunk }: ArtifactEvent, link: ChildTaskLink): ArtifactEvent {
  const metadata = { ...artifact.metadata, ...linked(link, 'working', artifact.metadata) }
  const artifactId = `${link.taskId}-${artifact.artifactId}`
  return {
    type: 'artifact',
    artifact: { ...artifact, artifactId, metadata },
    ...(append !== undefined && { append }),
    ...(lastChunk !== undefined && { lastChunk }),
  }
}

export function failureOf(error: unknown, agent: string, secrets: TurnSecrets): CallFailure {
  const message = secrets.redact(error instanceof Error ? error.message : String(error)).slice(0, longestText)
  if (!(error instanceof A2AError)) return { agent, message: `"${agent}" could not be asked: ${message}` }
  const { code, metadata } = error
  const reason = metadata.reason
  return { agent, message: `"${agent}" gave no answer: ${message}`, code, ...(reason !== undefined && { reason }) }
}

/** The answer that a task has come to; throws if it has come to none. */
export function outcomeOf(agent: string, task: Task, secrets: TurnSecrets): CallAnswer {
  const { state, message } = task.status
  if (state === 'completed') return answerIn(agent, { task })
  const said = message ? secrets.redact(textOf(message)).slice(0, longestText) : ''
  throw new CallFailed({ agent, state, taskId: task.id, message: `"${agent}" ended as ${state}${said && `: ${said}`}` })
}

/** Whether a turn has asked other agents that have not come to an end, as far as its journal knows. */
export function hasOpenCalls({ steps }: Pick<Journal, 'steps'>): boolean {
  const open = new Set<string>()
  for (const { value } of steps.values()) {
    const [, call, stage] = /^(.*): (send|follow)$/s.exec(value.step) ?? []
    if (call === undefined || !isObject(value.result)) continue
    if (stage === 'send' && 'link' in value.result) open.add(call)
    if (stage === 'follow' && !('asks' in value.result)) open.delete(call)
  }
  return open.size > 0
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

/** What the steps of a call give. All of it is stored in durable turns. */

export interface SendKeys {
  readonly messageId: string
  readonly idempotencyKey: string
  readonly contextId?: string
  /** Milliseconds since 1970. */
  readonly deadline?: number
}

export interface FailedResult {
  readonly failed: CallFailure
}

export type SendResult =
  | FailedResult
  | { readonly agent: string; readonly message: Message }
  | { readonly link: ChildTaskLink }

export interface ChildQuestion {
  readonly asks: 'input-required' | 'auth-required'
  readonly question?: Message
  /** Its place among the questions of the turn. */
  readonly ticket: number
}

export type FollowResult = FailedResult | { readonly task: Task } | ChildQuestion

/** What stands behind the other agent's task stays behind it. */
function linked(
  { agent, taskId, contextId }: ChildTaskLink,
  state: TaskState,
  theirs: JsonObject | undefined,
): JsonObject {
  const children = childrenIn(theirs?.[lineageExtension])
  const child: JsonObject = {
    agent,
    taskId,
    ...(contextId !== undefined && { contextId }),
    state,
    ...(children.length > 0 && { children }),
  }
  return { [lineageExtension]: { children: [child] } }
}

function childrenIn(told: Json | undefined): readonly Json[] {
  if (typeof told !== 'object' || told === null || !('children' in told)) return []
  const { children } = told
  return Array.isArray(children) ? children.slice(0, 64) : []
}
