import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLoad, type LoadOptions, type LoadState } from './load.ts'

function open(options: Partial<LoadOptions> = {}) {
  const load = createLoad({ requests: 2, bodyBytes: 1_000, responseBytes: 1_000, memory: () => 0, ...options })
  onTestFinished(load.stop)
  return load
}

describe('a load', () => {
  it('a load is exceeded by one request beyond the limit, until a request ends', () => {
    const load = open()
    load.begin()
    load.begin()
    expect(load.isOverloaded()).toBe(false)
    load.begin()
    expect(load.isOverloaded()).toBe(true)
    load.end(0)
    expect(load.isOverloaded()).toBe(false)
  })

  it('a load is exceeded by body bytes beyond the limit, until they are released', () => {
    const load = open()
    expect(load.take(600)).toBe(true)
    expect(load.take(600)).toBe(false)
    expect(load.isOverloaded()).toBe(true)
    load.end(1_200)
    expect(load.isOverloaded()).toBe(false)
    expect(load.take(1_000)).toBe(true)
  })

  it('a load has room for large responses up to its limit, and for a quarter of it per caller', () => {
    const load = open()
    const first = load.reserve({ bytes: 200 }, 'ann')
    expect(load.reserve({ bytes: 100 }, 'ann')).toBeUndefined()
    expect(load.reserve({ bytes: 700 }, 'bob')).toBeDefined()
    expect(load.reserve({ bytes: 200 }, 'cid')).toBeUndefined()
    first?.()
    first?.()
    expect(load.reserve({ bytes: 300 }, 'cid')).toBeDefined()
    expect(load.isOverloaded()).toBe(false)
  })

  it('a load counts a shared response once, but for each of its callers', () => {
    const load = open()
    const shared = { bytes: 900 }
    const releases = ['ann', 'bob', 'cid'].map((caller) => load.reserve(shared, caller))
    expect(releases).not.toContain(undefined)
    expect(load.reserve(shared, 'ann')).toBeUndefined()
    for (const release of releases.slice(1)) release?.()
    expect(load.reserve({ bytes: 200 }, 'dan')).toBeUndefined()
    releases[0]?.()
    expect(load.reserve({ bytes: 200 }, 'dan')).toBeDefined()
  })

  it('a load has room for a response beyond its limit while there is no other', () => {
    const load = open()
    const release = load.reserve({ bytes: 5_000 }, 'ann')
    expect(release).toBeDefined()
    expect(load.reserve({ bytes: 1 }, 'bob')).toBeUndefined()
    release?.()
    expect(load.reserve({ bytes: 1 }, 'bob')).toBeDefined()
  })

  it('a load checks the memory periodically, also without requests', async () => {
    let memory = 0
    const load = open({ memory: () => memory })
    memory = 1
    await expect.poll(load.isOverloaded).toBe(true)
    memory = 0
    await expect.poll(load.isOverloaded).toBe(false)
  })

  it('a load checks the memory with every sixteenth request, and with every request once half of it is used', () => {
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

  it('a load reports once when an overload begins and once when it has passed', async () => {
    let memory = 0
    const reports: (readonly [boolean, LoadState])[] = []
    const load = open({ memory: () => memory })
    const unwatch = load.watch((isOverloaded, state) => reports.push([isOverloaded, state]))
    memory = 1.5
    await expect.poll(() => reports).toEqual([[true, { requests: 0, bodyBytes: 0, responseBytes: 0, memory: 1.5 }]])
    memory = 0
    await expect.poll(() => reports.length, { timeout: 5_000 }).toBe(2)
    expect(reports[1]?.[0]).toBe(false)
    unwatch()
    memory = 2
    await sleep(250)
    expect(reports).toHaveLength(2)
  })
})
