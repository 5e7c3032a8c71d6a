import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLoad, type LoadOptions, type LoadState } from './load.ts'

function open(options: Partial<LoadOptions> = {}) {
  const load = createLoad({ requests: 2, bodyBytes: 1_000, memory: () => 0, ...options })
  onTestFinished(load.stop)
  return load
}

describe('a load', () => {
  it('is over with one request more than there may be, until one ends', () => {
    const load = open()
    load.begin()
    load.begin()
    expect(load.isOverloaded()).toBe(false)
    load.begin()
    expect(load.isOverloaded()).toBe(true)
    load.end(0)
    expect(load.isOverloaded()).toBe(false)
  })

  it('has room for so many bytes of bodies, and gets them back', () => {
    const load = open()
    expect(load.take(600)).toBe(true)
    expect(load.take(600)).toBe(false)
    expect(load.isOverloaded()).toBe(true)
    load.end(1_200)
    expect(load.isOverloaded()).toBe(false)
    expect(load.take(1_000)).toBe(true)
  })

  it('looks at the memory in time, also while nobody comes', async () => {
    let memory = 0
    const load = open({ memory: () => memory })
    memory = 1
    await expect.poll(load.isOverloaded).toBe(true)
    memory = 0
    await expect.poll(load.isOverloaded).toBe(false)
  })

  it('looks at the memory with every request when half of it is used, and with every sixteenth before', () => {
    let looks = 0
    let memory = 0.1
    const look = () => {
      looks++
      return memory
    }
    const load = open({ memory: look })
    const requests = (count: number) => {
      const before = looks
      for (let n = 0; n < count; n++) load.begin()
      return looks - before
    }
    expect(requests(32)).toBe(2)
    memory = 0.6
    expect(requests(16)).toBe(1)
    expect(requests(16)).toBe(16)
  })

  it('tells once when it begins to be over, and once when that has passed', async () => {
    let memory = 0
    const told: (readonly [boolean, LoadState])[] = []
    const load = open({ memory: () => memory })
    const unwatch = load.watch((isOver, standing) => told.push([isOver, standing]))
    memory = 1.5
    await expect.poll(() => told).toEqual([[true, { requests: 0, bodyBytes: 0, memory: 1.5 }]])
    memory = 0
    await expect.poll(() => told.length, { timeout: 5_000 }).toBe(2)
    expect(told[1]?.[0]).toBe(false)
    unwatch()
    memory = 2
    await sleep(250)
    expect(told).toHaveLength(2)
  })
})
