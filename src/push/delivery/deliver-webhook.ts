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
import { type EncodedPayload, isFinalEvent, type PayloadEncoder } from './payload.ts'
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
  await new WebhookDelivery(leased, context, signal).run()
}

/** One webhook whose lease this process holds. */
class WebhookDelivery {
  readonly #leased: StoredWebhook
  readonly #context: DeliveryContext
  readonly #signal: AbortSignal
  readonly #logger: TaskLogger
  /** As it is after the last attempt, stored or not. */
  #webhook: Webhook

  constructor(leased: StoredWebhook, context: DeliveryContext, signal: AbortSignal) {
    const { taskId, webhook } = leased
    this.#leased = leased
    this.#context = context
    this.#signal = signal
    this.#webhook = webhook
    this.#logger = new TaskLogger(context.logger, { taskId, contextId: webhook.contextId }, webhook.trace)
  }

  async run(): Promise<void> {
    const { log, store } = this.#context
    const { taskId } = this.#leased
    let isHeadRead = false
    let isWoken = false
    while (!this.#signal.aborted) {
      const [redriven] = this.#webhook.redriven
      if (redriven) {
        if (!(await this.#redrive(redriven.generation))) return
        continue
      }
      if (this.#webhook.state !== 'active') return
      const page = (await log.read(taskId, this.#webhook.cursor)).slice(0, pageSize)
      if (page.length > 0) {
        if (!(await this.#deliverPage(page))) return
        isWoken = false
        continue
      }
      // Once is enough: if the task ends later, its final event says so. Woken without events, the task may be removed.
      if (!isHeadRead || isWoken) {
        const head = await log.head(taskId)
        if (!head || head.phase === 'expired') return void (await store.remove(this.#leased))
        const isDone = isEnded(head.phase) && head.generation <= this.#webhook.cursor
        if (isDone) return this.#record({ ...this.#webhook, state: 'done' })
        isHeadRead = true
      }
      await log.wait(taskId, this.#webhook.cursor, this.#signal)
      isWoken = true
    }
  }

  /** Returns false if the delivery to this webhook must stop. */
  async #deliverPage(page: readonly StoredEvent[]): Promise<boolean> {
    for (const stored of page) {
      if (this.#context.encoder.isDelivered(this.#webhook, stored.event)) {
        if (!(await this.#deliver(stored))) return false
      } else this.#webhook = advanceCursor(this.#webhook, stored.generation)
      if (isFinalEvent(stored)) this.#record({ ...this.#webhook, state: 'done' })
      if (this.#signal.aborted || this.#webhook.state !== 'active') break
    }
    return true
  }

  async #redrive(generation: number): Promise<boolean> {
    const [stored] = await this.#context.log.read(this.#leased.taskId, generation - 1)
    if (stored?.generation === generation) return await this.#deliver(stored)
    this.#record(advanceCursor(this.#webhook, generation))
    return true
  }

  /** Sends one event, with retries. Returns false if the delivery to this webhook must stop. */
  async #deliver(stored: StoredEvent): Promise<boolean> {
    const { clock } = this.#context
    const { generation } = stored
    for (;;) {
      const previous = pendingDelivery(this.#webhook, generation)
      const delay = (previous?.nextTry ?? 0) - clock.now()
      if (delay > maxSleep) return false
      if (delay > 0) await sleep(delay, this.#signal, clock)
      if (this.#signal.aborted) return false
      const result = await this.#send(stored, (previous?.attempts ?? 0) + 1)
      if (!result) return false
      if (result === 'no-payload') {
        this.#record(advanceCursor(this.#webhook, generation))
        return true
      }
      if (!(await this.#applyResult(generation, result))) return false
      if (!pendingDelivery(this.#webhook, generation)) return true
    }
  }

  /** Records what an attempt means for the webhook. Returns false if the delivery to this webhook must stop. */
  async #applyResult(generation: number, result: AttemptResult): Promise<boolean> {
    const { store, settings, clock, telemetry } = this.#context
    const { id } = this.#leased
    if (result.isGone) {
      await store.remove(this.#leased)
      telemetry?.record?.({ type: 'push', what: 'gone' })
      this.#logger.info({ webhook: id }, 'removed a webhook because its receiver is gone (410)')
      return false
    }
    const { givenUp } = this.#webhook
    this.#record(afterAttempt(this.#webhook, generation, result, settings, clock.now()))
    if (result.problem !== undefined) this.#logFailure(generation, result)
    if (this.#webhook.givenUp > givenUp) telemetry?.record?.({ type: 'push', what: 'given-up' })
    if (this.#webhook.state !== 'paused') return true
    telemetry?.record?.({ type: 'push', what: 'paused' })
    const { problem } = result
    this.#logger.warn({ webhook: id, problem }, 'paused a webhook because its receiver keeps failing')
    return false
  }

  /**
   * Makes one attempt; undefined if the delivery must stop. The payload is encoded once there is a slot, so that waiting
   * deliveries hold little memory.
   */
  async #send(stored: StoredEvent, attempt: number): Promise<AttemptResult | 'no-payload' | undefined> {
    const { slots, checkpoints, encoder, settings, clock } = this.#context
    const { url } = this.#webhook.config
    const slot = await slots.acquire(new URL(url).host, url, this.#signal)
    if (!slot) return undefined
    try {
      // No other process may take over the webhook while the request is in flight.
      while (!checkpoints.isHeld(this.#leased, settings.timeout)) {
        if (this.#signal.aborted) return undefined
        await sleep(100, this.#signal, clock)
      }
      const payload = await encoder.encode({ ...this.#leased, webhook: this.#webhook }, stored)
      return payload ? await this.#post(payload, stored.generation, attempt) : 'no-payload'
    } finally {
      slot.release()
    }
  }

  async #post(payload: EncodedPayload, generation: number, attempt: number): Promise<AttemptResult | undefined> {
    const { settings, clock, telemetry, requestSignal } = this.#context
    const { timeout, fetch, sign } = settings
    const { contextId, trace, config } = this.#webhook
    const { taskId } = this.#leased
    const { host } = new URL(config.url)
    const span = telemetry?.begin({ type: 'delivery', taskId, contextId, host, generation, attempt }, trace)
    const content = { generation, attempt, trace: span?.trace ?? trace, ...payload }
    const request = encodeRequest(this.#leased, this.#webhook, content)
    const options = { fetch, timeout, signal: requestSignal, clock, ...(sign && { sign }) }
    const post = () => sendRequest(request, options)
    const result = await (span ? tracedAttempt(span, post) : post())
    // A request aborted by the shutdown does not count as a failure of the receiver.
    return result.problem !== undefined && requestSignal.aborted ? undefined : result
  }

  #record(changed: Webhook): void {
    this.#webhook = changed
    this.#context.checkpoints.record(this.#leased, changed)
  }

  /** Back-off bounds how often a webhook fails, and so the number of lines. */
  #logFailure(generation: number, { status, problem = '' }: AttemptResult): void {
    const { host } = new URL(this.#webhook.config.url)
    const next = pendingDelivery(this.#webhook, generation)
    const fields = { webhook: this.#leased.id, host, generation, status, problem: redactSecrets(problem) }
    if (next) this.#logger.warn({ ...fields, attempt: next.attempts }, 'a webhook request failed; it is retried')
    else this.#logger.warn(fields, 'a webhook request failed; the event is given up')
  }
}

async function tracedAttempt(span: Span, post: () => Promise<AttemptResult>): Promise<AttemptResult> {
  const result = await span.run(post)
  const { status, problem } = result
  if (status !== undefined) span.addDetails({ status })
  span.end(problem === undefined ? undefined : new Error(problem))
  return result
}
