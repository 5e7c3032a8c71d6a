import { defined } from '../../core/base/json.ts'
import { integer, milliseconds } from '../../core/base/options.ts'
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
import type { Database, RunQuery } from './database.ts'
import { createPolledWakeups } from './polled-wakeups.ts'
import {
  createFindEntries,
  decodeEntry,
  type EntryRow,
  type EntrySearch,
  encodeEntry,
  entryColumns,
} from './registry-search.ts'
import { decodeText } from './sql-text.ts'
import type { StatementText } from './statement.ts'

/** Options of a registry store in a database on a server. */
export interface ServerRegistryOptions {
  /** Maximum number of entries. Defaults to 100,000. */
  readonly capacity?: number
  /** Number of changes to keep for readers of the change stream. Defaults to 10,000. */
  readonly changesKept?: number
  /** How long an operation waits for an unreachable database before it fails, in milliseconds. Defaults to 15 seconds. */
  readonly patience?: number
  /** Timeout of one statement, in milliseconds. Defaults to 10 seconds. */
  readonly statementTimeout?: number
}

export const registryChecks = {
  capacity: integer({ min: 1 }),
  changesKept: integer(),
  patience: milliseconds(),
  statementTimeout: milliseconds({ min: 1, infinite: false }),
}

/** A change, and how many entries of each kind were added. */
export interface RecordedChange {
  readonly type: ChangeType
  /** Encoded. */
  readonly id: string
  readonly mesh: number
  readonly a2a: number
  /** Number of changes to keep. */
  readonly kept: number
}

/** The search terms of one entry. All texts are encoded. */
export interface EntryTerms {
  readonly terms: readonly string[]
  readonly name: string
  readonly id: string
  readonly kind: EntryKind
}

/** Statements of a registry that an engine writes in its own way. */
export interface RegistryEngine extends EntrySearch {
  /** Polling interval for changes of other replicas while a reader waits, in milliseconds. */
  readonly pollInterval: number
  /** Numbers a change, stores it for readers and notifies the replicas. */
  record(query: RunQuery, change: RecordedChange): Promise<void>
  /** Moves the time at which an entry was seen, never back. */
  setSeen(id: string, seen: number): Promise<EntryRow | undefined>
  addTerms(query: RunQuery, entry: EntryTerms): Promise<void>
  /** Removes the terms of entries of one kind. */
  removeTerms(query: RunQuery, kind: EntryKind, ids: readonly string[]): Promise<void>
  /** Called when a reader begins to wait. */
  readonly onWait?: () => void
  /** Called after an entry was added to this many. */
  readonly onAdded?: (total: number) => Promise<void>
  readonly operator: NonNullable<RegistryStore['operator']>
}

export interface EngineContext {
  readonly closed: AbortSignal
  /** Wakes the readers that wait for changes. */
  readonly wakeAll: () => void
}

/** Stores the entries of a registry in a database on a server, which any number of replicas may share. */
export async function createServerRegistry(
  open: (context: EngineContext) => Promise<RegistryEngine>,
  { capacity = 100_000, changesKept = 10_000 }: ServerRegistryOptions,
): Promise<RegistryStore> {
  const closing = new AbortController()
  const { signal: closed } = closing
  const engine = await open({ closed, wakeAll: () => wakeAll() })
  const { db } = engine
  const wakeups = createPolledWakeups(engine.pollInterval)
  const { wakeAll } = wakeups
  const changes = createChanges(engine, changesKept)
  const entries = createEntries(engine, changes.record, capacity)
  const findEntries = createFindEntries(engine)

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
      if (outcome === 'added') await engine.onAdded?.(total)
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
      engine.onWait?.()
      const woken = wakeups.wait('', signal)
      // Queried after the wait has begun, so that no change in between is missed.
      if ((await db.withRetry(() => changes.latest())) > after) wakeAll()
      await woken
    },
    lease: createLease(db),
    operator: engine.operator,
    async close() {
      closing.abort()
      wakeups.close()
    },
  }
}

interface ChangeRow extends Omit<StoredChange, 'number'> {
  readonly number: number | string | null
  readonly latest: number | string
}

type RecordChange = (query: RunQuery, type: ChangeType, id: string, added?: EntryCounts) => Promise<void>

type EntryCounts = Partial<Readonly<Record<EntryKind, number>>>

/** The numbered changes, of which the last ones are kept for readers. */
function createChanges({ db, record }: RegistryEngine, kept: number) {
  const [state, changes] = [db.name('registry_state'), db.name('registry_changes')]
  const selectLatest = db.prepare<{ readonly latest: number | string }>(() => `SELECT number AS latest FROM ${state}`)
  const selectChanges = db.prepare<ChangeRow, { readonly after: number; readonly limit: number }>(
    ({ after, limit }) => `
    SELECT state.latest, changed.number, changed.type, changed.id
    FROM (SELECT number AS latest FROM ${state}) AS state
    LEFT JOIN (SELECT * FROM ${changes} WHERE number > ${after} ORDER BY number LIMIT ${limit}) AS changed ON true
    ORDER BY changed.number`,
  )
  const recordChange: RecordChange = async (query, type, id, { mesh = 0, a2a = 0 } = {}) => {
    await record(query, { type, id: db.syntax.encodeId(id), mesh, a2a, kept })
  }
  return {
    record: recordChange,
    /** Keeps other transactions from changing the registry. Returns the number of entries. */
    async lock(query: RunQuery): Promise<number> {
      const [counts] = await query<{ readonly total: number | string }>(
        () => `SELECT mesh + a2a AS total FROM ${state} FOR UPDATE`,
      )
      return Number(counts?.total ?? 0)
    },
    latest: async () => Number((await selectLatest())[0]?.latest ?? 0),
    async read(after: number, limit: number): Promise<ChangePage> {
      const rows = await selectChanges({ after: Math.max(0, after), limit })
      const latest = Number(rows[0]?.latest ?? 0)
      if (after === latest) return { changes: [], latest }
      const changeRows = rows.flatMap(({ number, type, id }) =>
        number === null ? [] : [{ number: Number(number), type, id: decodeText(id) }],
      )
      return { changes: changeRows[0]?.number === after + 1 ? changeRows : undefined, latest }
    },
  }
}

interface Id {
  readonly id: string
}

interface DroppedRow {
  readonly id: string
  readonly kind: EntryKind
}

/** The entries and their search terms. Methods with a `query` are parts of a change. */
function createEntries(engine: RegistryEngine, recordChange: RecordChange, capacity: number) {
  const { db } = engine
  const { syntax } = db
  const { encodeId } = syntax
  const agents = db.name('registry_agents')
  const selectSql: StatementText<Id> = ({ id }) => `SELECT ${entryColumns} FROM ${agents} WHERE id = ${id}`
  const select = db.prepare<EntryRow, Id>(selectSql)
  const selectDue = db.prepare<EntryRow, { readonly by: number; readonly limit: number }>(
    ({ by, limit }) => `SELECT ${entryColumns} FROM ${agents} WHERE due <= ${by} ORDER BY due LIMIT ${limit}`,
  )
  const setDue = db.prepareChange<Id & { readonly due: number }>(
    ({ id, due }) => `UPDATE ${agents} SET due = ${syntax.double(due)} WHERE id = ${id}`,
  )

  async function find(query: RunQuery, id: string): Promise<RegistryEntry | undefined> {
    return first(await query<EntryRow, Id>(selectSql, { id: encodeId(id) }))
  }

  async function write(
    query: RunQuery,
    entry: RegistryEntry,
    index: EntryIndex,
    before?: RegistryEntry,
  ): Promise<void> {
    const encoded = encodeEntry(syntax, entry)
    await query<unknown, typeof encoded & { readonly rank: number; readonly due: number | null }>(
      ({ id, name, kind, owner, seen, trouble, entry: text, rank, due }) =>
        syntax.upsert(agents, 'id', { id, name, kind, owner, seen, trouble, entry: text, rank, due }),
      { ...encoded, rank: index.rank, due: index.due ?? null },
    )
    const terms = [...new Set(index.terms.map(syntax.encodeKey))]
    const { id, name, kind } = encoded
    if (before) {
      const isSame = before.name === entry.name && before.kind === kind
      if (isSame && (await hasTerms(query, id, terms))) return
      await engine.removeTerms(query, before.kind, [id])
    }
    if (terms.length > 0) await engine.addTerms(query, { terms, name, id, kind })
  }

  async function hasTerms(query: RunQuery, id: string, terms: readonly string[]): Promise<boolean> {
    const rows = await query<{ readonly term: string }, Id>(
      (value) => `SELECT term FROM ${db.name('registry_terms')} WHERE id = ${value.id}`,
      { id },
    )
    const stored = new Set(rows.map(({ term }) => term))
    return stored.size === terms.length && terms.every((term) => stored.has(term))
  }

  async function countOwned(query: RunQuery, owner: string): Promise<number> {
    const [owned] = await query<{ readonly total: number | string }, { readonly owner: string }>(
      (value) => `SELECT count(*) AS total FROM ${agents} WHERE owner = ${value.owner}`,
      { owner: encodeId(owner) },
    )
    return Number(owned?.total ?? 0)
  }

  async function drop(query: RunQuery, rows: readonly DroppedRow[]): Promise<readonly string[]> {
    if (rows.length === 0) return []
    await query<unknown, { readonly ids: string }>((value) => syntax.deleteListed(agents, 'id', value.ids), {
      ids: syntax.encodeList(rows.map(({ id }) => id)),
    })
    for (const kind of ['mesh', 'a2a'] as const) {
      const ids = rows.filter((row) => row.kind === kind).map(({ id }) => id)
      if (ids.length > 0) await engine.removeTerms(query, kind, ids)
    }
    for (const { id, kind } of rows) await recordChange(query, 'removed', decodeText(id), { [kind]: -1 })
    return rows.map(({ id }) => decodeText(id))
  }

  return {
    get: async (id: string) => first(await select({ id: encodeId(id) })),
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
      else await recordChange(query, 'registered', id, { [kind]: 1 })
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
      await write(query, { ...entry, ...defined({ owner: before.owner }) }, index, before)
      if (changed) await recordChange(query, changed, entry.id)
      return true
    },
    async setSeen(id: string, seen: number) {
      const row = await engine.setSeen(encodeId(id), seen)
      return row && decodeEntry(row)
    },
    async setTrouble(query: RunQuery, id: string, seen: number, trouble: UnhealthyReason | null) {
      const before = await find(query, id)
      if (!before) return undefined
      await query<unknown, Id & { readonly seen: number; readonly trouble: string | null }>(
        (value) => `
         UPDATE ${agents} SET seen = greatest(seen, ${syntax.double(value.seen)}), trouble = ${value.trouble}
         WHERE id = ${value.id}`,
        { id: encodeId(id), seen, trouble },
      )
      if ((before.trouble ?? null) !== trouble) await recordChange(query, 'status', id)
      return await find(query, id)
    },
    async remove(query: RunQuery, id: string): Promise<boolean> {
      const rows = await query<DroppedRow, Id>((value) => `SELECT id, kind FROM ${agents} WHERE id = ${value.id}`, {
        id: encodeId(id),
      })
      return (await drop(query, rows)).length > 0
    },
    async expire(query: RunQuery, kind: EntryKind, seenBefore: number, limit: number): Promise<readonly string[]> {
      const rows = await query<
        DroppedRow,
        { readonly kind: EntryKind; readonly seenBefore: number; readonly limit: number }
      >(
        (value) => `
         SELECT id, kind FROM ${agents} WHERE kind = ${value.kind} AND seen < ${syntax.double(value.seenBefore)}
         ORDER BY seen LIMIT ${value.limit}`,
        { kind, seenBefore, limit },
      )
      return await drop(query, rows)
    },
    due: async (by: number, limit: number) => (await selectDue({ by, limit })).map(decodeEntry),
    async schedule(id: string, due: number): Promise<void> {
      await setDue({ id: encodeId(id), due })
    },
  }
}

function first([row]: readonly EntryRow[]): RegistryEntry | undefined {
  return row && decodeEntry(row)
}

function createCatalogs(db: Database): Pick<RegistryStore, 'catalogs' | 'keepCatalog' | 'dropCatalog'> {
  const { encodeKey, upsert } = db.syntax
  const catalogs = db.name('registry_catalogs')
  const select = db.prepare<{ readonly catalog: string }>(() => `SELECT catalog FROM ${catalogs} ORDER BY url`)
  const keep = db.prepareChange<{ readonly url: string; readonly catalog: string }>(({ url, catalog }) =>
    upsert(catalogs, 'url', { url, catalog }),
  )
  const remove = db.prepareChange<{ readonly url: string }>(({ url }) => `DELETE FROM ${catalogs} WHERE url = ${url}`)
  return {
    catalogs: async () => (await db.withRetry(() => select())).map(({ catalog }) => JSON.parse(catalog)),
    async keepCatalog(catalog) {
      await db.withRetry(() => keep({ url: encodeKey(catalog.url), catalog: JSON.stringify(catalog) }))
    },
    dropCatalog: async (url) => (await db.withRetry(() => remove({ url: encodeKey(url) }))) > 0,
  }
}

/** Leases by the clock of the database, which all replicas share. */
function createLease(db: Database): RegistryStore['lease'] {
  const leases = db.name('registry_leases')
  const { now, after, insertNew } = db.syntax
  interface Values {
    readonly name: string
    readonly holder: string
    readonly ttl: number
  }
  const take = db.prepareChange<Values>(
    ({ name, holder, ttl }) => `
    UPDATE ${leases} SET holder = ${holder}, until = ${after(ttl)}
    WHERE name = ${name} AND (holder = ${holder} OR until <= ${now})`,
  )
  const create = db.prepareChange<Values>(({ name, holder, ttl }) =>
    insertNew(leases, { name, holder, until: after(ttl) }),
  )
  return async (name, holder, ttl) => {
    const values = { name, holder, ttl }
    return await db.withRetry(async () => (await take(values)) > 0 || (await create(values)) > 0)
  }
}
