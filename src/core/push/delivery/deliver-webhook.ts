import { type Clock, sleep } from '../../base/clock.ts'
import { redactSecrets } from '../../base/error-summary.ts'
import { defined } from '../../base/json.ts'
import { type Logger, TaskLogger } from '../../base/logger.ts'
import type { StoredEvent } from '../../protocol/events.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Span, Telemetry } from '../../protocol/telemetry.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { fetchFor, type PushSettings } from '../options.ts'
import type { Delivery, PushStore, StoredWebhook, Webhook } from '../store.ts'
import type { Checkpoint } from './checkpoints.ts'
import type { DeliverySlots, Slot } from './concurrency.ts'
import { type EncodedPayload, isFinalEvent, type PayloadEncoder } from './payload.ts'
import { type AttemptResult, encodeRequest, sendRequest } from './send.ts'
import { advanceCursor, afterAttempt, pendingDelivery } from './webhook-state.ts'

/** Longest delay to sleep through, in milliseconds; for longer ones the lease is released until the retry is due. */
const maxSleep = 10_000

/** Number of events that a webhook with a slot holds in memory. */
const pageSize = 32

/** What all deliveries of this process share. */
export interface DeliveryContext {
  readonly log: TaskLog
  readonly store: PushStore
  readonly encoder: PayloadEncoder
  readonly slots: DeliverySlots
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
  checkpoint: Checkpoint,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<void> {
  const delivery = new WebhookDelivery(leased, checkpoint, context, signal)
  try {
    await delivery.run()
  } finally {
    delivery.releaseSlot()
  }
}

/** One webhook whose lease this process holds. */
class WebhookDelivery {
  readonly #leased: StoredWebhook
  readonly #checkpoint: Checkpoint
  readonly #context: DeliveryContext
  readonly #signal: AbortSignal
  /** As it is after the last attempt, stored or not. */
  #webhook: Webhook
  #slot: Slot | undefined
  /** Whether a request may start in the slot. */
  #mayStart = false

  constructor(leased: StoredWebhook, checkpoint: Checkpoint, context: DeliveryContext, signal: AbortSignal) {
    this.#leased = leased
    this.#checkpoint = checkpoint
    this.#context = context
    this.#signal = signal
    this.#webhook = leased.webhook
  }

  /** Reads the log only with a slot: a webhook that waits for its turn costs next to nothing. */
  async run(): Promise<void> {
    const { log, store } = this.#context
    const { taskId } = this.#leased
    let isHeadRead = false
    let isWoken = false
    while (!this.#signal.aborted) {
      const [redriven] = this.#webhook.redriven
      if (!redriven && this.#webhook.state !== 'active') return
      const delay = this.#delayBefore(redriven ?? this.#webhook.failing)
      if (delay > 0 && !(await this.#sleep(delay))) return
      if (!(await this.#takeSlot())) return
      if (redriven) {
        if (!(await this.#redrive(redriven.generation))) return
        continue
      }
      const page = (await log.read(taskId, this.#webhook.cursor)).slice(0, pageSize)
      if (page.length > 0) {
        if (!(await this.#deliverPage(page))) return
        isWoken = false
        continue
      }
      this.releaseSlot()
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

  releaseSlot(): void {
    this.#slot?.release()
    this.#slot = undefined
    this.#mayStart = false
  }

  #delayBefore(retry: Delivery | undefined): number {
    return retry?.nextTry === undefined ? 0 : retry.nextTry - this.#context.clock.now()
  }

  /** Returns false if the delivery to this webhook must stop. */
  async #sleep(delay: number): Promise<boolean> {
    this.releaseSlot()
    if (delay > maxSleep) return false
    await sleep(delay, this.#signal, this.#context.clock)
    return !this.#signal.aborted
  }

  /** Waits until a request may start. Returns false if the delivery to this webhook must stop. */
  async #takeSlot(): Promise<boolean> {
    if (this.#slot && (await this.#keepSlot())) return true
    const { url } = this.#webhook.config
    this.#slot = await this.#context.slots.acquire(new URL(url).host, url, this.#signal)
    this.#mayStart = this.#slot !== undefined
    return this.#mayStart
  }

  /** Waits until a request may start in the slot. Returns false if the slot had to be released. */
  async #keepSlot(): Promise<boolean> {
    if (this.#mayStart) return true
    this.#mayStart = (await this.#slot?.next(this.#signal)) ?? false
    if (!this.#mayStart) this.releaseSlot()
    return this.#mayStart
  }

  /** Returns false if the delivery to this webhook must stop. */
  async #deliverPage(page: readonly StoredEvent[]): Promise<boolean> {
    for (const stored of page) {
      if (this.#context.encoder.isDelivered(this.#webhook, stored.event)) {
        // Events are not held in memory while the webhook waits for a slot; it reads them again.
        if (!(await this.#keepSlot())) break
        if (!(await this.#deliver(stored))) return false
        if (pendingDelivery(this.#webhook, stored.generation)) break
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

  /** Sends one event once. Returns false if the delivery to this webhook must stop. */
  async #deliver(stored: StoredEvent): Promise<boolean> {
    const { generation } = stored
    const attempt = (pendingDelivery(this.#webhook, generation)?.attempts ?? 0) + 1
    const result = await this.#send(stored, attempt)
    if (!result) return false
    if (result !== 'no-payload') return await this.#applyResult(generation, result)
    this.#record(advanceCursor(this.#webhook, generation))
    return true
  }

  /** Records what an attempt means for the webhook. Returns false if the delivery to this webhook must stop. */
  async #applyResult(generation: number, result: AttemptResult): Promise<boolean> {
    const { store, settings, clock, telemetry } = this.#context
    const { id } = this.#leased
    if (result.isGone) {
      await store.remove(this.#leased)
      telemetry?.record?.({ type: 'push', what: 'gone' })
      this.#logger().info({ webhook: id }, 'removed a webhook because its receiver is gone (410)')
      return false
    }
    const { givenUp } = this.#webhook
    this.#record(afterAttempt(this.#webhook, generation, result, settings, clock.now()))
    if (result.problem !== undefined) this.#logFailure(generation, result)
    if (this.#webhook.givenUp > givenUp) telemetry?.record?.({ type: 'push', what: 'given-up' })
    if (this.#webhook.state !== 'paused') return true
    telemetry?.record?.({ type: 'push', what: 'paused' })
    const { problem } = result
    this.#logger().warn({ webhook: id, problem }, 'paused a webhook because its receiver keeps failing')
    return false
  }

  /**
   * Makes one attempt; undefined if the delivery must stop. The payload is encoded once there is a slot, so that waiting
   * deliveries hold little memory.
   */
  async #send(stored: StoredEvent, attempt: number): Promise<AttemptResult | 'no-payload' | undefined> {
    const { encoder, settings, clock } = this.#context
    // No other process may take over the webhook while the request is in flight.
    while (!this.#checkpoint.isHeld(settings.timeout)) {
      if (this.#signal.aborted) return undefined
      await sleep(100, this.#signal, clock)
    }
    const payload = await encoder.encode({ ...this.#leased, webhook: this.#webhook }, stored)
    // The webhook may have been changed while the event was read.
    if (this.#signal.aborted) return undefined
    if (!payload) return 'no-payload'
    this.#mayStart = false
    return await this.#post(payload, stored.generation, attempt)
  }

  async #post(payload: EncodedPayload, generation: number, attempt: number): Promise<AttemptResult | undefined> {
    const { settings, clock, telemetry, requestSignal } = this.#context
    const { timeout, sign } = settings
    const { contextId, trace, config } = this.#webhook
    const fetch = fetchFor(this.#webhook, settings.fetch)
    const { taskId } = this.#leased
    const span = telemetry?.begin(
      { type: 'delivery', taskId, contextId, host: new URL(config.url).host, generation, attempt },
      trace,
    )
    const content = { generation, attempt, trace: span?.trace ?? trace, ...payload }
    const request = encodeRequest(this.#leased, this.#webhook, content)
    const options = defined({ fetch, timeout, signal: requestSignal, clock, sign })
    const post = () => sendRequest(request, options)
    const result = await (span ? tracedAttempt(span, post) : post())
    // A request aborted by the shutdown does not count as a failure of the receiver.
    return result.problem !== undefined && requestSignal.aborted ? undefined : result
  }

  #record(changed: Webhook): void {
    this.#webhook = changed
    this.#checkpoint.record(changed)
  }

  #logger(): TaskLogger {
    const { taskId, webhook } = this.#leased
    return new TaskLogger(this.#context.logger, { taskId, contextId: webhook.contextId }, webhook.trace)
  }

  /** Back-off bounds how often a webhook fails, and so the number of lines. */
  #logFailure(generation: number, { status, problem = '' }: AttemptResult): void {
    const { host } = new URL(this.#webhook.config.url)
    const next = pendingDelivery(this.#webhook, generation)
    const fields = { webhook: this.#leased.id, host, generation, status, problem: redactSecrets(problem) }
    if (next) this.#logger().warn({ ...fields, attempt: next.attempts }, 'a webhook request failed; it is retried')
    else this.#logger().warn(fields, 'a webhook request failed; the event is given up')
  }
}

async function tracedAttempt(span: Span, post: () => Promise<AttemptResult>): Promise<AttemptResult> {
  const result = await span.run(post)
  const { status, problem } = result
  if (status !== undefined) span.addDetails({ status })
  span.end(problem === undefined ? undefined : new Error(problem))
  return result
}
