import { describe, expect, it, onTestFinished } from 'vitest'
import { createPostgresEntries } from '../../src/entries/postgres.ts'
import { createMemoryEntries, createRegistry, type EntryStore } from '../../src/entries/registry.ts'
import { createClock } from '../../src/entries/testing.ts'
import { createUpkeep } from '../../src/registry/maintenance.ts'
import { entryOf } from '../contracts/registry-entries.ts'
import { gate, quiet } from '../support/house.ts'
import { httpServer } from '../support/http-server.ts'
import { openPool, secondPool } from '../support/postgres/place.ts'
import { cardAt, registryHere } from './place.ts'

async function filled(entries: EntryStore, count: number): Promise<EntryStore> {
  for (let at = 0; at < count; at++)
    await entries.put(entryOf(`agent-${at}`, { seen: 1e15 }), { terms: [], rank: 0, due: 1 })
  return entries
}

const forever = { mesh: Number.POSITIVE_INFINITY, a2a: Number.POSITIVE_INFINITY }

describe('upkeep', () => {
  it('runs by itself on its clock, until it is stopped', async () => {
    const clock = createClock()
    const asked: number[] = []
    const origin = await httpServer((_, response) => {
      asked.push(clock.now())
      response.setHeader('cache-control', 'max-age=60').end(JSON.stringify(cardAt(origin)))
    })
    const registry = registryHere({ clock, upkeep: { interval: 30_000 } })
    await registry.add(`${origin}/card.json`)
    const times = async (count: number) => {
      // What is asked of a server takes real time.
      await expect
        .poll(async () => {
          if (asked.length < count) await clock.advance(10_000)
          return asked.length
        })
        .toBe(count)
    }
    await times(2)
    await times(3)
    expect((asked[2] ?? 0) - (asked[1] ?? 0)).toBeGreaterThanOrEqual(60_000)
    await registry.close()
    await clock.advance(3_600_000)
    expect(asked).toHaveLength(3)
  })

  it('looks at a few at the same time, and each once in a pass', async () => {
    let [now, most] = [0, 0]
    const looked: string[] = []
    const entries = await filled(createMemoryEntries(), 50)
    const upkeep = createUpkeep({
      entries,
      clock: createClock(),
      logger: quiet,
      removeAfter: forever,
      concurrency: 4,
      async look({ id }) {
        most = Math.max(most, ++now)
        looked.push(id)
        await new Promise((resolve) => setImmediate(resolve))
        now--
        if (id === 'agent-7') throw new Error('this one is odd')
        if (id !== 'agent-8') await entries.schedule(id, 1e15)
      },
    })
    await upkeep.run()
    expect(most).toBe(4)
    expect(looked).toHaveLength(50)
    expect(new Set(looked).size).toBe(50)
  })

  it('waits for what is under way when it stops, and begins nothing more', async () => {
    const { promise: opened, resolve: open } = gate()
    const looked: string[] = []
    const entries = await filled(createMemoryEntries(), 10)
    const upkeep = createUpkeep({
      entries,
      clock: createClock(),
      logger: quiet,
      removeAfter: forever,
      concurrency: 2,
      async look({ id }) {
        looked.push(id)
        await opened
      },
    })
    const running = upkeep.run()
    await expect.poll(() => looked.length).toBe(2)
    let isStopped = false
    const stopping = upkeep.stop().then(() => {
      isStopped = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isStopped).toBe(false)
    open()
    await Promise.all([running, stopping])
    expect(looked).toHaveLength(2)
  })

  it('is done by one replica at a time, and by another one when that is gone', async () => {
    const pool = await openPool()
    const stores = [await createPostgresEntries({ pool }), await createPostgresEntries({ pool: secondPool(pool) })]
    onTestFinished(async () => void (await Promise.all(stores.map((entries) => entries.close()))))
    await filled(stores[0] ?? expect.fail(), 20)
    const looked: string[] = []
    const upkeeps = stores.map((entries, replica) =>
      createUpkeep({
        entries,
        clock: createClock(),
        logger: quiet,
        removeAfter: forever,
        async look({ id }) {
          looked.push(`${replica} ${id}`)
          await entries.schedule(id, 1e15)
        },
      }),
    )
    await Promise.all(upkeeps.map((upkeep) => upkeep.run()))
    expect(looked).toHaveLength(20)
    expect(new Set(looked.map((each) => each.split(' ')[0])).size).toBe(1)
    const [first] = looked[0] ?? ''
    await pool.query(`UPDATE parley.registry_leases SET until = now() - interval '1 second'`)
    await stores[0]?.schedule('agent-3', 1)
    await upkeeps[first === '0' ? 1 : 0]?.run()
    expect(looked.at(-1)).toBe(`${first === '0' ? 1 : 0} agent-3`)
  })
})

it('a registry that is closed twice, or before it did anything, is closed', async () => {
  const registry = createRegistry({ fetch: Object.assign(async () => new Response(), { check: async () => {} }) })
  await registry.close()
  await registry.close()
  expect(() => registry.peer).toThrow(/not in the mesh/)
})
