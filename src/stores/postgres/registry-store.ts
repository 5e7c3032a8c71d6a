import type {
  ChangeType,
  EntryIndex,
  EntryKind,
  EntryStore,
  PutResult,
  RegistryEntry,
  StoredChange,
} from '../../registry/entry.ts'
import { createWakeups } from '../../tasks/follow.ts'
import { type Ask, inTransaction, type PostgresPool } from './connection.ts'
import { leaseEnd } from './leases.ts'
import { createListener } from './listener.ts'
import {
  createFindEntries,
  createTermIndex,
  type EntryRow,
  entryColumns,
  entryOf,
  valuesOf,
} from './registry-search.ts'
import { openDatabase } from './schema.ts'
import { decodeText, encodeText } from './sql-text.ts'

/** After so many new entries, or a fifth of all, the planner is told how many there are. */
const fewNew = 200

/** Milliseconds between two looks for what was not notified, while somebody follows. */
const lookInterval = 1_000

export interface PostgresEntriesOptions {
  /** A `Pool` of the package `pg`. One of its connections listens while somebody follows; ending it is up to its maker. */
  readonly pool: PostgresPool
  /** The schema with the tables; made if it is not there. `parley` by default, as that of the log. */
  readonly schema?: string
  /** 100,000 unless it is given. */
  readonly capacity?: number
  /** How many changes are remembered for those who follow. 10,000 unless it is given. */
  readonly changesKept?: number
  /** How long to wait for the database to come back before an operation fails, in milliseconds. */
  readonly patience?: number
  /** How long one statement may take before its connection is given up, in milliseconds. */
  readonly statementTimeout?: number
}

/** The entries of a registry that has any number of replicas. */
export async function createPostgresEntries(options: PostgresEntriesOptions): Promise<EntryStore> {
  const { pool, schema = 'parley', capacity = 100_000, changesKept = 10_000 } = options
  const { patience = 15_000, statementTimeout = 10_000 } = options
  const closing = new AbortController()
  const { signal: closed } = closing
  const what = 'The registry'
  const db = await openDatabase({ pool, schema, patience, statementTimeout, closed, what })
  const [agents, terms, state] = [db.name('registry_agents'), db.name('registry_terms'), db.name('registry_state')]
  const [changes, leases] = [db.name('registry_changes'), db.name('registry_leases')]
  const catalogs = db.name('registry_catalogs')
  const channel = `parley registry ${schema}`
  const findEntries = createFindEntries(db)
  const termIndex = createTermIndex(db)
  const wakeups = createWakeups()
  const onNotice = wakeups.wakeAll
  const listener = createListener({ pool, channel, statementTimeout, closed, onNotice, onListening: onNotice })
  let timer: NodeJS.Timeout | undefined
  let added = 0

  const select = db.prepare<EntryRow>(`SELECT ${entryColumns} FROM ${agents} WHERE id = $1`)
  const see = db.prepare<EntryRow>(
    `UPDATE ${agents} SET seen = greatest(seen, $2::float8) WHERE id = $1 RETURNING ${entryColumns}`,
  )
  const waiting = db.prepare<EntryRow>(`SELECT ${entryColumns} FROM ${agents} WHERE due <= $1 ORDER BY due LIMIT $2`)
  const plan = db.prepare(`UPDATE ${agents} SET due = $2::float8 WHERE id = $1`)
  const analyze = db.prepare(`ANALYZE ${agents}, ${terms}, ${db.name('registry_term_counts')}`)
  const kept = db.prepare<{ readonly catalog: string }>(`SELECT catalog FROM ${catalogs} ORDER BY url`)
  const keep = db.prepare(
    `INSERT INTO ${catalogs} (url, catalog) VALUES ($1, $2) ON CONFLICT (url) DO UPDATE SET catalog = excluded.catalog`,
  )
  const dropKept = db.prepare(`DELETE FROM ${catalogs} WHERE url = $1 RETURNING url`)
  const last = db.prepare<{ readonly latest: number }>(`SELECT number::float8 AS latest FROM ${state}`)
  const read = db.prepare<ChangeRow>(`
    SELECT state.latest, change.number::float8, change.type, change.id
    FROM (SELECT number::float8 AS latest FROM ${state}) AS state
    LEFT JOIN (SELECT * FROM ${changes} WHERE number > $1 ORDER BY number LIMIT $2) AS change ON true
    ORDER BY change.number`)
  // By the clock of the database, so that those of the replicas do not matter.
  const take = db.prepare(`
    INSERT INTO ${leases} AS held (name, holder, until) VALUES ($1, $2, ${leaseEnd('$3::float8')})
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE held.holder = excluded.holder OR held.until <= clock_timestamp() RETURNING name`)

  /**
   * What changes something holds the state from its beginning: changes have an order, two that put the same new entry do
   * not both find nothing, and nobody waits in a circle.
   */
  async function change<T>(work: (ask: Ask, total: number) => Promise<T>): Promise<T> {
    const holding = async (ask: Ask) => {
      const [held] = await ask<{ total: number }>(`SELECT (mesh + a2a)::float8 AS total FROM ${state} FOR UPDATE`)
      return await work(ask, held?.total ?? 0)
    }
    const result = await db.patiently(() => inTransaction(pool, statementTimeout, holding))
    wakeups.wakeAll()
    return result
  }

  async function tell(ask: Ask, type: ChangeType, id: string, mesh = 0, a2a = 0): Promise<void> {
    await ask(
      `WITH counted AS (UPDATE ${state} SET number = number + 1, mesh = mesh + $3, a2a = a2a + $4 RETURNING number),
       forgotten AS (DELETE FROM ${changes} WHERE number <= (SELECT number FROM ${state}) + 1 - $5::bigint),
       told AS (INSERT INTO ${changes} (number, type, id) SELECT number, $1, $2 FROM counted)
       SELECT pg_notify($6, number::text) FROM counted`,
      type,
      encodeText(id),
      mesh,
      a2a,
      changesKept,
      channel,
    )
  }

  async function write(ask: Ask, entry: RegistryEntry, index: EntryIndex, before?: RegistryEntry): Promise<void> {
    await ask(
      `INSERT INTO ${agents} (${entryColumns}, rank, due) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, kind = excluded.kind, seen = excluded.seen,
         trouble = excluded.trouble, entry = excluded.entry, rank = excluded.rank, due = excluded.due`,
      ...valuesOf(entry),
      index.rank,
      index.due ?? null,
    )
    await termIndex.replace(ask, before, entry, index.terms)
  }

  async function known(ask: Ask, id: string): Promise<RegistryEntry | undefined> {
    const [row] = await ask<EntryRow>(`SELECT ${entryColumns} FROM ${agents} WHERE id = $1`, encodeText(id))
    return row && entryOf(row)
  }

  async function put(
    ask: Ask,
    total: number,
    entry: RegistryEntry,
    index: EntryIndex,
    maxOwned = Number.POSITIVE_INFINITY,
  ): Promise<PutResult> {
    const before = await known(ask, entry.id)
    if (before && before.owner !== entry.owner) return 'taken'
    if (!before && total >= capacity) return 'full'
    if (!before && maxOwned < Number.POSITIVE_INFINITY && entry.owner !== undefined) {
      const [owned] = await ask<{ readonly total: number }>(
        `SELECT count(*)::float8 AS total FROM ${agents} WHERE owner = $1`,
        encodeText(entry.owner),
      )
      if ((owned?.total ?? 0) >= maxOwned) return 'crowded'
    }
    await write(ask, entry, index, before)
    if (before) await tell(ask, 'updated', entry.id)
    else await tell(ask, 'registered', entry.id, entry.kind === 'mesh' ? 1 : 0, entry.kind === 'a2a' ? 1 : 0)
    return before ? 'replaced' : 'added'
  }

  async function drop(ask: Ask, condition: string, ...values: (string | number)[]): Promise<readonly string[]> {
    const rows = await ask<DroppedRow>(`DELETE FROM ${agents} WHERE ${condition} RETURNING id, kind`, ...values)
    if (rows.length === 0) return []
    const ids = rows.map(({ id }) => id)
    for (const kind of ['mesh', 'a2a'] as const) {
      const ofKind = rows.filter((row) => row.kind === kind).map(({ id }) => id)
      await termIndex.remove(ask, kind, ofKind)
    }
    for (const { id, kind } of rows) {
      await tell(ask, 'removed', decodeText(id), kind === 'mesh' ? -1 : 0, kind === 'a2a' ? -1 : 0)
    }
    return ids.map(decodeText)
  }

  function keepLooking(): void {
    listener.start()
    timer ??= setInterval(() => {
      wakeups.wakeAll()
      if (wakeups.size > 0) return
      clearInterval(timer)
      timer = undefined
    }, lookInterval).unref()
  }

  async function get(id: string): Promise<RegistryEntry | undefined> {
    const [row] = await db.patiently(() => select(encodeText(id)))
    return row && entryOf(row)
  }

  return {
    async put(entry, index, { maxOwned } = {}) {
      const { outcome, total } = await change(async (ask, total) => ({
        outcome: await put(ask, total, entry, index, maxOwned),
        total,
      }))
      if (outcome === 'added' && ++added >= Math.max(fewNew, total / 5)) {
        added = 0
        // The server does it by itself, but a minute later. If we may not, that has to do.
        await analyze().catch(() => {})
      }
      return outcome
    },
    note: ({ owner: _, ...entry }, index, changed) =>
      change(async (ask) => {
        const before = await known(ask, entry.id)
        if (!before) return false
        await write(ask, entry, index, before)
        if (changed) await tell(ask, changed, entry.id)
        return true
      }),
    get,
    async touch(id, seen, trouble) {
      if (trouble === undefined) {
        const [row] = await db.patiently(() => see(encodeText(id), seen))
        return row && entryOf(row)
      }
      return await change(async (ask) => {
        const before = await known(ask, id)
        if (!before) return undefined
        const [row] = await ask<EntryRow>(
          `UPDATE ${agents} SET seen = greatest(seen, $2::float8), trouble = $3 WHERE id = $1 RETURNING ${entryColumns}`,
          encodeText(id),
          seen,
          trouble,
        )
        if ((before.trouble ?? null) !== trouble) await tell(ask, 'status', id)
        return row && entryOf(row)
      })
    },
    remove: async (id) => (await change((ask) => drop(ask, 'id = $1', encodeText(id)))).length > 0,
    find: (query) => db.patiently(() => findEntries(query)),
    expire: (kind, seenBefore, limit) =>
      change((ask) =>
        drop(
          ask,
          `id IN (SELECT id FROM ${agents} WHERE kind = $1 AND seen < $2::float8 ORDER BY seen LIMIT $3)`,
          kind,
          seenBefore,
          limit,
        ),
      ),
    due: async (by, limit) => (await db.patiently(() => waiting(by, limit))).map(entryOf),
    async schedule(id, due) {
      await db.patiently(() => plan(encodeText(id), due))
    },
    catalogs: async () => (await db.patiently(() => kept())).map(({ catalog }) => JSON.parse(catalog)),
    async keepCatalog(catalog) {
      await db.patiently(() => keep(encodeText(catalog.url), JSON.stringify(catalog)))
    },
    dropCatalog: async (url) => (await db.patiently(() => dropKept(encodeText(url)))).length > 0,
    async changes(after, limit) {
      const rows = await db.patiently(() => read(Math.max(0, after), limit))
      const latest = rows[0]?.latest ?? 0
      if (after === latest) return { changes: [], latest }
      const found = rows.flatMap(({ number, type, id }) =>
        number === null ? [] : [{ number, type, id: decodeText(id) }],
      )
      return { changes: found[0]?.number === after + 1 ? found : undefined, latest }
    },
    async wait(after, signal) {
      if (closed.aborted) return
      keepLooking()
      const woken = wakeups.wait('', signal)
      // Asked after the waiting has begun, so that nothing happens in between.
      const [row] = await db.patiently(() => last())
      if ((row?.latest ?? 0) > after) wakeups.wakeAll()
      await woken
    },
    lease: async (name, holder, ttl) => (await db.patiently(() => take(name, holder, ttl))).length > 0,
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
