import { describe, expect, it } from 'vitest'
import { createVirtualClock } from './virtual-clock.ts'

describe('a virtual clock', () => {
  it('stands still until time passes, and then tells every moment in order', async () => {
    const clock = createVirtualClock(1_000)
    const told: string[] = []
    const tell = (name: string) => () => void told.push(`${name} at ${clock.now()}`)
    clock.setTimeout(tell('later'), 20)
    clock.setTimeout(tell('sooner'), 10)
    clock.setTimeout(tell('as soon'), 10)
    const repeated = clock.setInterval(tell('again'), 8)
    clock.clearTimeout(clock.setTimeout(tell('never'), 5))
    await clock.advance(7)
    expect(told).toEqual([])
    await clock.advance(13)
    expect(told).toEqual(['again at 1008', 'sooner at 1010', 'as soon at 1010', 'again at 1016', 'later at 1020'])
    clock.clearTimeout(repeated)
    await clock.advance(100)
    expect(told).toHaveLength(5)
    expect(clock.now()).toBe(1_120)
  })

  it('also tells what is set on the way', async () => {
    const clock = createVirtualClock(0)
    const told: number[] = []
    const again = () => {
      told.push(clock.now())
      Promise.resolve().then(() => clock.setTimeout(again, 10))
    }
    clock.setTimeout(again, 10)
    await clock.advance(35)
    expect(told).toEqual([10, 20, 30])
  })

  it('lets as much time pass as something takes, and no more', async () => {
    const clock = createVirtualClock(0)
    const slow = new Promise<string>((resolve) => clock.setTimeout(() => resolve('done'), 86_400_000))
    expect(await clock.run(slow)).toBe('done')
    expect(clock.now()).toBe(86_400_000)
    await expect(clock.run(Promise.reject(new Error('no')))).rejects.toThrow('no')
  })
})
