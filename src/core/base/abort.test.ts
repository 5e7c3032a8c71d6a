import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { linkSignals, unlessAborted, withDeadline } from './abort.ts'

describe('a deadline', () => {
  it('aborts with its own reason when the time is up', async () => {
    const { signal } = withDeadline(new AbortController().signal, 5, () => 'too late')
    await wait(20)
    expect(signal.reason).toBe('too late')
  })

  it("aborts with the caller's reason when the caller aborts, now or before", () => {
    const caller = new AbortController()
    const { signal } = withDeadline(caller.signal, 1_000, () => 'too late')
    caller.abort('bye')
    expect(signal.reason).toBe('bye')
    expect(withDeadline(caller.signal, 1_000, () => 'too late').signal.reason).toBe('bye')
  })

  it('a deadline does not expire once it is extended, released or infinite', async () => {
    const caller = new AbortController()
    const extended = withDeadline(caller.signal, 5, () => 'too late')
    const released = withDeadline(caller.signal, 5, () => 'too late')
    const infinite = withDeadline(caller.signal, Number.POSITIVE_INFINITY, () => 'too late')
    extended.extend()
    released.release()
    await wait(20)
    caller.abort('bye')
    expect([extended, released, infinite].map(({ signal }) => signal.reason)).toEqual(['bye', undefined, 'bye'])
  })
})

it('work that ignores its signal is left when the signal aborts', async () => {
  const caller = new AbortController()
  const work = unlessAborted(new Promise(() => {}), caller.signal)
  caller.abort('bye')
  await expect(work).rejects.toBe('bye')
  await expect(unlessAborted(Promise.resolve(1), new AbortController().signal)).resolves.toBe(1)
})

it('a linked signal aborts with the first of its sources, or after its timeout', async () => {
  const [one, other] = [new AbortController(), new AbortController()]
  const linked = linkSignals([one.signal, other.signal])
  other.abort()
  expect(linked.signal.aborted).toBe(true)
  expect(linkSignals([other.signal]).signal.aborted).toBe(true)
  const [timed, released] = [linkSignals([one.signal], 5), linkSignals([one.signal], 5)]
  released.release()
  await wait(20)
  expect([timed.signal.aborted, released.signal.aborted]).toEqual([true, false])
})
