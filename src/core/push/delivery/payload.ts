import type { PushFormat, PushKind, ServerDialect } from '../../dialects/dialect.ts'
import { eventForReader } from '../../dialects/reader-form.ts'
import type { StoredEvent, StreamEvent, TaskEvent } from '../../protocol/events.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { type FoldedLog, foldUntil, isClosing, toClosingUpdate } from '../../tasks/fold.ts'
import type { StoredWebhook, Webhook } from '../store.ts'

export interface PayloadEncoderOptions {
  readonly log: FoldedLog
  readonly dialects: readonly [ServerDialect, ...ServerDialect[]]
  /** Events to send. Defaults to the usual ones of each dialect. */
  readonly events?: readonly PushKind[]
}

/** An event, encoded in the dialect of a webhook. */
export interface EncodedPayload {
  readonly contentType: string
  readonly body: string
}

export interface PayloadEncoder {
  /** The payload format of a dialect. */
  formOf(dialect: string | undefined): PushFormat
  /** Whether this webhook receives the event. */
  isDelivered(webhook: Webhook, event: TaskEvent): boolean
  /** Undefined if the event has no payload, for example because its task was erased. */
  encode(target: StoredWebhook, stored: StoredEvent): Promise<EncodedPayload | undefined>
}

export function createPayloadEncoder({ log, dialects, events }: PayloadEncoderOptions): PayloadEncoder {
  const dialectOf = (name: string | undefined) => dialects.find((dialect) => dialect.name === name) ?? dialects[0]
  const formOf = (name: string | undefined) => dialectOf(name).pushFormat

  async function eventOf(
    form: PushFormat,
    target: StoredWebhook,
    stored: StoredEvent,
  ): Promise<StreamEvent | undefined> {
    if (!form.sendsTask(stored.event)) return streamEventOf(target, stored)
    const fold = await foldUntil(log, { ...target, contextId: target.webhook.contextId }, stored.generation)
    const task = fold.task()
    return task && { type: 'task', task }
  }

  return {
    formOf,
    isDelivered({ dialect }, event) {
      const { kinds, defaultKinds } = formOf(dialect)
      const selected = events ? events.filter((kind) => kinds.includes(kind)) : defaultKinds
      return isAmong(selected, event)
    },
    async encode(target, stored) {
      const { dialect, alias = target.taskId, knowsRequests } = target.webhook
      const { pushFormat: form, hasInputRequests } = dialectOf(dialect)
      const event = await eventOf(form, target, stored)
      if (!event) return undefined
      const reader = { hasPlainQuestions: !knowsRequests, hasAnswerArtifacts: true }
      const readable = hasInputRequests ? event : eventForReader(event, reader)
      return { contentType: form.contentType, body: JSON.stringify(form.encode(readable, alias)) }
    },
  }
}

/** Whether no further event is delivered after this one. */
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
      return { ...(isClosing(event) ? toClosingUpdate(event) : event), ...ref }
    case 'reply':
      return event.message && { type: 'message', message: event.message, isLast: true }
    case 'message':
    case 'cancel':
    case 'journal':
      return undefined
  }
}

function isAmong(kinds: readonly PushKind[], event: TaskEvent): boolean {
  switch (event.type) {
    case 'status': {
      const { state } = event.status
      return kinds.includes('status') || (kinds.includes('rest') && (isEnded(state) || isInterrupted(state)))
    }
    case 'artifact':
      return kinds.includes('artifact')
    case 'reply':
      return event.message !== undefined && kinds.includes('message')
    case 'message':
    case 'cancel':
    case 'journal':
      return false
  }
}
