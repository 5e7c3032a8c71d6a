import { delayAfter } from '../../base/backoff.ts'
import type { PushSettings } from '../options.ts'
import type { Delivery, Webhook } from '../store.ts'
import type { Attempted } from './send.ts'

/** How many are remembered of those that arrived, and of those that were given up. */
const kept = { recent: 10, dead: 200 }

/** What becomes of a webhook by an attempt to deliver an event. */
export function afterAttempt(
  webhook: Webhook,
  generation: number,
  attempted: Attempted,
  { retry, pauseAfter: limit }: Pick<PushSettings, 'retry' | 'pauseAfter'>,
  now: number,
): Webhook {
  const before = underWay(webhook, generation)
  const { at, latency, status, problem } = attempted
  const attempts = (before?.attempts ?? 0) + 1
  const delivery: Delivery = { generation, attempts, at, latency, ...(status !== undefined && { status }) }
  if (problem === undefined) {
    return { ...moveOn(webhook, generation), givenUp: 0, recent: [...webhook.recent, delivery].slice(-kept.recent) }
  }
  if (attempts < retry.attempts) {
    const nextTry = now + delayBeforeRetry(attempts, retry, attempted.retryAfter)
    const failing: Delivery = { ...delivery, problem, nextTry }
    const [again, ...others] = webhook.redriven
    return again?.generation === generation ? { ...webhook, redriven: [failing, ...others] } : { ...webhook, failing }
  }
  const givenUp = webhook.givenUp + 1
  return {
    ...moveOn(webhook, generation),
    dead: [...webhook.dead, { ...delivery, problem }].slice(-kept.dead),
    givenUp,
    ...(givenUp >= limit && { state: 'paused' }),
  }
}

/** When somebody has to see to it. */
export function dueOf({ state, redriven, failing, created }: Webhook): number | undefined {
  if (state === 'paused' || (state === 'done' && redriven.length === 0)) return undefined
  return redriven[0]?.nextTry ?? (redriven.length > 0 ? created : (failing?.nextTry ?? created))
}

/** The delivery of this event, if it was attempted before. */
export function underWay({ failing, redriven: [again] }: Webhook, generation: number): Delivery | undefined {
  return [again, failing].find((delivery) => delivery?.generation === generation)
}

/** The event is dealt with, be it for the first time or once more. */
export function moveOn(webhook: Webhook, generation: number): Webhook {
  const [again, ...others] = webhook.redriven
  if (again?.generation === generation) return { ...webhook, redriven: others }
  const { failing: _, ...rest } = webhook
  return { ...rest, cursor: generation }
}

/** In milliseconds. A receiver may ask for a longer delay, up to `longest`. */
function delayBeforeRetry(attempts: number, { first, longest }: PushSettings['retry'], retryAfter = 0): number {
  const delay = delayAfter(attempts, { minDelay: first, maxDelay: longest })
  return Math.ceil(Math.max(delay, Math.min(retryAfter, longest)))
}
