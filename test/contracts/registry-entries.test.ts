import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createMysqlRegistryStore } from '../../src/entries/mysql.ts'
import { createPostgresRegistryStore } from '../../src/entries/postgres.ts'
import { createMemoryRegistryStore } from '../../src/entries/registry.ts'
import { createSqliteRegistryStore } from '../../src/entries/sqlite.ts'
import type { RegistryStore } from '../../src/registry/entry.ts'
import type { ServerRegistryOptions } from '../../src/stores/shared/registry-store.ts'
import { entryOf, latestOf, put, registryStoreTests } from '../../src/testing/stores/registry-store.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool, secondPool } from '../support/postgres/pools.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { closingStorage, runSuite } from './run-suite.ts'

type OpenEntries = (options?: ServerRegistryOptions) => Promise<RegistryStore>

/** Each returns a function that opens stores of several replicas on one database. */
const databases: readonly (readonly [string, () => Promise<OpenEntries>])[] = [
  [
    'PostgreSQL',
    async () => {
      const pool = await openMigratedPool()
      return (options) => createPostgresRegistryStore({ pool: secondPool(pool), ...options })
    },
  ],
  ...(hasMariadb
    ? [
        [
          'MySQL',
          async () => {
            const pool = await openMariadbPool()
            return (options?: ServerRegistryOptions) => createMysqlRegistryStore({ pool, ...options })
          },
        ] as const,
      ]
    : []),
]

startServerFirst()

describe('registry entries: memory', () =>
  runSuite(registryStoreTests, async () => closingStorage(async (options) => createMemoryRegistryStore(options))))

describe('registry entries: SQLite', () => {
  runSuite(registryStoreTests, async () => {
    const file = join(await temporaryDirectory(), 'made', 'registry.db')
    return closingStorage(async (options) => createSqliteRegistryStore({ file, ...options }))
  })

  it('entries survive the process and are shared by two', async () => {
    const file = join(await temporaryDirectory(), 'registry.db')
    const first = createSqliteRegistryStore({ file })
    await put(first, entryOf('tea-agent'))
    await first.close()
    const [second, third] = [createSqliteRegistryStore({ file }), createSqliteRegistryStore({ file })]
    expect((await second.find({ terms: ['c:prices'], limit: 1 })).total).toBe(1)
    const before = await latestOf(second)
    const waiting = second.wait(before, AbortSignal.timeout(5_000))
    await third.remove('tea-agent')
    await waiting
    expect((await second.changes(before, 1)).changes).toMatchObject([{ type: 'removed' }])
    expect(await second.lease('maintenance', 'second', 60_000)).toBe(true)
    expect(await third.lease('maintenance', 'third', 60_000)).toBe(false)
    expect(await second.lease('maintenance', 'second', -1)).toBe(true)
    expect(await third.lease('maintenance', 'third', 60_000)).toBe(true)
    await second.close()
    await third.close()
  })
})

describe.each(databases)('registry entries: %s', (_, openDatabase) => {
  runSuite(registryStoreTests, async () => closingStorage(await openDatabase()))

  async function openReplicas(): Promise<readonly [RegistryStore, RegistryStore]> {
    const open = await openDatabase()
    const replicas = [await open(), await open()] as const
    onTestFinished(async () => {
      for (const replica of replicas) await replica.close()
    })
    return replicas
  }

  it('two replicas share one registry and are notified of changes at once', async () => {
    const [one, two] = await openReplicas()
    const startedAt = performance.now()
    const before = await latestOf(two)
    const waiting = two.wait(before, AbortSignal.timeout(10_000))
    await put(one, entryOf('tea-agent'))
    await waiting
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    expect(await two.get('tea-agent')).toEqual(entryOf('tea-agent'))
    expect(await two.changes(before, 10)).toMatchObject({
      changes: [{ number: before + 1, type: 'registered' }],
      latest: before + 1,
    })
  })

  it('concurrent changes of replicas are numbered without a gap', async () => {
    const [one, two] = await openReplicas()
    const before = await latestOf(one)
    const ids = Array.from({ length: 40 }, (_, at) => `agent-${at}`)
    await Promise.all(ids.map((id, at) => put(at % 2 ? one : two, entryOf(id))))
    await Promise.all(ids.flatMap((id) => [one.touch(id, 2, 'said'), put(two, entryOf(id))]))
    const { changes = [], latest } = await one.changes(before, 1_000)
    expect(changes.map(({ number }) => number - before)).toEqual(changes.map((_, at) => at + 1))
    expect(changes.at(-1)?.number).toBe(latest)
    expect((await two.find({ limit: 1 })).total).toBe(40)
  })

  it('only one replica at a time holds a lease', async () => {
    const [one, two] = await openReplicas()
    expect(await one.lease('maintenance', 'one', 60_000)).toBe(true)
    expect(await two.lease('maintenance', 'two', 60_000)).toBe(false)
    expect(await one.lease('maintenance', 'one', -1)).toBe(true)
    expect(await two.lease('maintenance', 'two', 60_000)).toBe(true)
  })
})
