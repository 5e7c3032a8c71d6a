import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLoad, type LoadOptions, type LoadState } from './load.ts'

function open(options: Partial<LoadOptions> = {}) {
  const load = createLoad({ requests: 2, bodyBytes: 1_000, memory: () => 0, ...options })
  onTestFinished(load.stop)
  return load
}

describe('a load', () => {
  it('is exceeded by one request beyond the limit, until a request ends', () => {
    const load = open()
    load.begin()
    load.begin()
    expect(load.isOverloaded()).toBe(false)
    load.begin()
    expect(load.isOverloaded()).toBe(true)
    load.end(0)
    expect(load.isOverloaded()).toBe(false)
  })

  it('is exceeded by body bytes beyond the limit, until they are released', () => {
    const load = open()
    expect(load.take(600)).toBe(true)
    expect(load.take(600)).toBe(false)
    expect(load.isOverloaded()).toBe(true)
    load.end(1_200)
    expect(load.isOverloaded()).toBe(false)
    expect(load.take(1_000)).toBe(true)
  })

  it('checks the memory periodically, also without requests', async () => {
    let memory = 0
    const load = open({ memory: () => memory })
    memory = 1
    await expect.poll(load.isOverloaded).toBe(true)
    memory = 0
    await expect.poll(load.isOverloaded).toBe(false)
  })

  it('checks the memory with every sixteenth request, and with every request once half of it is used', () => {
    let checks = 0
    let memory = 0.1
    const check = () => {
      checks++
      return memory
    }
    const load = open({ memory: check })
    const requests = (count: number) => {
      const before = checks
      for (let n = 0; n < count; n++) load.begin()
      return checks - before
    }
    expect(requests(32)).toBe(2)
    memory = 0.6
    expect(requests(16)).toBe(1)
    expect(requests(16)).toBe(16)
  })

  it('reports once when an overload begins and once when it has passed', async () => {
    let memory = 0
    const reports: (readonly [boolean, LoadState])[] = []
    const load = open({ memory: () => memory })
    const unwatch = load.watch((isOverloaded, state) => reports.push([isOverloaded, state]))
    memory = 1.5
    await expect.poll(() => reports).toEqual([[true, { requests: 0, bodyBytes: 0, memory: 1.5 }]])
    memory = 0
    await expect.poll(() => reports.length, { timeout: 5_000 }).toBe(2)
    expect(reports[1]?.[0]).toBe(false)
    unwatch()
    memory = 2
    await sleep(250)
    expect(reports).toHaveLength(2)
  })
})
