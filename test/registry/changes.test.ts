import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPostgresEntries } from '../../src/entries/postgres.ts'
import { createMemoryEntries, type EntryStore } from '../../src/entries/registry.ts'
import { createSqliteEntries } from '../../src/entries/sqlite.ts'
import { readEvents } from '../../src/http/sse-reader.ts'
import { entryOf, put } from '../contracts/registry-entries.ts'
import { openPool, secondPool } from '../support/postgres/place.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { registryHere, registryServer } from './place.ts'

/** Two replicas of one registry. */
const pairs: Readonly<Record<string, () => Promise<readonly [EntryStore, EntryStore]>>> = {
  'in memory (one process)': async () => {
    const entries = createMemoryEntries()
    return [entries, entries]
  },
  'on SQLite': async () => {
    const file = join(await temporaryDirectory(), 'registry.db')
    return [createSqliteEntries({ file }), createSqliteEntries({ file })]
  },
  'on PostgreSQL': async () => {
    const pool = await openPool()
    return [await createPostgresEntries({ pool }), await createPostgresEntries({ pool: secondPool(pool) })]
  },
}

async function replicas(name: string): Promise<readonly [EntryStore, EntryStore]> {
  const pair = (await pairs[name]?.()) ?? expect.fail()
  onTestFinished(async () => void (await Promise.all(pair.map((entries) => entries.close()))))
  return pair
}

describe.each(Object.keys(pairs))('changes of a registry %s', (name) => {
  it('are seen by who follows another replica, and continued after the last one that was seen', async () => {
    const [here, there] = await replicas(name)
    const { url } = await registryServer({ entries: here })
    const reader = await followBy(url)
    await put(there, entryOf('tea-agent'))
    await there.touch('tea-agent', 2, 'said')
    const first = await reader.take(2)
    expect(first.map(({ event }) => event)).toEqual(['registered', 'status'])
    expect(JSON.parse(first[0]?.data ?? '')).toMatchObject({ type: 'registered', id: 'tea-agent' })
    reader.leave()
    await there.remove('tea-agent')
    const again = await followBy(url, { 'last-event-id': first[0]?.id ?? '' })
    const rest = await again.take(2)
    expect(rest.map(({ event }) => event)).toEqual(['status', 'removed'])
    expect(Number(rest[1]?.id)).toBe(Number(first[0]?.id) + 2)
    again.leave()
  })
})

it('who was away for too long is told to look at everything anew', async () => {
  const entries = createMemoryEntries({ changesKept: 2 })
  const registry = registryHere({ entries })
  const { latest } = await entries.changes(0, 1)
  for (const id of ['a-agent', 'b-agent', 'c-agent']) await put(entries, entryOf(id))
  const changes = registry.follow({ after: latest })
  expect((await changes.next()).value).toEqual({ type: 'reset', number: latest + 3 })
  await put(entries, entryOf('d-agent'))
  expect((await changes.next()).value).toEqual({ type: 'registered', number: latest + 4, id: 'd-agent' })
  await registry.close()
  expect((await changes.next()).done).toBe(true)
})

it('so many may follow at once, and who leaves makes room', async () => {
  const { url } = await registryServer({ maxFollowers: 1 })
  const first = await followBy(url)
  expect((await fetch(`${url}/changes`)).status).toBe(503)
  first.leave()
  await expect
    .poll(async () => {
      const response = await fetch(`${url}/changes`)
      await response.body?.cancel()
      return response.status
    })
    .toBe(200)
})

it('who does not read costs nothing but its connection: nothing is kept for it', async () => {
  const entries = createMemoryEntries({ changesKept: 100 })
  const registry = registryHere({ entries })
  const slow = registry.follow()
  for (let at = 0; at < 1_000; at++) await put(entries, entryOf('tea-agent'))
  expect((await slow.next()).value).toMatchObject({ type: 'reset' })
})

/** A reader of the stream. */
async function followBy(url: string, headers: Readonly<Record<string, string>> = {}) {
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const response = await fetch(`${url}/changes`, { headers, signal: leaving.signal })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events = readEvents(response.body ?? expect.fail(), { limit: 10_000, idle: 20_000, signal: leaving.signal })
  return {
    leave: () => leaving.abort(),
    async take(count: number) {
      const taken = []
      while (taken.length < count) {
        const next = await events.next()
        if (next.done) break
        taken.push(next.value)
      }
      return taken
    },
  }
}
