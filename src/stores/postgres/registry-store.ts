import { checkOptions, flag, type OptionChecks, text } from '../../core/base/options.ts'
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
import { type PostgresPool, poolCheck } from './connection.ts'
import { createListener } from './listener.ts'
import { createPostgresOperatorState } from './operator/operator-state.ts'
import { openDatabase } from './schema.ts'
import { linesSql } from './sql-text.ts'

/** After this many new entries, or a fifth of all if that is more, the tables are analyzed for the query planner. */
const minNewEntries = 200

/** Polling interval for lost notifications while a reader waits, in milliseconds. */
const pollInterval = 1_000

/** Offset that sorts the sizes of prefixes after those of terms. */
const prefixOffset = 1_000_000

/** Options of `createPostgresRegistryStore`. */
export interface PostgresRegistryStoreOptions extends ServerRegistryOptions {
  /** A `Pool` of the package `pg`, which the store does not end. It uses one connection for notifications while a reader waits. */
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley`, as for the log. */
  readonly schema?: string
  /** Set to false behind PgBouncer in transaction mode: statements are not prepared, and readers poll. Defaults to true. */
  readonly prepare?: boolean
}

const optionChecks: OptionChecks<PostgresRegistryStoreOptions> = {
  ...registryChecks,
  pool: poolCheck,
  schema: text,
  prepare: flag,
}

/** Stores the entries of a registry in PostgreSQL, which any number of replicas may share. */
export async function createPostgresRegistryStore(options: PostgresRegistryStoreOptions): Promise<RegistryStore> {
  checkOptions('createPostgresRegistryStore', options, optionChecks, ['pool'])
  const { pool, schema = 'parley', patience = 15_000, statementTimeout = 10_000, prepare } = options
  return await createServerRegistry(async ({ closed, wakeAll }) => {
    const subject = 'The registry'
    const db = await openDatabase({ pool, schema, prepare, patience, statementTimeout, closed, subject })
    const channel = `parley registry ${schema}`
    const woken = { onNotification: wakeAll, onListening: wakeAll }
    const listening = prepare === false ? undefined : pool
    const listener = createListener({ pool: listening, channel, statementTimeout, closed, ...woken })
    return { ...createEngine(db, channel), onWait: () => listener.start() }
  }, options)
}

function createEngine(db: Database, channel: string): RegistryEngine {
  const agents = db.name('registry_agents')
  const [terms, counts] = [db.name('registry_terms'), db.name('registry_term_counts')]
  const [state, changes] = [db.name('registry_state'), db.name('registry_changes')]
  const setSeen = db.prepare<EntryRow, { readonly id: string; readonly seen: number }>(
    ({ id, seen }) =>
      `UPDATE ${agents} SET seen = greatest(seen, ${seen}::float8) WHERE id = ${id} RETURNING ${entryColumns}`,
  )
  const selectSizes = db.prepare<
    { readonly place: number; readonly size: number },
    EntryKinds & { readonly terms: string; readonly prefixes: string }
  >(
    ({ terms: all, prefixes, mesh, a2a }) => `
    SELECT place::float8, coalesce((
      SELECT sum(total) FROM ${counts} c WHERE c.term = wanted.term AND c.kind IN (${mesh}, ${a2a})), 0)::float8 AS size
    FROM unnest(${linesSql(all)}) WITH ORDINALITY AS wanted (term, place)
    UNION ALL
    SELECT place::float8 + ${prefixOffset}, coalesce((SELECT sum(total) FROM (
      SELECT total FROM ${counts} c
      WHERE c.term >= wanted.term AND c.term < wanted.term || chr(1114111) AND c.kind IN (${mesh}, ${a2a})
      LIMIT ${commonSize}) AS few
    ), 0)::float8
    FROM unnest(${linesSql(prefixes)}) WITH ORDINALITY AS wanted (term, place)`,
  )
  return {
    db,
    pollInterval,
    tables: {
      agents,
      terms,
      state,
      byHealth: `${agents} e`,
      placeholder: numbered,
      join: 'JOIN',
      unindexed: '',
      materialized: 'MATERIALIZED',
      isFailing: '(e.trouble IS NOT NULL)',
      seek: 'row',
    },
    operator: createPostgresOperatorState(db, (run) => db.withRetry(run)),
    onAdded: createAnalyzer(db, [agents, terms, counts]),
    async record(query, change) {
      await query<unknown, RecordedChange & { readonly channel: string }>(
        (value) => `
        WITH counted AS (
          UPDATE ${state} SET number = number + 1, mesh = mesh + ${value.mesh}, a2a = a2a + ${value.a2a} RETURNING number),
        dropped AS (DELETE FROM ${changes} WHERE number <= (SELECT number FROM ${state}) + 1 - ${value.kept}::bigint),
        inserted AS (INSERT INTO ${changes} (number, type, id) SELECT number, ${value.type}, ${value.id} FROM counted)
        SELECT pg_notify(${value.channel}, number::text) FROM counted`,
        { ...change, channel },
      )
    },
    setSeen: async (id, seen) => (await setSeen({ id, seen }))[0],
    async addTerms(query, { terms: added, name, id, kind }) {
      await query<unknown, Readonly<Record<'added' | 'name' | 'id' | 'kind', string>>>(
        (value) => `
        WITH put AS (
          INSERT INTO ${terms} (term, name, id)
          SELECT term, ${value.name}, ${value.id} FROM unnest(${linesSql(value.added)}) AS term
          RETURNING term)
        INSERT INTO ${counts} AS c (term, kind, total) SELECT term, ${value.kind}, 1 FROM put
        ON CONFLICT (term, kind) DO UPDATE SET total = c.total + 1`,
        { added: added.join('\n'), name, id, kind },
      )
    },
    async removeTerms(query, kind, ids) {
      const counted = await query<
        { readonly term: string; readonly total: number },
        { readonly ids: string; readonly kind: EntryKind }
      >(
        (value) => `
        WITH gone AS (DELETE FROM ${terms} WHERE id = ANY (${linesSql(value.ids)}) RETURNING term),
        counted AS (SELECT term, count(*) AS total FROM gone GROUP BY term)
        UPDATE ${counts} c SET total = c.total - counted.total FROM counted
        WHERE c.term = counted.term AND c.kind = ${value.kind} RETURNING c.term, c.total::float8`,
        { ids: ids.join('\n'), kind },
      )
      const unused = counted.filter(({ total }) => total <= 0).map(({ term }) => term)
      if (unused.length === 0) return
      await query<unknown, { readonly unused: string; readonly kind: EntryKind }>(
        (value) => `DELETE FROM ${counts} WHERE term = ANY (${linesSql(value.unused)}) AND kind = ${value.kind}`,
        { unused: unused.join('\n'), kind },
      )
    },
    async sizesOf(wanted, prefixes, kinds) {
      const rows = await selectSizes({ terms: wanted.join('\n'), prefixes: prefixes.join('\n'), ...kinds })
      const all = rows.toSorted((one, other) => one.place - other.place).map(({ size }) => size)
      return { terms: all.slice(0, wanted.length), prefixes: all.slice(wanted.length) }
    },
  }
}

/** Analyzes the tables for the query planner after many new entries. The server would do so a minute later. */
function createAnalyzer(db: Database, tables: readonly string[]): (total: number) => Promise<void> {
  const analyze = db.prepare(() => `ANALYZE ${tables.join(', ')}`)
  let added = 0
  return async (total) => {
    if (++added < Math.max(minNewEntries, total / 5)) return
    added = 0
    // Failures, such as a missing permission, are ignored.
    await analyze().catch(() => {})
  }
}
