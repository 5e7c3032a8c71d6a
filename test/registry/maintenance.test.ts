import { describe, expect, it, onTestFinished } from 'vitest'
import { createPostgresRegistryStore } from '../../src/entries/postgres.ts'
import { createMemoryRegistryStore, createRegistry, type RegistryStore } from '../../src/entries/registry.ts'
import { createVirtualClock } from '../../src/entries/testing.ts'
import { createMaintenance } from '../../src/registry/maintenance.ts'
import { entryOf } from '../../src/testing/stores/registry-store.ts'
import { deferred } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'
import { openMigratedPool, secondPool } from '../support/postgres/pools.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { cardAt, createTestRegistry } from './registry-fixtures.ts'

async function fillWithDue(entries: RegistryStore, count: number): Promise<RegistryStore> {
  for (let at = 0; at < count; at++)
    await entries.put(entryOf(`agent-${at}`, { seen: 1e15 }), { terms: [], rank: 0, due: 1 })
  return entries
}

const never = { mesh: Number.POSITIVE_INFINITY, a2a: Number.POSITIVE_INFINITY }

describe('maintenance', () => {
  it('maintenance runs at its interval until the registry is closed', async () => {
    const clock = createVirtualClock()
    const requestTimes: number[] = []
    const origin = await startHttpServer((_, response) => {
      requestTimes.push(clock.now())
      response.setHeader('cache-control', 'max-age=60').end(JSON.stringify(cardAt(origin)))
    })
    const registry = createTestRegistry({ clock, maintenance: { interval: 30_000 } })
    await registry.add(`${origin}/card.json`)
    const requestCount = async (count: number) => {
      // Requests to a server take real time, so the virtual clock advances until they arrive.
      await expect
        .poll(async () => {
          if (requestTimes.length < count) await clock.advance(10_000)
          return requestTimes.length
        })
        .toBe(count)
    }
    await requestCount(2)
    await requestCount(3)
    expect((requestTimes[2] ?? 0) - (requestTimes[1] ?? 0)).toBeGreaterThanOrEqual(60_000)
    await registry.close()
    await clock.advance(3_600_000)
    expect(requestTimes).toHaveLength(3)
  })

  it('a pass checks each entry once, a few concurrently', async () => {
    let [running, maxRunning] = [0, 0]
    const checked: string[] = []
    const entries = await fillWithDue(createMemoryRegistryStore(), 50)
    const maintenance = createMaintenance({
      entries,
      clock: createVirtualClock(),
      logger: silentLogger,
      removeAfter: never,
      concurrency: 4,
      async check({ id }) {
        maxRunning = Math.max(maxRunning, ++running)
        checked.push(id)
        await new Promise((resolve) => setImmediate(resolve))
        running--
        if (id === 'agent-7') throw new Error('failing check')
        if (id !== 'agent-8') await entries.schedule(id, 1e15)
      },
    })
    await maintenance.run()
    expect(maxRunning).toBe(4)
    expect(checked).toHaveLength(50)
    expect(new Set(checked).size).toBe(50)
  })

  it('stop waits for running checks and starts no others', async () => {
    const { promise: opened, resolve: open } = deferred()
    const checked: string[] = []
    const entries = await fillWithDue(createMemoryRegistryStore(), 10)
    const maintenance = createMaintenance({
      entries,
      clock: createVirtualClock(),
      logger: silentLogger,
      removeAfter: never,
      concurrency: 2,
      async check({ id }) {
        checked.push(id)
        await opened
      },
    })
    const running = maintenance.run()
    await expect.poll(() => checked.length).toBe(2)
    let isStopped = false
    const stopping = maintenance.stop().then(() => {
      isStopped = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isStopped).toBe(false)
    open()
    await Promise.all([running, stopping])
    expect(checked).toHaveLength(2)
  })

  it('one replica at a time runs maintenance, and another takes over when the lease expires', async () => {
    const pool = await openMigratedPool()
    const stores = [
      await createPostgresRegistryStore({ pool }),
      await createPostgresRegistryStore({ pool: secondPool(pool) }),
    ]
    onTestFinished(async () => void (await Promise.all(stores.map((entries) => entries.close()))))
    await fillWithDue(stores[0] ?? expect.fail(), 20)
    const checked: string[] = []
    const replicas = stores.map((entries, replica) =>
      createMaintenance({
        entries,
        clock: createVirtualClock(),
        logger: silentLogger,
        removeAfter: never,
        async check({ id }) {
          checked.push(`${replica} ${id}`)
          await entries.schedule(id, 1e15)
        },
      }),
    )
    await Promise.all(replicas.map((replica) => replica.run()))
    expect(checked).toHaveLength(20)
    expect(new Set(checked.map((line) => line.split(' ')[0])).size).toBe(1)
    const [first] = checked[0] ?? ''
    await pool.query(`UPDATE parley.registry_leases SET until = now() - interval '1 second'`)
    await stores[0]?.schedule('agent-3', 1)
    await replicas[first === '0' ? 1 : 0]?.run()
    expect(checked.at(-1)).toBe(`${first === '0' ? 1 : 0} agent-3`)
  })
})

it('a registry can be closed twice', async () => {
  const registry = createRegistry({ fetch: Object.assign(async () => new Response(), { check: async () => {} }) })
  await registry.close()
  await registry.close()
  expect(() => registry.peer).toThrow(/not in the mesh/)
})
