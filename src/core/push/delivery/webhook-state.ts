import { delayAfter } from '../../base/backoff.ts'
import { defined } from '../../base/json.ts'
import type { PushSettings } from '../options.ts'
import type { Delivery, Webhook } from '../store.ts'
import type { AttemptResult } from './send.ts'

/** Number of successful and of given-up deliveries that a webhook remembers. */
const historyLimit = { recent: 10, dead: 200 }

/** The webhook after an attempt: the event is delivered, scheduled for a retry, or given up. */
export function afterAttempt(
  webhook: Webhook,
  generation: number,
  result: AttemptResult,
  { retry, pauseAfter: limit }: Pick<PushSettings, 'retry' | 'pauseAfter'>,
  now: number,
): Webhook {
  const previous = pendingDelivery(webhook, generation)
  const { at, latency, status, problem } = result
  const attempts = (previous?.attempts ?? 0) + 1
  const delivery: Delivery = defined({ generation, attempts, at, latency, status })
  if (problem === undefined) {
    const recent = [...webhook.recent, delivery].slice(-historyLimit.recent)
    return { ...advanceCursor(webhook, generation), givenUp: 0, recent }
  }
  if (attempts < retry.attempts) {
    const nextTry = now + delayBeforeRetry(attempts, retry, result.retryAfter)
    const failing: Delivery = { ...delivery, problem, nextTry }
    const [first, ...others] = webhook.redriven
    return first?.generation === generation ? { ...webhook, redriven: [failing, ...others] } : { ...webhook, failing }
  }
  const givenUp = webhook.givenUp + 1
  return {
    ...advanceCursor(webhook, generation),
    dead: [...webhook.dead, { ...delivery, problem }].slice(-historyLimit.dead),
    givenUp,
    ...defined({ state: givenUp >= limit ? 'paused' : undefined }),
  }
}

/** When the next delivery is due, in milliseconds since 1970; undefined if there is none. */
export function dueOf({ state, redriven, failing, created }: Webhook): number | undefined {
  if (state === 'paused' || (state === 'done' && redriven.length === 0)) return undefined
  return redriven[0]?.nextTry ?? (redriven.length > 0 ? created : (failing?.nextTry ?? created))
}

/** The delivery of this event, if an earlier attempt failed. */
export function pendingDelivery({ failing, redriven: [first] }: Webhook, generation: number): Delivery | undefined {
  return [first, failing].find((delivery) => delivery?.generation === generation)
}

/** Marks the event as done, whether it was due for the first time or redriven. */
export function advanceCursor(webhook: Webhook, generation: number): Webhook {
  const [first, ...others] = webhook.redriven
  if (first?.generation === generation) return { ...webhook, redriven: others }
  const { failing: _, ...rest } = webhook
  return { ...rest, cursor: generation }
}

/** In milliseconds. A receiver may ask for a longer delay, up to `longest`. */
function delayBeforeRetry(attempts: number, { first, longest }: PushSettings['retry'], retryAfter = 0): number {
  const delay = delayAfter(attempts, { minDelay: first, maxDelay: longest })
  return Math.ceil(Math.max(delay, Math.min(retryAfter, longest)))
}
