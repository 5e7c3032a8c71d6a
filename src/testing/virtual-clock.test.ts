import { describe, expect, it } from 'vitest'
import { createVirtualClock } from './virtual-clock.ts'

describe('a virtual clock', () => {
  it('timers fire only when the clock advances, in order', async () => {
    const clock = createVirtualClock(1_000)
    const fired: string[] = []
    const note = (name: string) => () => void fired.push(`${name} at ${clock.now()}`)
    clock.setTimeout(note('later'), 20)
    clock.setTimeout(note('sooner'), 10)
    clock.setTimeout(note('as soon'), 10)
    const repeated = clock.setInterval(note('again'), 8)
    clock.clearTimeout(clock.setTimeout(note('never'), 5))
    await clock.advance(7)
    expect(fired).toEqual([])
    await clock.advance(13)
    expect(fired).toEqual(['again at 1008', 'sooner at 1010', 'as soon at 1010', 'again at 1016', 'later at 1020'])
    clock.clearTimeout(repeated)
    await clock.advance(100)
    expect(fired).toHaveLength(5)
    expect(clock.now()).toBe(1_120)
  })

  it('timers that are set while the clock advances fire as well', async () => {
    const clock = createVirtualClock(0)
    const fired: number[] = []
    const again = () => {
      fired.push(clock.now())
      Promise.resolve().then(() => clock.setTimeout(again, 10))
    }
    clock.setTimeout(again, 10)
    await clock.advance(35)
    expect(fired).toEqual([10, 20, 30])
  })

  it('run advances the clock until the promise settles and no further', async () => {
    const clock = createVirtualClock(0)
    const slow = new Promise<string>((resolve) => clock.setTimeout(() => resolve('done'), 86_400_000))
    expect(await clock.run(slow)).toBe('done')
    expect(clock.now()).toBe(86_400_000)
    await expect(clock.run(Promise.reject(new Error('no')))).rejects.toThrow('no')
  })
})
