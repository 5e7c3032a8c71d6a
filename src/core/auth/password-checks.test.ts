import { describe, expect, it } from 'vitest'
import { createPasswordChecks } from './password-checks.ts'

const second = 1_000
const wrong = async () => false
const correct = async () => true

function createClock() {
  let time = 0
  return {
    now: () => time,
    pass(milliseconds: number) {
      time += milliseconds
    },
  }
}

/** Fails as often as allowed and returns the seconds to wait. */
async function guess({ run }: ReturnType<typeof createPasswordChecks>, network: string): Promise<number> {
  for (let guesses = 0; guesses < 100; guesses++) {
    const error = await run(network, false, wrong).catch((thrown) => thrown)
    if (error !== false) {
      expect(error).toMatchObject({ code: 'rate-limited' })
      return error.retryAfter
    }
  }
  return 0
}

describe('a network that guesses', () => {
  it('each further failure doubles the wait, up to a minute', async () => {
    const clock = createClock()
    const checks = createPasswordChecks(clock.now)
    const waits: number[] = []
    for (let round = 0; round < 9; round++) {
      const wait = await guess(checks, '192.0.2.1')
      waits.push(wait)
      clock.pass(wait * second)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  it('a network that guesses waits alone: other networks, and callers with a correct password before, do not wait', async () => {
    const checks = createPasswordChecks(createClock().now)
    await guess(checks, '192.0.2.1')
    await expect(checks.run('192.0.2.1', false, correct)).rejects.toMatchObject({ code: 'rate-limited' })
    expect(await checks.run('192.0.2.2', false, correct)).toBe(true)
    expect(await checks.run('192.0.2.1', true, correct)).toBe(true)
    expect(await checks.run(undefined, false, correct)).toBe(true)
  })

  it('a network that guesses is forgotten after a quarter of an hour', async () => {
    const clock = createClock()
    const checks = createPasswordChecks(clock.now)
    for (let round = 0; round < 4; round++) clock.pass((await guess(checks, '192.0.2.1')) * second)
    clock.pass(15 * 60 * second)
    expect(await guess(checks, '192.0.2.1')).toBe(1)
  })
})

describe('password checks at once', () => {
  /** Starts a check that ends when it is released, and reports when it runs. */
  function start(checks: ReturnType<typeof createPasswordChecks>, network: string | undefined, isTrusted = false) {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const state = { isRunning: false, release: () => resolve(true), result: Promise.resolve<unknown>(undefined) }
    state.result = checks
      .run(network, isTrusted, () => {
        state.isRunning = true
        return promise
      })
      .catch((error: { readonly code: string }) => error.code)
    return state
  }

  it('at most two run, at most 16 wait, and trusted callers come first', async () => {
    const checks = createPasswordChecks()
    const started = Array.from({ length: 50 }, () => start(checks, undefined))
    const known = start(checks, undefined, true)
    await Promise.resolve()
    const running = started.filter(({ isRunning }) => isRunning)
    expect(running.length).toBeGreaterThan(0)
    expect(running.length).toBeLessThanOrEqual(2)
    expect(known.isRunning).toBe(false)
    running[0]?.release()
    await running[0]?.result
    expect(known.isRunning).toBe(true)
    for (const { release } of [...started, known]) release()
    const results = await Promise.all(started.map(({ result }) => result))
    expect(results.filter((result) => result === 'unavailable')).toHaveLength(50 - 16 - running.length)
    expect(results.filter((result) => result === true)).toHaveLength(16 + running.length)
  })

  it('one network has at most four of them', async () => {
    const checks = createPasswordChecks()
    const started = Array.from({ length: 10 }, () => start(checks, '192.0.2.1'))
    for (const { release } of started) release()
    const results = await Promise.all(started.map(({ result }) => result))
    expect(results.filter((result) => result === 'rate-limited')).toHaveLength(6)
  })
})
