import { describe, expect, it } from 'vitest'
import { until } from '../../../../test/support/async.ts'
import { createStartThrottle } from './throttle.ts'

describe('createStartThrottle', () => {
  /** A throttle and the number of starts in each tick, when every start is taken. */
  function startThrottle(isBusy: () => boolean) {
    let isWorking = true
    const ticks: number[] = []
    const takeAll = () => {
      let taken = 0
      for (; taken < 100 && throttle.mayStart; taken++) throttle.take()
      return taken
    }
    const throttle = createStartThrottle({
      total: 16,
      isBusy,
      onTick() {
        ticks.push(takeAll())
        return isWorking
      },
    })
    const stop = () => {
      isWorking = false
    }
    throttle.start()
    return { ticks, first: takeAll(), stop }
  }

  /** Keeps the event loop busy until it is stopped. */
  function keepBusy(): () => void {
    let isStopped = false
    const work = () => {
      const end = performance.now() + 30
      while (performance.now() < end);
      if (!isStopped) setImmediate(work)
    }
    work()
    return () => {
      isStopped = true
    }
  }

  it('requests are not throttled while no turn is running', () => {
    const { first, stop } = startThrottle(() => false)
    expect(first).toBe(100)
    stop()
  })

  it('many requests start per tick while turns wait, and few while turns keep the event loop busy', async () => {
    const { ticks, first, stop } = startThrottle(() => true)
    expect(first).toBe(2)
    await until(() => ticks.at(-1) === 16)
    const rest = keepBusy()
    await until(() => ticks.at(-1) === 2)
    rest()
    await until(() => ticks.at(-1) === 16)
    stop()
  })

  it('a request in a slot that waits for the next start gets it before requests without a slot', async () => {
    const { signal } = new AbortController()
    let granted = 0
    const throttle = createStartThrottle({
      total: 16,
      isBusy: () => true,
      onTick() {
        for (; throttle.mayStart; granted++) throttle.take()
        return granted < 3
      },
    })
    throttle.start()
    const [first, second, third] = [throttle.next(signal), throttle.next(signal), throttle.next(signal)]
    expect(await Promise.all([first, second])).toEqual([true, true])
    expect(granted).toBe(0)
    expect(await third).toBe(true)
    await until(() => granted >= 3)
  })

  it('a wait for a start ends when its signal aborts', async () => {
    const canceling = new AbortController()
    const throttle = createStartThrottle({ total: 1, isBusy: () => true, onTick: () => false })
    throttle.start()
    expect(await throttle.next(canceling.signal)).toBe(true)
    const waiting = throttle.next(canceling.signal)
    canceling.abort()
    expect(await waiting).toBe(false)
    expect(await throttle.next(canceling.signal)).toBe(false)
  })
})
