import type {
  ChangeType,
  EntryIndex,
  EntryKind,
  PutResult,
  RegistryEntry,
  RegistryStore,
  StoredChange,
} from '../../registry/entry.ts'
import { createWakeups } from '../../tasks/follow.ts'
import { inTransaction, type PostgresPool, type RunQuery } from './connection.ts'
import { leaseEndSql } from './leases.ts'
import { createListener } from './listener.ts'
import {
  createFindEntries,
  createTermIndex,
  decodeEntry,
  type EntryRow,
  encodeEntry,
  entryColumns,
} from './registry-search.ts'
import { openDatabase } from './schema.ts'
import { decodeText, encodeText } from './sql-text.ts'

/** After this many new entries, or a fifth of all if that is more, the tables are analyzed for the query planner. */
const minNewEntries = 200

/** Polling interval for lost notifications while a reader waits, in milliseconds. */
const pollInterval = 1_000

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

/** Stores the entries of a registry in PostgreSQL, which any number of replicas may share. */
export async function createPostgresRegistryStore(options: PostgresRegistryStoreOptions): Promise<RegistryStore> {
  const { pool, schema = 'parley', capacity = 100_000, changesKept = 10_000 } = options
  const { patience = 15_000, statementTimeout = 10_000 } = options
  const closing = new AbortController()
  const { signal: closed } = closing
  const subject = 'The registry'
  const db = await openDatabase({ pool, schema, patience, statementTimeout, closed, subject })
  const [agents, terms, state] = [db.name('registry_agents'), db.name('registry_terms'), db.name('registry_state')]
  const [changes, leases] = [db.name('registry_changes'), db.name('registry_leases')]
  const catalogs = db.name('registry_catalogs')
  const channel = `parley registry ${schema}`
  const findEntries = createFindEntries(db)
  const termIndex = createTermIndex(db)
  const wakeups = createWakeups()
  const wake = wakeups.wakeAll
  const listener = createListener({
    pool,
    channel,
    statementTimeout,
    closed,
    onNotification: wake,
    onListening: wake,
  })
  let timer: NodeJS.Timeout | undefined
  let added = 0

  const select = db.prepare<EntryRow>(`SELECT ${entryColumns} FROM ${agents} WHERE id = $1`)
  const setSeen = db.prepare<EntryRow>(
    `UPDATE ${agents} SET seen = greatest(seen, $2::float8) WHERE id = $1 RETURNING ${entryColumns}`,
  )
  const selectDue = db.prepare<EntryRow>(`SELECT ${entryColumns} FROM ${agents} WHERE due <= $1 ORDER BY due LIMIT $2`)
  const setDue = db.prepare(`UPDATE ${agents} SET due = $2::float8 WHERE id = $1`)
  const analyze = db.prepare(`ANALYZE ${agents}, ${terms}, ${db.name('registry_term_counts')}`)
  const selectCatalogs = db.prepare<{ readonly catalog: string }>(`SELECT catalog FROM ${catalogs} ORDER BY url`)
  const upsertCatalog = db.prepare(
    `INSERT INTO ${catalogs} (url, catalog) VALUES ($1, $2) ON CONFLICT (url) DO UPDATE SET catalog = excluded.catalog`,
  )
  const deleteCatalog = db.prepare(`DELETE FROM ${catalogs} WHERE url = $1 RETURNING url`)
  const selectLatest = db.prepare<{ readonly latest: number }>(`SELECT number::float8 AS latest FROM ${state}`)
  const selectChanges = db.prepare<ChangeRow>(`
    SELECT state.latest, change.number::float8, change.type, change.id
    FROM (SELECT number::float8 AS latest FROM ${state}) AS state
    LEFT JOIN (SELECT * FROM ${changes} WHERE number > $1 ORDER BY number LIMIT $2) AS change ON true
    ORDER BY change.number`)
  // By the clock of the database, which all replicas share.
  const acquireLease = db.prepare(`
    INSERT INTO ${leases} AS held (name, holder, until) VALUES ($1, $2, ${leaseEndSql('$3::float8')})
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE held.holder = excluded.holder OR held.until <= clock_timestamp() RETURNING name`)

  /**
   * Every change locks the state row first. That orders the changes, keeps two transactions from adding the same entry,
   * and prevents deadlocks.
   */
  async function change<T>(work: (query: RunQuery, total: number) => Promise<T>): Promise<T> {
    const locked = async (query: RunQuery) => {
      const [counts] = await query<{ total: number }>(`SELECT (mesh + a2a)::float8 AS total FROM ${state} FOR UPDATE`)
      return await work(query, counts?.total ?? 0)
    }
    const result = await db.withRetry(() => inTransaction(pool, statementTimeout, locked))
    wakeups.wakeAll()
    return result
  }

  /** Numbers a change, stores it for readers and notifies the replicas. */
  async function recordChange(query: RunQuery, type: ChangeType, id: string, mesh = 0, a2a = 0): Promise<void> {
    await query(
      `WITH counted AS (UPDATE ${state} SET number = number + 1, mesh = mesh + $3, a2a = a2a + $4 RETURNING number),
       dropped AS (DELETE FROM ${changes} WHERE number <= (SELECT number FROM ${state}) + 1 - $5::bigint),
       inserted AS (INSERT INTO ${changes} (number, type, id) SELECT number, $1, $2 FROM counted)
       SELECT pg_notify($6, number::text) FROM counted`,
      type,
      encodeText(id),
      mesh,
      a2a,
      changesKept,
      channel,
    )
  }

  async function write(
    query: RunQuery,
    entry: RegistryEntry,
    index: EntryIndex,
    before?: RegistryEntry,
  ): Promise<void> {
    await query(
      `INSERT INTO ${agents} (${entryColumns}, rank, due) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, kind = excluded.kind, seen = excluded.seen,
         trouble = excluded.trouble, entry = excluded.entry, rank = excluded.rank, due = excluded.due`,
      ...encodeEntry(entry),
      index.rank,
      index.due ?? null,
    )
    await termIndex.replace(query, before, entry, index.terms)
  }

  async function findEntry(query: RunQuery, id: string): Promise<RegistryEntry | undefined> {
    const [row] = await query<EntryRow>(`SELECT ${entryColumns} FROM ${agents} WHERE id = $1`, encodeText(id))
    return row && decodeEntry(row)
  }

  async function put(
    query: RunQuery,
    total: number,
    entry: RegistryEntry,
    index: EntryIndex,
    maxOwned = Number.POSITIVE_INFINITY,
  ): Promise<PutResult> {
    const before = await findEntry(query, entry.id)
    if (before && before.owner !== entry.owner) return 'taken'
    if (!before && total >= capacity) return 'full'
    if (!before && maxOwned < Number.POSITIVE_INFINITY && entry.owner !== undefined) {
      const [owned] = await query<{ readonly total: number }>(
        `SELECT count(*)::float8 AS total FROM ${agents} WHERE owner = $1`,
        encodeText(entry.owner),
      )
      if ((owned?.total ?? 0) >= maxOwned) return 'crowded'
    }
    await write(query, entry, index, before)
    if (before) await recordChange(query, 'updated', entry.id)
    else await recordChange(query, 'registered', entry.id, entry.kind === 'mesh' ? 1 : 0, entry.kind === 'a2a' ? 1 : 0)
    return before ? 'replaced' : 'added'
  }

  async function drop(query: RunQuery, condition: string, ...values: (string | number)[]): Promise<readonly string[]> {
    const rows = await query<DroppedRow>(`DELETE FROM ${agents} WHERE ${condition} RETURNING id, kind`, ...values)
    if (rows.length === 0) return []
    const ids = rows.map(({ id }) => id)
    for (const kind of ['mesh', 'a2a'] as const) {
      const ofKind = rows.filter((row) => row.kind === kind).map(({ id }) => id)
      await termIndex.remove(query, kind, ofKind)
    }
    for (const { id, kind } of rows) {
      await recordChange(query, 'removed', decodeText(id), kind === 'mesh' ? -1 : 0, kind === 'a2a' ? -1 : 0)
    }
    return ids.map(decodeText)
  }

  function startPolling(): void {
    listener.start()
    timer ??= setInterval(() => {
      wakeups.wakeAll()
      if (wakeups.size > 0) return
      clearInterval(timer)
      timer = undefined
    }, pollInterval).unref()
  }

  async function get(id: string): Promise<RegistryEntry | undefined> {
    const [row] = await db.withRetry(() => select(encodeText(id)))
    return row && decodeEntry(row)
  }

  return {
    async put(entry, index, { maxOwned } = {}) {
      const { outcome, total } = await change(async (query, total) => ({
        outcome: await put(query, total, entry, index, maxOwned),
        total,
      }))
      if (outcome === 'added' && ++added >= Math.max(minNewEntries, total / 5)) {
        added = 0
        // The server would do so a minute later. Failures, such as a missing permission, are ignored.
        await analyze().catch(() => {})
      }
      return outcome
    },
    note: ({ owner: _, ...entry }, index, changed) =>
      change(async (query) => {
        const before = await findEntry(query, entry.id)
        if (!before) return false
        await write(query, entry, index, before)
        if (changed) await recordChange(query, changed, entry.id)
        return true
      }),
    get,
    async touch(id, seen, trouble) {
      if (trouble === undefined) {
        const [row] = await db.withRetry(() => setSeen(encodeText(id), seen))
        return row && decodeEntry(row)
      }
      return await change(async (query) => {
        const before = await findEntry(query, id)
        if (!before) return undefined
        const [row] = await query<EntryRow>(
          `UPDATE ${agents} SET seen = greatest(seen, $2::float8), trouble = $3 WHERE id = $1 RETURNING ${entryColumns}`,
          encodeText(id),
          seen,
          trouble,
        )
        if ((before.trouble ?? null) !== trouble) await recordChange(query, 'status', id)
        return row && decodeEntry(row)
      })
    },
    remove: async (id) => (await change((query) => drop(query, 'id = $1', encodeText(id)))).length > 0,
    find: (entryQuery) => db.withRetry(() => findEntries(entryQuery)),
    expire: (kind, seenBefore, limit) =>
      change((query) =>
        drop(
          query,
          `id IN (SELECT id FROM ${agents} WHERE kind = $1 AND seen < $2::float8 ORDER BY seen LIMIT $3)`,
          kind,
          seenBefore,
          limit,
        ),
      ),
    due: async (by, limit) => (await db.withRetry(() => selectDue(by, limit))).map(decodeEntry),
    async schedule(id, due) {
      await db.withRetry(() => setDue(encodeText(id), due))
    },
    catalogs: async () => (await db.withRetry(() => selectCatalogs())).map(({ catalog }) => JSON.parse(catalog)),
    async keepCatalog(catalog) {
      await db.withRetry(() => upsertCatalog(encodeText(catalog.url), JSON.stringify(catalog)))
    },
    dropCatalog: async (url) => (await db.withRetry(() => deleteCatalog(encodeText(url)))).length > 0,
    async changes(after, limit) {
      const rows = await db.withRetry(() => selectChanges(Math.max(0, after), limit))
      const latest = rows[0]?.latest ?? 0
      if (after === latest) return { changes: [], latest }
      const changeRows = rows.flatMap(({ number, type, id }) =>
        number === null ? [] : [{ number, type, id: decodeText(id) }],
      )
      return { changes: changeRows[0]?.number === after + 1 ? changeRows : undefined, latest }
    },
    async wait(after, signal) {
      if (closed.aborted) return
      startPolling()
      const woken = wakeups.wait('', signal)
      // Queried after the wait has begun, so that no change in between is missed.
      const [row] = await db.withRetry(() => selectLatest())
      if ((row?.latest ?? 0) > after) wakeups.wakeAll()
      await woken
    },
    lease: async (name, holder, ttl) => (await db.withRetry(() => acquireLease(name, holder, ttl))).length > 0,
    async close() {
      closing.abort()
      clearInterval(timer)
      wakeups.wakeAll()
    },
  }
}

interface ChangeRow extends Omit<StoredChange, 'number'> {
  readonly number: number | null
  readonly latest: number
}

interface DroppedRow {
  readonly id: string
  readonly kind: EntryKind
}
