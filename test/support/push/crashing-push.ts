import { createPushFetch } from '../../../src/node/guarded-fetch/push-fetch.ts'
import type { PushFetch, PushOptions } from '../../../src/push/options.ts'
import type { PushStore } from '../../../src/push/store.ts'

/** The steps of a delivery between which its process may be killed. What comes after `sent` only its receiver knows. */
export type DeliveryStep = 'registered' | 'leased' | 'sending' | 'answered' | 'writing-cursor' | 'cursor-written'

/** Which step, and at which time of it, counted from 1. */
export interface CrashPoint {
  readonly step: DeliveryStep
  readonly time: number
}

/** Webhooks of a process that kills itself at a step of a delivery, as SIGKILL does: with nothing more said or stored. */
export function crashingPush(store: PushStore, death: CrashPoint): Pick<PushOptions, 'store' | 'fetch'> {
  let times = 0

  async function reach(step: DeliveryStep): Promise<void> {
    if (step !== death.step || ++times < death.time) return
    process.kill(process.pid, 'SIGKILL')
    await new Promise<never>(() => {})
  }

  const fetch = createPushFetch()
  const dyingFetch: PushFetch = Object.assign(
    async (...given: Parameters<PushFetch>) => {
      await reach('sending')
      const response = await fetch(...given)
      await reach('answered')
      return response
    },
    { check: (url: string) => fetch.check(url) },
  )
  return {
    fetch: dyingFetch,
    store: {
      ...store,
      async add(webhook, lease) {
        // Nobody has it at first.
        const added = death.step === 'registered' ? await store.add(webhook) : await store.add(webhook, lease)
        await reach('registered')
        await reach('leased')
        return added
      },
      async settle(holder, settled) {
        await reach('writing-cursor')
        const refused = await store.settle(holder, settled)
        await reach('cursor-written')
        return refused
      },
    },
  }
}
