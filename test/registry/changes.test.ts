import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readEvents } from '../../src/core/http/sse-reader.ts'
import { createPostgresRegistryStore } from '../../src/entries/postgres.ts'
import { createMemoryRegistryStore, type RegistryStore } from '../../src/entries/registry.ts'
import { createSqliteRegistryStore } from '../../src/entries/sqlite.ts'
import { entryOf, put } from '../../src/testing/stores/registry-store.ts'
import { openMigratedPool, secondPool } from '../support/postgres/pools.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { createTestRegistry, startRegistryServer } from './registry-fixtures.ts'

/** Stores of two replicas that share one registry. */
const pairs: Readonly<Record<string, () => Promise<readonly [RegistryStore, RegistryStore]>>> = {
  'in memory (one process)': async () => {
    const entries = createMemoryRegistryStore()
    return [entries, entries]
  },
  'on SQLite': async () => {
    const file = join(await temporaryDirectory(), 'registry.db')
    return [createSqliteRegistryStore({ file }), createSqliteRegistryStore({ file })]
  },
  'on PostgreSQL': async () => {
    const pool = await openMigratedPool()
    return [await createPostgresRegistryStore({ pool }), await createPostgresRegistryStore({ pool: secondPool(pool) })]
  },
}

async function replicas(name: string): Promise<readonly [RegistryStore, RegistryStore]> {
  const pair = (await pairs[name]?.()) ?? expect.fail()
  onTestFinished(async () => void (await Promise.all(pair.map((entries) => entries.close()))))
  return pair
}

describe.each(Object.keys(pairs))('following changes %s', (name) => {
  it('a stream of another replica delivers changes and resumes after the last event id', async () => {
    const [here, there] = await replicas(name)
    const { url } = await startRegistryServer({ entries: here })
    const reader = await openStream(url)
    await put(there, entryOf('tea-agent'))
    await there.touch('tea-agent', 2, 'said')
    const first = await reader.take(2)
    expect(first.map(({ event }) => event)).toEqual(['registered', 'status'])
    expect(JSON.parse(first[0]?.data ?? '')).toMatchObject({ type: 'registered', id: 'tea-agent' })
    reader.close()
    await there.remove('tea-agent')
    const resumed = await openStream(url, { 'last-event-id': first[0]?.id ?? '' })
    const rest = await resumed.take(2)
    expect(rest.map(({ event }) => event)).toEqual(['status', 'removed'])
    expect(Number(rest[1]?.id)).toBe(Number(first[0]?.id) + 2)
    resumed.close()
  })
})

it('a reader that missed dropped changes receives a reset', async () => {
  const entries = createMemoryRegistryStore({ changesKept: 2 })
  const registry = createTestRegistry({ entries })
  const { latest } = await entries.changes(0, 1)
  for (const id of ['a-agent', 'b-agent', 'c-agent']) await put(entries, entryOf(id))
  const changes = registry.follow({ after: latest })
  expect((await changes.next()).value).toEqual({ type: 'reset', number: latest + 3 })
  await put(entries, entryOf('d-agent'))
  expect((await changes.next()).value).toEqual({ type: 'registered', number: latest + 4, id: 'd-agent' })
  await registry.close()
  expect((await changes.next()).done).toBe(true)
})

it('the number of concurrent streams is limited, and a closed stream frees its slot', async () => {
  const { url } = await startRegistryServer({ maxFollowers: 1 })
  const first = await openStream(url)
  expect((await fetch(`${url}/changes`)).status).toBe(503)
  first.close()
  await expect
    .poll(async () => {
      const response = await fetch(`${url}/changes`)
      await response.body?.cancel()
      return response.status
    })
    .toBe(200)
})

it('nothing is buffered for a reader that does not read', async () => {
  const entries = createMemoryRegistryStore({ changesKept: 100 })
  const registry = createTestRegistry({ entries })
  const slow = registry.follow()
  for (let count = 0; count < 1_000; count++) await put(entries, entryOf('tea-agent'))
  expect((await slow.next()).value).toMatchObject({ type: 'reset' })
})

/** Opens a stream of changes over HTTP. */
async function openStream(url: string, headers: Readonly<Record<string, string>> = {}) {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const response = await fetch(`${url}/changes`, { headers, signal: controller.signal })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events = readEvents(response.body ?? expect.fail(), { limit: 10_000, idle: 20_000, signal: controller.signal })
  return {
    close: () => controller.abort(),
    async take(count: number) {
      const received = []
      while (received.length < count) {
        const next = await events.next()
        if (next.done) break
        received.push(next.value)
      }
      return received
    },
  }
}
