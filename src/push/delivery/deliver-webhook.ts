import { type Clock, sleep } from '../../base/clock.ts'
import { redactSecrets } from '../../base/error-summary.ts'
import { type Logger, TaskLogger } from '../../base/logger.ts'
import type { StoredEvent } from '../../protocol/events.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Span, Telemetry } from '../../protocol/telemetry.ts'
import type { TaskLog } from '../../tasks/log.ts'
import type { PushSettings } from '../options.ts'
import type { PushStore, StoredWebhook, Webhook } from '../store.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { DeliverySlots } from './concurrency.ts'
import { isFinalEvent, type PayloadEncoder } from './payload.ts'
import { type AttemptResult, encodeRequest, sendRequest } from './send.ts'
import { advanceCursor, afterAttempt, pendingDelivery } from './webhook-state.ts'

/** Longest delay to sleep through, in milliseconds; for longer ones the lease is released until the retry is due. */
const maxSleep = 10_000

/** Number of events that a webhook holds in memory while it waits for a slot. */
const pageSize = 8

/** What all deliveries of this process share. */
export interface DeliveryContext {
  readonly log: TaskLog
  readonly store: PushStore
  readonly encoder: PayloadEncoder
  readonly slots: DeliverySlots
  readonly checkpoints: Checkpoints
  readonly settings: PushSettings
  readonly logger: Logger
  readonly clock: Clock
  readonly telemetry: Telemetry | undefined
  /** Aborts the requests in flight. */
  readonly requestSignal: AbortSignal
}

/** Delivers the events of a task to one webhook, in order, until none is left to send or the signal aborts. */
export async function deliverWebhook(
  leased: StoredWebhook,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<void> {
  const { log, store, encoder, checkpoints, settings, clock, telemetry } = context
  const { taskId } = leased
  let webhook = leased.webhook
  const logger = new TaskLogger(context.logger, { taskId, contextId: webhook.contextId }, webhook.trace)

  function record(changed: Webhook): void {
    webhook = changed
    checkpoints.record(leased, changed)
  }

  /** Back-off bounds how often a webhook fails, and so the number of lines. */
  function logFailure(generation: number, { status, problem = '' }: AttemptResult): void {
    const { host } = new URL(webhook.config.url)
    const next = pendingDelivery(webhook, generation)
    const fields = { webhook: leased.id, host, generation, status, problem: redactSecrets(problem) }
    if (next) logger.warn({ ...fields, attempt: next.attempts }, 'a webhook request failed; it is retried')
    else logger.warn(fields, 'a webhook request failed; the event is given up')
  }

  /** Sends one event, with retries. Returns false if the delivery to this webhook must stop. */
  async function deliver(stored: StoredEvent): Promise<boolean> {
    const { generation } = stored
    for (;;) {
      const previous = pendingDelivery(webhook, generation)
      const delay = (previous?.nextTry ?? 0) - clock.now()
      if (delay > maxSleep) return false
      if (delay > 0) await sleep(delay, signal, clock)
      if (signal.aborted) return false
      const result = await send(stored, (previous?.attempts ?? 0) + 1)
      if (!result) return false
      if (result === 'no-payload') {
        record(advanceCursor(webhook, generation))
        return true
      }
      if (result.isGone) {
        await store.remove(leased)
        telemetry?.record?.({ type: 'push', what: 'gone' })
        logger.info({ webhook: leased.id }, 'removed a webhook because its receiver is gone (410)')
        return false
      }
      const { givenUp } = webhook
      record(afterAttempt(webhook, generation, result, settings, clock.now()))
      if (result.problem !== undefined) logFailure(generation, result)
      if (webhook.givenUp > givenUp) telemetry?.record?.({ type: 'push', what: 'given-up' })
      if (webhook.state === 'paused') {
        telemetry?.record?.({ type: 'push', what: 'paused' })
        const { problem } = result
        logger.warn({ webhook: leased.id, problem }, 'paused a webhook because its receiver keeps failing')
        return false
      }
      if (!pendingDelivery(webhook, generation)) return true
    }
  }

  /**
   * Makes one attempt; undefined if the delivery must stop. The payload is encoded once there is a slot, so that waiting
   * deliveries hold little memory.
   */
  async function send(stored: StoredEvent, attempt: number): Promise<AttemptResult | 'no-payload' | undefined> {
    const { timeout, fetch, sign } = settings
    const { url } = webhook.config
    const slot = await context.slots.acquire(new URL(url).host, url, signal)
    if (!slot) return undefined
    try {
      // No other process may take over the webhook while the request is in flight.
      while (!checkpoints.isHeld(leased, timeout)) {
        if (signal.aborted) return undefined
        await sleep(100, signal, clock)
      }
      const payload = await encoder.encode({ ...leased, webhook }, stored)
      if (!payload) return 'no-payload'
      const { generation } = stored
      const { contextId, trace } = webhook
      const span = telemetry?.begin(
        { type: 'delivery', taskId, contextId, host: new URL(url).host, generation, attempt },
        trace,
      )
      const content = { generation, attempt, trace: span?.trace ?? trace, ...payload }
      const request = encodeRequest(leased, webhook, content)
      const options = { fetch, timeout, signal: context.requestSignal, clock, ...(sign && { sign }) }
      const post = () => sendRequest(request, options)
      const result = await (span ? tracedAttempt(span, post) : post())
      // A request aborted by the shutdown does not count as a failure of the receiver.
      return result.problem !== undefined && context.requestSignal.aborted ? undefined : result
    } finally {
      slot.release()
    }
  }

  async function redrive(generation: number): Promise<boolean> {
    const [stored] = await log.read(taskId, generation - 1)
    if (stored?.generation === generation) return await deliver(stored)
    record(advanceCursor(webhook, generation))
    return true
  }

  let isHeadRead = false
  let isWoken = false
  while (!signal.aborted) {
    const [redriven] = webhook.redriven
    if (redriven) {
      if (!(await redrive(redriven.generation))) return
      continue
    }
    if (webhook.state !== 'active') return
    const page = (await log.read(taskId, webhook.cursor)).slice(0, pageSize)
    for (const stored of page) {
      if (encoder.isDelivered(webhook, stored.event)) {
        if (!(await deliver(stored))) return
      } else webhook = advanceCursor(webhook, stored.generation)
      if (isFinalEvent(stored)) record({ ...webhook, state: 'done' })
      if (signal.aborted || webhook.state !== 'active') break
    }
    if (page.length > 0) {
      isWoken = false
      continue
    }
    // Once is enough: if the task ends later, its final event says so. Woken without events, the task may be removed.
    if (!isHeadRead || isWoken) {
      const head = await log.head(taskId)
      if (!head || head.phase === 'expired') return void (await store.remove(leased))
      if (isEnded(head.phase) && head.generation <= webhook.cursor) return record({ ...webhook, state: 'done' })
      isHeadRead = true
    }
    await log.wait(taskId, webhook.cursor, signal)
    isWoken = true
  }
}

async function tracedAttempt(span: Span, post: () => Promise<AttemptResult>): Promise<AttemptResult> {
  const result = await span.run(post)
  const { status, problem } = result
  if (status !== undefined) span.addDetails({ status })
  span.end(problem === undefined ? undefined : new Error(problem))
  return result
}
