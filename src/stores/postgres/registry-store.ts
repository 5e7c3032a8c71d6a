import { checkOptions, integer, milliseconds, type OptionChecks, text } from '../../core/base/options.ts'
import type {
  ChangePage,
  ChangeType,
  EntryIndex,
  EntryKind,
  PutResult,
  RegistryEntry,
  RegistryStore,
  StoredChange,
  UnhealthyReason,
} from '../../registry/entry.ts'
import type { Database, RunQuery } from '../shared/database.ts'
import { createPolledWakeups } from '../shared/polled-wakeups.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import type { StatementText } from '../shared/statement.ts'
import { type PostgresPool, poolCheck } from './connection.ts'
import { leaseEndSql } from './leases.ts'
import { createListener } from './listener.ts'
import { createPostgresOperatorState } from './operator/operator-state.ts'
import {
  createFindEntries,
  createTermIndex,
  decodeEntry,
  type EntryRow,
  encodeEntry,
  entryColumns,
} from './registry-search.ts'
import { openDatabase } from './schema.ts'

/** After this many new entries, or a fifth of all if that is more, the tables are analyzed for the query planner. */
const minNewEntries = 200

/** Polling interval for lost notifications while a reader waits, in milliseconds. */
const pollInterval = 1_000

/** Options of `createPostgresRegistryStore`. */
export interface PostgresRegistryStoreOptions {
  /** A `Pool` of the package `pg`, which the store does not end. It uses one connection for notifications while a reader waits. */
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley`, as for the log. */
  readonly schema?: string
  /** Maximum number of entries. Defaults to 100,000. */
  readonly capacity?: number
  /** Number of changes to keep for readers of the change stream. Defaults to 10,000. */
  readonly changesKept?: number
  /** How long an operation waits for an unreachable database before it fails, in milliseconds. Defaults to 15 seconds. */
  readonly patience?: number
  /** Timeout of one statement, in milliseconds. Defaults to 10 seconds. */
  readonly statementTimeout?: number
}

const optionChecks: OptionChecks<PostgresRegistryStoreOptions> = {
  pool: poolCheck,
  schema: text,
  capacity: integer({ min: 1 }),
  changesKept: integer(),
  patience: milliseconds(),
  statementTimeout: milliseconds({ min: 1, infinite: false }),
}

/** Stores the entries of a registry in PostgreSQL, which any number of replicas may share. */
export async function createPostgresRegistryStore(options: PostgresRegistryStoreOptions): Promise<RegistryStore> {
  checkOptions('createPostgresRegistryStore', options, optionChecks, ['pool'])
  const { pool, schema = 'parley', capacity = 100_000, changesKept = 10_000 } = options
  const { patience = 15_000, statementTimeout = 10_000 } = options
  const closing = new AbortController()
  const { signal: closed } = closing
  const subject = 'The registry'
  const db = await openDatabase({ pool, schema, patience, statementTimeout, closed, subject })
  const channel = `parley registry ${schema}`
  const wakeups = createPolledWakeups(pollInterval)
  const { wakeAll } = wakeups
  const listener = createListener({
    pool,
    channel,
    statementTimeout,
    closed,
    onNotification: wakeAll,
    onListening: wakeAll,
  })
  const changes = createChanges(db, { channel, changesKept })
  const entries = createEntries(db, changes.record, capacity)
  const findEntries = createFindEntries(db)
  const analyzeIfGrown = createAnalyzer(db)

  /**
   * Every change locks the state row first. That orders the changes, keeps two transactions from adding the same entry,
   * and prevents deadlocks.
   */
  async function change<T>(work: (query: RunQuery, total: number) => Promise<T>): Promise<T> {
    const locked = async (query: RunQuery) => await work(query, await changes.lock(query))
    const result = await db.withRetry(() => db.transaction(locked))
    wakeAll()
    return result
  }

  return {
    async put(entry, index, { maxOwned } = {}) {
      const { outcome, total } = await change(async (query, total) => ({
        outcome: await entries.put(query, total, entry, index, maxOwned),
        total,
      }))
      if (outcome === 'added') await analyzeIfGrown(total)
      return outcome
    },
    note: (entry, index, changed) => change((query) => entries.note(query, entry, index, changed)),
    get: (id) => db.withRetry(() => entries.get(id)),
    touch: (id, seen, trouble) =>
      trouble === undefined
        ? db.withRetry(() => entries.setSeen(id, seen))
        : change((query) => entries.setTrouble(query, id, seen, trouble)),
    remove: (id) => change((query) => entries.remove(query, id)),
    find: (entryQuery) => db.withRetry(() => findEntries(entryQuery)),
    expire: (kind, seenBefore, limit) => change((query) => entries.expire(query, kind, seenBefore, limit)),
    due: (by, limit) => db.withRetry(() => entries.due(by, limit)),
    schedule: (id, due) => db.withRetry(() => entries.schedule(id, due)),
    ...createCatalogs(db),
    changes: (after, limit) => db.withRetry(() => changes.read(after, limit)),
    async wait(after, signal) {
      if (closed.aborted) return
      listener.start()
      const woken = wakeups.wait('', signal)
      // Queried after the wait has begun, so that no change in between is missed.
      if ((await db.withRetry(() => changes.latest())) > after) wakeAll()
      await woken
    },
    lease: createLease(db),
    operator: createPostgresOperatorState(db, (run) => db.withRetry(run)),
    async close() {
      closing.abort()
      wakeups.close()
    },
  }
}

interface ChangeRow extends Omit<StoredChange, 'number'> {
  readonly number: number | null
  readonly latest: number
}

/** Numbers a change, stores it for readers and notifies the replicas. Counts the entries of each kind that were added. */
type RecordChange = (query: RunQuery, type: ChangeType, id: string, mesh?: number, a2a?: number) => Promise<void>

/** The numbered changes, of which the last ones are kept for readers. */
function createChanges(db: Database, { channel, changesKept }: { channel: string; changesKept: number }) {
  const [state, changes] = [db.name('registry_state'), db.name('registry_changes')]
  const selectLatest = db.prepare<{ readonly latest: number }>(() => `SELECT number::float8 AS latest FROM ${state}`)
  const selectChanges = db.prepare<ChangeRow, { readonly after: number; readonly limit: number }>(
    ({ after, limit }) => `
    SELECT state.latest, change.number::float8, change.type, change.id
    FROM (SELECT number::float8 AS latest FROM ${state}) AS state
    LEFT JOIN (SELECT * FROM ${changes} WHERE number > ${after} ORDER BY number LIMIT ${limit}) AS change ON true
    ORDER BY change.number`,
  )
  const record: RecordChange = async (query, type, id, mesh = 0, a2a = 0) => {
    await query<unknown, RecordedChange>(
      (value) => `
       WITH counted AS (
         UPDATE ${state} SET number = number + 1, mesh = mesh + ${value.mesh}, a2a = a2a + ${value.a2a} RETURNING number),
       dropped AS (DELETE FROM ${changes} WHERE number <= (SELECT number FROM ${state}) + 1 - ${value.kept}::bigint),
       inserted AS (INSERT INTO ${changes} (number, type, id) SELECT number, ${value.type}, ${value.id} FROM counted)
       SELECT pg_notify(${value.channel}, number::text) FROM counted`,
      { type, id: encodeText(id), mesh, a2a, kept: changesKept, channel },
    )
  }
  return {
    record,
    /** Keeps other transactions from changing the registry. Returns the number of entries. */
    async lock(query: RunQuery): Promise<number> {
      const [counts] = await query<{ total: number }>(
        () => `SELECT (mesh + a2a)::float8 AS total FROM ${state} FOR UPDATE`,
      )
      return counts?.total ?? 0
    },
    latest: async () => (await selectLatest())[0]?.latest ?? 0,
    async read(after: number, limit: number): Promise<ChangePage> {
      const rows = await selectChanges({ after: Math.max(0, after), limit })
      const latest = rows[0]?.latest ?? 0
      if (after === latest) return { changes: [], latest }
      const changeRows = rows.flatMap(({ number, type, id }) =>
        number === null ? [] : [{ number, type, id: decodeText(id) }],
      )
      return { changes: changeRows[0]?.number === after + 1 ? changeRows : undefined, latest }
    },
  }
}

interface RecordedChange {
  readonly type: ChangeType
  readonly id: string
  readonly mesh: number
  readonly a2a: number
  readonly kept: number
  readonly channel: string
}

interface Id {
  readonly id: string
}

interface DroppedRow {
  readonly id: string
  readonly kind: EntryKind
}

/** The entries and their search terms. Methods with a `query` are parts of a change. */
function createEntries(db: Database, recordChange: RecordChange, capacity: number) {
  const agents = db.name('registry_agents')
  const termIndex = createTermIndex(db)
  const selectSql: StatementText<Id> = ({ id }) => `SELECT ${entryColumns} FROM ${agents} WHERE id = ${id}`
  const select = db.prepare<EntryRow, Id>(selectSql)
  const setSeen = db.prepare<EntryRow, Id & { readonly seen: number }>(
    ({ id, seen }) =>
      `UPDATE ${agents} SET seen = greatest(seen, ${seen}::float8) WHERE id = ${id} RETURNING ${entryColumns}`,
  )
  const selectDue = db.prepare<EntryRow, { readonly by: number; readonly limit: number }>(
    ({ by, limit }) => `SELECT ${entryColumns} FROM ${agents} WHERE due <= ${by} ORDER BY due LIMIT ${limit}`,
  )
  const setDue = db.prepare<unknown, Id & { readonly due: number }>(
    ({ id, due }) => `UPDATE ${agents} SET due = ${due}::float8 WHERE id = ${id}`,
  )

  async function find(query: RunQuery, id: string): Promise<RegistryEntry | undefined> {
    return first(await query<EntryRow, Id>(selectSql, { id: encodeText(id) }))
  }

  async function write(
    query: RunQuery,
    entry: RegistryEntry,
    index: EntryIndex,
    before?: RegistryEntry,
  ): Promise<void> {
    await query<unknown, ReturnType<typeof encodeEntry> & { readonly rank: number; readonly due: number | null }>(
      ({ id, name, kind, owner, seen, trouble, entry, rank, due }) => `
       INSERT INTO ${agents} (id, name, kind, owner, seen, trouble, entry, rank, due)
       VALUES (${[id, name, kind, owner, seen, trouble, entry, rank, due].join(', ')})
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, kind = excluded.kind, seen = excluded.seen,
         trouble = excluded.trouble, entry = excluded.entry, rank = excluded.rank, due = excluded.due`,
      { ...encodeEntry(entry), rank: index.rank, due: index.due ?? null },
    )
    await termIndex.replace(query, before, entry, index.terms)
  }

  async function countOwned(query: RunQuery, owner: string): Promise<number> {
    const [owned] = await query<{ readonly total: number }, { readonly owner: string }>(
      (value) => `SELECT count(*)::float8 AS total FROM ${agents} WHERE owner = ${value.owner}`,
      { owner: encodeText(owner) },
    )
    return owned?.total ?? 0
  }

  async function drop(query: RunQuery, rows: readonly DroppedRow[]): Promise<readonly string[]> {
    for (const kind of ['mesh', 'a2a'] as const) {
      const ofKind = rows.filter((row) => row.kind === kind).map(({ id }) => id)
      await termIndex.remove(query, kind, ofKind)
    }
    for (const { id, kind } of rows) {
      await recordChange(query, 'removed', decodeText(id), kind === 'mesh' ? -1 : 0, kind === 'a2a' ? -1 : 0)
    }
    return rows.map(({ id }) => decodeText(id))
  }

  return {
    get: async (id: string) => first(await select({ id: encodeText(id) })),
    async put(
      query: RunQuery,
      total: number,
      entry: RegistryEntry,
      index: EntryIndex,
      maxOwned: number | undefined,
    ): Promise<PutResult> {
      const { id, kind, owner } = entry
      const before = await find(query, id)
      if (before && before.owner !== owner) return 'taken'
      if (!before && total >= capacity) return 'full'
      const isLimited = !before && maxOwned !== undefined && owner !== undefined
      if (isLimited && (await countOwned(query, owner)) >= maxOwned) return 'crowded'
      await write(query, entry, index, before)
      if (before) await recordChange(query, 'updated', id)
      else await recordChange(query, 'registered', id, kind === 'mesh' ? 1 : 0, kind === 'a2a' ? 1 : 0)
      return before ? 'replaced' : 'added'
    },
    async note(
      query: RunQuery,
      { owner: _, ...entry }: RegistryEntry,
      index: EntryIndex,
      changed: ChangeType | undefined,
    ): Promise<boolean> {
      const before = await find(query, entry.id)
      if (!before) return false
      await write(query, entry, index, before)
      if (changed) await recordChange(query, changed, entry.id)
      return true
    },
    setSeen: async (id: string, seen: number) => first(await setSeen({ id: encodeText(id), seen })),
    async setTrouble(query: RunQuery, id: string, seen: number, trouble: UnhealthyReason | null) {
      const before = await find(query, id)
      if (!before) return undefined
      const rows = await query<EntryRow, Id & { readonly seen: number; readonly trouble: string | null }>(
        (value) => `
         UPDATE ${agents} SET seen = greatest(seen, ${value.seen}::float8), trouble = ${value.trouble}
         WHERE id = ${value.id} RETURNING ${entryColumns}`,
        { id: encodeText(id), seen, trouble },
      )
      if ((before.trouble ?? null) !== trouble) await recordChange(query, 'status', id)
      return first(rows)
    },
    async remove(query: RunQuery, id: string): Promise<boolean> {
      const rows = await query<DroppedRow, Id>(
        (value) => `DELETE FROM ${agents} WHERE id = ${value.id} RETURNING id, kind`,
        { id: encodeText(id) },
      )
      return (await drop(query, rows)).length > 0
    },
    async expire(query: RunQuery, kind: EntryKind, seenBefore: number, limit: number): Promise<readonly string[]> {
      const rows = await query<
        DroppedRow,
        { readonly kind: EntryKind; readonly seenBefore: number; readonly limit: number }
      >(
        (value) => `
         DELETE FROM ${agents} WHERE id IN (
           SELECT id FROM ${agents} WHERE kind = ${value.kind} AND seen < ${value.seenBefore}::float8
           ORDER BY seen LIMIT ${value.limit})
         RETURNING id, kind`,
        { kind, seenBefore, limit },
      )
      return await drop(query, rows)
    },
    due: async (by: number, limit: number) => (await selectDue({ by, limit })).map(decodeEntry),
    async schedule(id: string, due: number): Promise<void> {
      await setDue({ id: encodeText(id), due })
    },
  }
}

function first([row]: readonly EntryRow[]): RegistryEntry | undefined {
  return row && decodeEntry(row)
}

/** Analyzes the tables for the query planner after many new entries. The server would do so a minute later. */
function createAnalyzer(db: Database): (total: number) => Promise<void> {
  const tables = ['registry_agents', 'registry_terms', 'registry_term_counts'].map((table) => db.name(table))
  const analyze = db.prepare(() => `ANALYZE ${tables.join(', ')}`)
  let added = 0
  return async (total) => {
    if (++added < Math.max(minNewEntries, total / 5)) return
    added = 0
    // Failures, such as a missing permission, are ignored.
    await analyze().catch(() => {})
  }
}

function createCatalogs(db: Database): Pick<RegistryStore, 'catalogs' | 'keepCatalog' | 'dropCatalog'> {
  const catalogs = db.name('registry_catalogs')
  const select = db.prepare<{ readonly catalog: string }>(() => `SELECT catalog FROM ${catalogs} ORDER BY url`)
  const upsert = db.prepare<unknown, { readonly url: string; readonly catalog: string }>(
    ({ url, catalog }) => `
    INSERT INTO ${catalogs} (url, catalog) VALUES (${url}, ${catalog})
    ON CONFLICT (url) DO UPDATE SET catalog = excluded.catalog`,
  )
  const remove = db.prepare<unknown, { readonly url: string }>(
    ({ url }) => `DELETE FROM ${catalogs} WHERE url = ${url} RETURNING url`,
  )
  return {
    catalogs: async () => (await db.withRetry(() => select())).map(({ catalog }) => JSON.parse(catalog)),
    async keepCatalog(catalog) {
      await db.withRetry(() => upsert({ url: encodeText(catalog.url), catalog: JSON.stringify(catalog) }))
    },
    dropCatalog: async (url) => (await db.withRetry(() => remove({ url: encodeText(url) }))).length > 0,
  }
}

/** Leases by the clock of the database, which all replicas share. */
function createLease(db: Database): RegistryStore['lease'] {
  const acquire = db.prepare<unknown, { readonly name: string; readonly holder: string; readonly ttl: number }>(
    ({ name, holder, ttl }) => `
    INSERT INTO ${db.name('registry_leases')} AS held (name, holder, until)
    VALUES (${name}, ${holder}, ${leaseEndSql(ttl)})
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE held.holder = excluded.holder OR held.until <= clock_timestamp() RETURNING name`,
  )
  return async (name, holder, ttl) => (await db.withRetry(() => acquire({ name, holder, ttl }))).length > 0
}
