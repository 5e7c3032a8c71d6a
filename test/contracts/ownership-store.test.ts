import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createMemoryOwnership, type OwnershipRecord, type OwnershipStore } from '../../src/core/tasks/ownership.ts'
import { createMysqlOwnership } from '../../src/entries/mysql.ts'
import { createPostgresOwnership } from '../../src/stores/postgres/ownership-store.ts'
import { createSqliteOwnership } from '../../src/stores/sqlite/ownership-store.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const stores: Readonly<Record<string, () => Promise<OwnershipStore>>> = {
  memory: async () => createMemoryOwnership(),
  SQLite: async () => createSqliteOwnership({ file: join(await temporaryDirectory(), 'gateway.db') }),
  async PostgreSQL() {
    const { url, release } = await takeDatabase()
    const pool = new pg.Pool({ connectionString: url })
    const store = await createPostgresOwnership({ pool, schema: `gateway_${Date.now() % 1e6}` })
    onTestFinished(async () => {
      await store.close()
      await pool.end()
      await release()
    })
    return store
  },
  ...(hasMariadb && {
    async MySQL() {
      const store = await createMysqlOwnership({ pool: await openMariadbPool(), prefix: 'parley_' })
      onTestFinished(() => store.close())
      return store
    },
  }),
}

const task = (id: string, owner: string, more: Partial<OwnershipRecord> = {}): OwnershipRecord => ({
  ...{ agent: 'a', kind: 'task', id, owner, remoteId: id },
  ...more,
})

describe.each(Object.entries(stores))('the ownership store in %s', (_, open) => {
  it('keeps the first of two claims', async () => {
    const store = await open()
    const first = task('one', 'ada', { contextId: 'c', data: { url: 'https://a.example' } })
    expect(await store.claim(first)).toEqual(first)
    expect(await store.claim(task('one', 'bob'))).toEqual(first)
    expect(await store.find({ agent: 'a', kind: 'task', id: 'one' })).toEqual(first)
    expect(await store.find({ agent: 'b', kind: 'task', id: 'one' })).toBeUndefined()
    expect(await store.find({ agent: 'a', kind: 'context', id: 'one' })).toBeUndefined()
    const claims = await Promise.all(['x', 'y', 'z'].map((owner) => store.claim(task('raced', owner))))
    expect(new Set(claims.map(({ owner }) => owner)).size).toBe(1)
  })

  it('finds a record by the id at the agent', async () => {
    const store = await open()
    await store.claim(task('ours', 'ada', { remoteId: 'theirs\u0000' }))
    expect(await store.findRemote({ agent: 'a', kind: 'task', remoteId: 'theirs\u0000' })).toMatchObject({ id: 'ours' })
    expect(await store.findRemote({ agent: 'a', kind: 'task', remoteId: 'ours' })).toBeUndefined()
  })

  it('lists the records of one owner, the newest first, in pages', async () => {
    const store = await open()
    for (const id of ['1', '2', '3', '4']) await store.claim(task(id, 'ada', { contextId: id === '2' ? 'x' : 'y' }))
    await store.claim(task('5', 'bob'))
    const query = { agent: 'a', kind: 'task', owner: 'ada', limit: 3 } as const
    const first = await store.list(query)
    expect(first).toMatchObject({ records: [{ id: '4' }, { id: '3' }, { id: '2' }], total: 4 })
    const second = await store.list({ ...query, cursor: first.next ?? 0 })
    expect(second.records.map(({ id }) => id)).toEqual(['1'])
    expect(second.next).toBeUndefined()
    expect((await store.list({ ...query, contextId: 'x' })).records.map(({ id }) => id)).toEqual(['2'])
  })

  it('removes one record, and those that are too old', async () => {
    const store = await open()
    await store.claim(task('1', 'ada'))
    await store.claim(task('2', 'ada'))
    expect(await store.remove({ agent: 'a', kind: 'task', id: '1' })).toBe(true)
    expect(await store.remove({ agent: 'a', kind: 'task', id: '1' })).toBe(false)
    expect(await store.expire(Date.now() - 60_000, 10)).toBe(0)
    expect(await store.expire(Date.now() + 60_000, 10)).toBe(1)
    expect(await store.find({ agent: 'a', kind: 'task', id: '2' })).toBeUndefined()
  })
})
