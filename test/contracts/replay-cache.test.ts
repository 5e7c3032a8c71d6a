import { describe, expect, it, onTestFinished } from 'vitest'
import { createReplayCache } from '../../src/entries/mesh.ts'
import { createMysqlReplayCache } from '../../src/entries/mysql.ts'
import { createPostgresReplayCache } from '../../src/entries/postgres.ts'
import type { ServerReplayCache, ServerReplayCacheOptions } from '../../src/stores/shared/replay-cache.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool, secondPool } from '../support/postgres/pools.ts'
import { mark, replayCacheContract } from './replay-cache.ts'

type OpenCache = (options?: ServerReplayCacheOptions) => Promise<ServerReplayCache>

/** Each returns a function that opens caches of several replicas on one database. */
const databases: readonly (readonly [string, () => Promise<OpenCache>])[] = [
  [
    'PostgreSQL',
    async () => {
      const pool = await openMigratedPool()
      return (options) => createPostgresReplayCache({ pool: secondPool(pool), ...options })
    },
  ],
  ...(hasMariadb
    ? [
        [
          'MySQL',
          async () => {
            const pool = await openMariadbPool()
            return (options?: ServerReplayCacheOptions) => createMysqlReplayCache({ pool, ...options })
          },
        ] as const,
      ]
    : []),
]

startServerFirst()

describe('replay cache: memory', () => replayCacheContract(createReplayCache))

describe.each(databases)('replay cache: %s', (_, openDatabase) => {
  const opened = async (cache: Promise<ServerReplayCache>) => {
    onTestFinished(async () => (await cache).close())
    return await cache
  }

  replayCacheContract(async (options) => await opened((await openDatabase())(options)))

  it('two replicas share a cache, even for messages that reach both at once', async () => {
    const open = await openDatabase()
    const [one, two] = [await opened(open()), await opened(open())]
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
