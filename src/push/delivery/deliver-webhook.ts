import { type Clock, sleep } from '../../base/clock.ts'
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
import { type Attempted, attempt, composeRequest } from './send.ts'
import { afterAttempt, moveOn, underWay } from './webhook-state.ts'

/** Pauses up to here are slept through; for longer ones the webhook is given back until it is due. */
const longestNap = 10_000

/** So many events are held by those who wait for their turn. */
const held = 8

/** What those who carry events to webhooks share. */
export interface DeliveryContext {
  readonly log: TaskLog
  readonly store: PushStore
  readonly telling: PayloadEncoder
  readonly lanes: DeliverySlots
  readonly ledger: Checkpoints
  readonly settings: PushSettings
  readonly logger: Logger
  readonly clock: Clock
  readonly telemetry: Telemetry | undefined
  /** Aborts when requests that are on their way are to be given up. */
  readonly hurry: AbortSignal
}

/** Tells one webhook what happens to its task, in order, until there is nothing left or the signal aborts. */
export async function deliverWebhook(
  leased: StoredWebhook,
  office: DeliveryContext,
  signal: AbortSignal,
): Promise<void> {
  const { log, store, telling, ledger, settings, clock, telemetry } = office
  const { taskId } = leased
  let webhook = leased.webhook
  const logger = new TaskLogger(office.logger, { taskId, contextId: webhook.contextId }, webhook.trace)

  function note(changed: Webhook): void {
    webhook = changed
    ledger.record(leased, changed)
  }

  /** Whether the event is dealt with; otherwise the courier has to stop. */
  async function deliver(stored: StoredEvent): Promise<boolean> {
    const { generation } = stored
    for (;;) {
      const before = underWay(webhook, generation)
      const pause = (before?.nextTry ?? 0) - clock.now()
      if (pause > longestNap) return false
      if (pause > 0) await sleep(pause, signal, clock)
      if (signal.aborted) return false
      const attempted = await send(stored, (before?.attempts ?? 0) + 1)
      if (!attempted) return false
      if (attempted === 'untellable') {
        note(moveOn(webhook, generation))
        return true
      }
      if (attempted.isGone) {
        await store.remove(leased)
        telemetry?.note?.({ type: 'push', what: 'gone' })
        logger.info({ webhook: leased.id }, 'a webhook was removed because its receiver is gone (410)')
        return false
      }
      const { givenUp } = webhook
      note(afterAttempt(webhook, generation, attempted, settings, clock.now()))
      if (webhook.givenUp > givenUp) telemetry?.note?.({ type: 'push', what: 'given-up' })
      if (webhook.state === 'paused') {
        telemetry?.note?.({ type: 'push', what: 'paused' })
        const { problem } = attempted
        logger.warn({ webhook: leased.id, problem }, 'a webhook is paused because its receiver keeps failing')
        return false
      }
      if (!underWay(webhook, generation)) return true
    }
  }

  /** Undefined if the courier has to stop. What is sent is made last, so that those who wait hold little. */
  async function send(stored: StoredEvent, attemptNumber: number): Promise<Attempted | 'untellable' | undefined> {
    const { timeout, fetch, sign } = settings
    const { url } = webhook.config
    const pass = await office.lanes.enter(new URL(url).host, url, signal)
    if (!pass) return undefined
    try {
      // Nobody else may take the webhook over while the request is on its way.
      while (!ledger.isHeld(leased, timeout)) {
        if (signal.aborted) return undefined
        await sleep(100, signal, clock)
      }
      const told = await telling.encode({ ...leased, webhook }, stored)
      if (!told) return 'untellable'
      const { generation } = stored
      const { contextId, trace } = webhook
      const span = telemetry?.begin(
        { type: 'delivery', taskId, contextId, host: new URL(url).host, generation, attempt: attemptNumber },
        trace,
      )
      const said = { generation, attempt: attemptNumber, trace: span?.trace ?? trace, ...told }
      const request = composeRequest(leased, webhook, said)
      const post = () => attempt(request, { fetch, timeout, signal: office.hurry, clock, ...(sign && { sign }) })
      const attempted = await (span ? watchedAttempt(span, post) : post())
      // What was broken off because we stop is no failure of the receiver's.
      return attempted.problem !== undefined && office.hurry.aborted ? undefined : attempted
    } finally {
      pass.leave()
    }
  }

  async function redrive(generation: number): Promise<boolean> {
    const [stored] = await log.read(taskId, generation - 1)
    if (stored?.generation === generation) return await deliver(stored)
    note(moveOn(webhook, generation))
    return true
  }

  let isLooked = false
  while (!signal.aborted) {
    const [again] = webhook.redriven
    if (again) {
      if (!(await redrive(again.generation))) return
      continue
    }
    if (webhook.state !== 'active') return
    const page = (await log.read(taskId, webhook.cursor)).slice(0, held)
    for (const stored of page) {
      if (telling.isDelivered(webhook, stored.event)) {
        if (!(await deliver(stored))) return
      } else webhook = moveOn(webhook, stored.generation)
      if (isFinalEvent(stored)) note({ ...webhook, state: 'done' })
      if (signal.aborted || webhook.state !== 'active') break
    }
    if (page.length > 0) continue
    // Once: later on the events themselves tell that it has ended.
    if (!isLooked) {
      const head = await log.head(taskId)
      if (!head || head.phase === 'expired') return void (await store.remove(leased))
      if (isEnded(head.phase) && head.generation <= webhook.cursor) return note({ ...webhook, state: 'done' })
      isLooked = true
    }
    await log.wait(taskId, webhook.cursor, signal)
  }
}

async function watchedAttempt(span: Span, post: () => Promise<Attempted>): Promise<Attempted> {
  const attempted = await span.run(post)
  const { status, problem } = attempted
  if (status !== undefined) span.learn({ status })
  span.end(problem === undefined ? undefined : new Error(problem))
  return attempted
}
