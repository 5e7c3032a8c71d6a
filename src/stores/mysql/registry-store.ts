import { checkOptions, milliseconds, type OptionChecks, text } from '../../core/base/options.ts'
import type { EntryKind, RegistryStore } from '../../registry/entry.ts'
import type { Database } from '../shared/database.ts'
import { numbered } from '../shared/heads.ts'
import { commonSize } from '../shared/registry-query.ts'
import { type EntryKinds, type EntryRow, entryColumns } from '../shared/registry-search.ts'
import {
  createServerRegistry,
  type RecordedChange,
  type RegistryEngine,
  registryChecks,
  type ServerRegistryOptions,
} from '../shared/registry-store.ts'
import { type MysqlPool, poolCheck } from './connection.ts'
import { createMysqlOperatorState } from './operator-log.ts'
import { openDatabase } from './schema.ts'
import { mysqlSyntax, rowsOf, rowsSql } from './sql-text.ts'

/** Options of `createMysqlRegistryStore`. */
export interface MysqlRegistryStoreOptions extends ServerRegistryOptions {
  /** A pool of `mysql2/promise`, with a database. The store does not end it. */
  readonly pool: MysqlPool
  /** How the names of the tables begin, which are created if missing. Defaults to `parley_`, as for the log. */
  readonly prefix?: string
  /** Interval at which waiting readers look for changes of other processes, in milliseconds. Defaults to 250 ms. */
  readonly pollInterval?: number
}

const optionChecks: OptionChecks<MysqlRegistryStoreOptions> = {
  ...registryChecks,
  pool: poolCheck,
  prefix: text,
  pollInterval: milliseconds({ min: 1 }),
}

/** Stores the entries of a registry in MySQL or MariaDB, which any number of replicas may share. */
export async function createMysqlRegistryStore(options: MysqlRegistryStoreOptions): Promise<RegistryStore> {
  checkOptions('createMysqlRegistryStore', options, optionChecks, ['pool'])
  const { pool, prefix = 'parley_', patience = 15_000, statementTimeout = 10_000, pollInterval = 250 } = options
  return await createServerRegistry(async ({ closed }) => {
    const subject = 'The registry'
    const db = await openDatabase({ pool, prefix, patience, statementTimeout, closed, subject })
    return createEngine(db, pollInterval)
  }, options)
}

function createEngine(db: Database, pollInterval: number): RegistryEngine {
  const agents = db.name('registry_agents')
  const [terms, counts] = [db.name('registry_terms'), db.name('registry_term_counts')]
  const [state, changes] = [db.name('registry_state'), db.name('registry_changes')]
  const termColumns = { term: 'id', total: 'long' } as const
  const setSeen = db.prepareChange<{ readonly id: string; readonly seen: number }>(
    ({ id, seen }) => `UPDATE ${agents} SET seen = GREATEST(seen, ${seen}) WHERE id = ${id}`,
  )
  const select = db.prepare<EntryRow, { readonly id: string }>(
    ({ id }) => `SELECT ${entryColumns} FROM ${agents} WHERE id = ${id}`,
  )
  const countTerm = db.prepare<SizeRow, EntryKinds & { readonly term: string }>(
    ({ term, mesh, a2a }) =>
      `SELECT SUM(total) AS size FROM ${counts} WHERE term = ${term} AND kind IN (${mesh}, ${a2a})`,
  )
  const countPrefix = db.prepare<SizeRow, EntryKinds & { readonly from: string; readonly to: string }>(
    ({ from, to, mesh, a2a }) => `
    SELECT SUM(total) AS size FROM (
      SELECT total FROM ${counts} WHERE term >= ${from} AND term < ${to} AND kind IN (${mesh}, ${a2a})
      LIMIT ${commonSize}) AS few`,
  )
  const sizeOf = ([row]: readonly SizeRow[]) => Number(row?.size ?? 0)
  return {
    db,
    pollInterval,
    tables: {
      agents,
      terms,
      state,
      byHealth: `${agents} e FORCE INDEX (by_health)`,
      placeholder: numbered,
      join: 'STRAIGHT_JOIN',
      unindexed: '',
      materialized: '',
      isFailing: 'e.is_failing',
      seek: 'column',
    },
    operator: createMysqlOperatorState(db, (run) => db.withRetry(run)),
    async record(query, { type, id, mesh, a2a, kept }) {
      await query<unknown, Pick<RecordedChange, EntryKind>>(
        (value) => `UPDATE ${state} SET number = number + 1, mesh = mesh + ${value.mesh}, a2a = a2a + ${value.a2a}`,
        { mesh, a2a },
      )
      await query<unknown, Pick<RecordedChange, 'type' | 'id'>>(
        (value) => `INSERT INTO ${changes} (number, type, id) SELECT number, ${value.type}, ${value.id} FROM ${state}`,
        { type, id },
      )
      await query<unknown, { readonly kept: number }>(
        (value) => `DELETE FROM ${changes} WHERE number <= (SELECT number FROM ${state}) - ${value.kept}`,
        { kept },
      )
    },
    async setSeen(id, seen) {
      await setSeen({ id, seen })
      return (await select({ id }))[0]
    },
    async addTerms(query, { terms: added, name, id, kind }) {
      const rows = rowsOf(added, (term) => ({ term }))
      await query<unknown, Readonly<Record<'rows' | 'name' | 'id', string>>>(
        (value) => `
        INSERT INTO ${terms} (term, name, id)
        SELECT added.term, ${value.name}, ${value.id} FROM ${rowsSql(value.rows, termColumns)} AS added`,
        { rows, name, id },
      )
      await query<unknown, Readonly<Record<'rows' | 'kind', string>>>(
        (value) => `
        INSERT INTO ${counts} (term, kind, total)
        SELECT added.term, ${value.kind}, 1 FROM ${rowsSql(value.rows, termColumns)} AS added
        ON DUPLICATE KEY UPDATE total = ${counts}.total + 1`,
        { rows, kind },
      )
    },
    async removeTerms(query, kind, ids) {
      const list = mysqlSyntax.encodeList(ids)
      const gone = await query<{ readonly term: string; readonly total: number | string }, { readonly list: string }>(
        (value) => `
        SELECT stored.term, COUNT(*) AS total FROM ${rowsSql(value.list, { text: 'id' })} AS old
        STRAIGHT_JOIN ${terms} AS stored ON stored.id = old.text GROUP BY stored.term`,
        { list },
      )
      await query<unknown, { readonly list: string }>((value) => mysqlSyntax.deleteListed(terms, 'id', value.list), {
        list,
      })
      const rows = rowsOf(gone, ({ term, total }) => ({ term, total: Number(total) }))
      const counted = (value: Readonly<Record<'rows' | 'kind', string>>) => `
        ${rowsSql(value.rows, termColumns)} AS old
        STRAIGHT_JOIN ${counts} AS stored ON stored.term = old.term AND stored.kind = ${value.kind}`
      await query<unknown, { readonly rows: string; readonly kind: EntryKind }>(
        (value) => `UPDATE ${counted(value)} SET stored.total = stored.total - old.total`,
        { rows, kind },
      )
      await query<unknown, { readonly rows: string; readonly kind: EntryKind }>(
        (value) => `DELETE stored FROM ${counted(value)} WHERE stored.total <= 0`,
        { rows, kind },
      )
    },
    async sizesOf(wanted, prefixes, kinds) {
      const [termSizes, prefixSizes] = await Promise.all([
        Promise.all(wanted.map(async (term) => sizeOf(await countTerm({ ...kinds, term })))),
        Promise.all(
          prefixes.map(async (from) => sizeOf(await countPrefix({ ...kinds, from, to: `${from}\u{10ffff}` }))),
        ),
      ])
      return { terms: termSizes, prefixes: prefixSizes }
    },
  }
}

interface SizeRow {
  readonly size: number | string | null
}
