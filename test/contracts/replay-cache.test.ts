import { describe, expect, it, onTestFinished } from 'vitest'
import { createReplayCache } from '../../src/entries/mesh.ts'
import { createPostgresReplayCache } from '../../src/entries/postgres.ts'
import type { PostgresReplayCacheOptions } from '../../src/stores/postgres/replay-cache.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool, secondPool } from '../support/postgres/pools.ts'
import { mark, replayCacheContract } from './replay-cache.ts'

startServerFirst()

describe('replay cache: memory', () => replayCacheContract(createReplayCache))

describe('replay cache: PostgreSQL', () => {
  replayCacheContract(async (options) => await openCache({ pool: await openMigratedPool(), ...options }))

  it('two replicas share a cache, even for messages that reach both at once', async () => {
    const pool = await openMigratedPool()
    const [one, two] = [await openCache({ pool }), await openCache({ pool: secondPool(pool) })]
    const until = Date.now() + 60_000
    const ids = Array.from({ length: 50 }, () => crypto.randomUUID())
    const claims = await Promise.all(
      ids.map((id) => Promise.all([one, two].map((cache) => cache.claim(mark(id, { until }))))),
    )
    for (const both of claims) expect(both.toSorted()).toEqual(['new', 'pending'])
    await one.settle(ids[0] ?? '', 'the answer')
    expect(await two.claim(mark(ids[0] ?? '', { until }))).toEqual({ reply: 'the answer' })
    expect(await two.claim(mark('other', { nonce: `n-${ids[1]}`, until }))).toBe('replay')
  })
})

async function openCache(options: PostgresReplayCacheOptions) {
  const cache = await createPostgresReplayCache(options)
  onTestFinished(() => cache.close())
  return cache
}
