import type { PushedKind, PushFormat, ServerDialect } from '../../dialects/dialect.ts'
import { expandInputRequestsInEvent } from '../../dialects/input-requests.ts'
import type { StoredEvent, StreamEvent, TaskEvent } from '../../protocol/events.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { type FoldedLog, foldUntil } from '../../tasks/fold.ts'
import type { StoredWebhook, Webhook } from '../store.ts'

export interface TellingOptions {
  readonly log: FoldedLog
  readonly dialects: readonly [ServerDialect, ...ServerDialect[]]
  /** What every dialect usually tells, unless it is said here. */
  readonly events?: readonly PushedKind[]
}

/** An event in the words of a webhook's dialect. */
export interface Told {
  readonly contentType: string
  readonly body: string
}

export interface PayloadEncoder {
  /** How webhooks of this dialect are told. */
  formOf(dialect: string | undefined): PushFormat
  isDelivered(webhook: Webhook, event: TaskEvent): boolean
  /** Undefined if the event cannot be told any more. */
  encode(to: StoredWebhook, stored: StoredEvent): Promise<Told | undefined>
}

export function createPayloadEncoder({ log, dialects, events }: TellingOptions): PayloadEncoder {
  const dialectOf = (name: string | undefined) => dialects.find((each) => each.name === name) ?? dialects[0]
  const formOf = (name: string | undefined) => dialectOf(name).pushFormat

  async function subjectOf(form: PushFormat, to: StoredWebhook, stored: StoredEvent): Promise<StreamEvent | undefined> {
    if (!form.sendsTask) return streamEventOf(to, stored)
    const fold = await foldUntil(log, { ...to, contextId: to.webhook.contextId }, stored.generation)
    const task = fold.task()
    return task && { type: 'task', task }
  }

  return {
    formOf,
    isDelivered({ dialect }, event) {
      const { kinds, defaultKinds } = formOf(dialect)
      const chosen = events ? events.filter((kind) => kinds.includes(kind)) : defaultKinds
      return isOf(chosen, event)
    },
    async encode(to, stored) {
      const { dialect, alias = to.taskId, knowsRequests } = to.webhook
      const { pushFormat: form, hasInputRequests } = dialectOf(dialect)
      const subject = await subjectOf(form, to, stored)
      if (!subject) return undefined
      const told = knowsRequests || hasInputRequests ? subject : expandInputRequestsInEvent(subject)
      return { contentType: form.contentType, body: JSON.stringify(form.encode(told, alias)) }
    },
  }
}

/** Nothing is told after it. */
export function isFinalEvent({ event }: StoredEvent): boolean {
  return event.type === 'reply' || (event.type === 'status' && isEnded(event.status.state))
}

function streamEventOf(
  { taskId, webhook }: StoredWebhook,
  { generation, event }: StoredEvent,
): StreamEvent | undefined {
  const ref = { taskId, contextId: webhook.contextId, generation }
  switch (event.type) {
    case 'status': {
      const { state } = event.status
      return { ...event, ...ref, isLast: isEnded(state) || state === 'input-required' }
    }
    case 'artifact':
      return { ...event, ...ref }
    case 'reply':
      return { type: 'message', message: event.message, isLast: true }
    case 'message':
    case 'cancel':
    case 'journal':
      return undefined
  }
}

function isOf(kinds: readonly PushedKind[], event: TaskEvent): boolean {
  switch (event.type) {
    case 'status': {
      const { state } = event.status
      return kinds.includes('status') || (kinds.includes('rest') && (isEnded(state) || isInterrupted(state)))
    }
    case 'artifact':
      return kinds.includes('artifact')
    case 'reply':
      return kinds.includes('message')
    case 'message':
    case 'cancel':
    case 'journal':
      return false
  }
}
