import { createPushFetch } from '../../../src/core/node/guarded-fetch/push-fetch.ts'
import type { PushFetch, PushOptions } from '../../../src/core/push/options.ts'
import type { PushStore } from '../../../src/core/push/store.ts'

/** The steps of a delivery at which its process can crash. */
export type DeliveryStep = 'registered' | 'leased' | 'sending' | 'answered' | 'writing-cursor' | 'cursor-written'

/** The step, and its occurrence counted from 1. */
export interface CrashPoint {
  readonly step: DeliveryStep
  readonly occurrence: number
}

/** Push options of a process that kills itself with SIGKILL at a step of a delivery. */
export function crashingPush(store: PushStore, crashPoint: CrashPoint): Pick<PushOptions, 'store' | 'fetch'> {
  let occurrences = 0

  async function reach(step: DeliveryStep): Promise<void> {
    if (step !== crashPoint.step || ++occurrences < crashPoint.occurrence) return
    process.kill(process.pid, 'SIGKILL')
    await new Promise<never>(() => {})
  }

  const fetch = createPushFetch({ loopback: 'allow' })
  const crashingFetch: PushFetch = Object.assign(
    async (...args: Parameters<PushFetch>) => {
      await reach('sending')
      const response = await fetch(...args)
      await reach('answered')
      return response
    },
    { check: (url: string) => fetch.check(url) },
  )
  return {
    fetch: crashingFetch,
    store: {
      ...store,
      async add(webhook, lease) {
        // Without a lease, another process may take the webhook.
        const added = crashPoint.step === 'registered' ? await store.add(webhook) : await store.add(webhook, lease)
        await reach('registered')
        await reach('leased')
        return added
      },
      async settle(holder, settled) {
        await reach('writing-cursor')
        const rejected = await store.settle(holder, settled)
        await reach('cursor-written')
        return rejected
      },
    },
  }
}
