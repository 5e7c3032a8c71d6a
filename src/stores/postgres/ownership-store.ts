import { defined, type JsonObject } from '../../core/base/json.ts'
import { checkOptions, text } from '../../core/base/options.ts'
import type { OwnershipKey, OwnershipRecord, OwnershipStore } from '../../core/tasks/ownership.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { type PostgresPool, poolCheck } from './connection.ts'
import { openDatabase } from './schema.ts'

/** Options of `createPostgresOwnership`. */
export interface PostgresOwnershipOptions {
  /** A `Pool` of the package `pg`, which the store does not end. */
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley_gateway`. */
  readonly schema?: string
}

/** Stores ownership records for all replicas, in PostgreSQL. */
export async function createPostgresOwnership(options: PostgresOwnershipOptions): Promise<OwnershipStore> {
  checkOptions('createPostgresOwnership', options, { pool: poolCheck, schema: text }, ['pool'])
  const { pool, schema = 'parley_gateway' } = options
  const closing = new AbortController()
  const timeouts = { patience: 5_000, statementTimeout: 5_000 }
  const db = await openDatabase({ pool, schema, ...timeouts, closed: closing.signal, subject: 'The ownership store' })
  const table = db.name('ownership')
  await createTable(pool, table)
  const columns = 'number::float8 AS number, agent, kind, id, owner, remote_id, context_id, data'
  const insert = db.prepare<Row, Key & Rest>(
    ({ agent, kind, id, owner, remoteId, contextId, data }) => `
    INSERT INTO ${table} (agent, kind, id, owner, remote_id, context_id, data)
    VALUES (${agent}, ${kind}, ${id}, ${owner}, ${remoteId}, ${contextId}, ${data})
    ON CONFLICT (agent, kind, id) DO NOTHING RETURNING ${columns}`,
  )
  const keyed = ({ agent, kind, id }: Names<Key>) => `agent = ${agent} AND kind = ${kind} AND id = ${id}`
  const select = db.prepare<Row, Key>((key) => `SELECT ${columns} FROM ${table} WHERE ${keyed(key)}`)
  const selectRemote = db.prepare<Row, Omit<Key, 'id'> & Pick<Rest, 'remoteId'>>(
    ({ agent, kind, remoteId }) => `
    SELECT ${columns} FROM ${table} WHERE agent = ${agent} AND kind = ${kind} AND remote_id = ${remoteId}
    ORDER BY number LIMIT 1`,
  )
  const owned = ({ agent, kind, owner, contextId }: Names<Scope>) =>
    `agent = ${agent} AND kind = ${kind} AND owner = ${owner} AND (${contextId}::text IS NULL OR context_id = ${contextId})`
  const selectOwned = db.prepare<Row, Scope & { readonly cursor: number; readonly limit: number }>(
    (names) => `
    SELECT ${columns} FROM ${table} WHERE ${owned(names)} AND number < ${names.cursor}::float8 ORDER BY number DESC LIMIT ${names.limit}`,
  )
  const count = db.prepare<{ readonly total: number }, Scope>(
    (scope) => `SELECT count(*)::float8 AS total FROM ${table} WHERE ${owned(scope)}`,
  )
  const removeOne = db.prepare<Row, Key>((key) => `DELETE FROM ${table} WHERE ${keyed(key)} RETURNING ${columns}`)
  const removeOld = db.prepare<Row, { readonly before: number; readonly limit: number }>(
    ({ before, limit }) => `
    DELETE FROM ${table} WHERE number IN (
      SELECT number FROM ${table} WHERE created < to_timestamp(${before}::float8 / 1000) LIMIT ${limit})
    RETURNING ${columns}`,
  )
  const first = (rows: readonly Row[]) => (rows[0] ? decode(rows[0]) : undefined)

  return {
    async claim(record) {
      const { owner, remoteId, contextId, data } = record
      const key = keyOf(record)
      const values = {
        ...key,
        owner: encodeText(owner),
        remoteId: encodeText(remoteId),
        contextId: contextId === undefined ? null : encodeText(contextId),
        data: data === undefined ? null : encodeText(JSON.stringify(data)),
      }
      // A record that expires between the two statements is inserted again.
      return await db.withRetry(async () => {
        const stored = first(await insert(values)) ?? first(await select(key)) ?? first(await insert(values))
        return stored ?? record
      })
    },
    find: (key) => db.withRetry(async () => first(await select(keyOf(key)))),
    findRemote: ({ agent, kind, remoteId }) =>
      db.withRetry(async () =>
        first(await selectRemote({ agent: encodeText(agent), kind, remoteId: encodeText(remoteId) })),
      ),
    async list({ agent, kind, owner, contextId, cursor = Number.MAX_SAFE_INTEGER, limit }) {
      const scope = {
        agent: encodeText(agent),
        kind,
        owner: encodeText(owner),
        contextId: contextId === undefined ? null : encodeText(contextId),
      }
      const [rows, [counted]] = await db.withRetry(() =>
        Promise.all([selectOwned({ ...scope, cursor, limit: limit + 1 }), count(scope)]),
      )
      const page = rows.slice(0, limit)
      const next = rows.length > limit ? page.at(-1)?.number : undefined
      return defined({ records: page.map(decode), total: counted?.total ?? 0, next })
    },
    remove: async (key) => (await removeOne(keyOf(key))).length > 0,
    expire: async (before, limit) => (await removeOld({ before, limit })).length,
    async close() {
      closing.abort()
    },
  }
}

interface Key {
  readonly agent: string
  readonly kind: string
  readonly id: string
}

interface Rest {
  readonly owner: string
  readonly remoteId: string
  readonly contextId: string | null
  readonly data: string | null
}

type Scope = Omit<Key, 'id'> & Pick<Rest, 'owner' | 'contextId'>

/** The placeholders of values. */
type Names<V> = { readonly [Name in keyof V]: string }

function keyOf({ agent, kind, id }: OwnershipKey): Key {
  return { agent: encodeText(agent), kind, id: encodeText(id) }
}

/** Of several processes that start together, one creates the table; the others may see it in the making. */
async function createTable(pool: PostgresPool, table: string): Promise<void> {
  const text = `
    CREATE TABLE IF NOT EXISTS ${table} (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      agent text NOT NULL, kind text NOT NULL, id text NOT NULL, owner text NOT NULL, remote_id text NOT NULL,
      context_id text, data text, created timestamptz NOT NULL DEFAULT now(), UNIQUE (agent, kind, id));
    CREATE INDEX IF NOT EXISTS ownership_remote ON ${table} (agent, kind, remote_id);
    CREATE INDEX IF NOT EXISTS ownership_owner ON ${table} (agent, kind, owner, number);
    CREATE INDEX IF NOT EXISTS ownership_created ON ${table} (created)`
  for (let attempt = 1; ; attempt++) {
    try {
      await pool.query({ text })
      return
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}

interface Row {
  readonly number: number
  readonly agent: string
  readonly kind: OwnershipRecord['kind']
  readonly id: string
  readonly owner: string
  readonly remote_id: string
  readonly context_id: string | null
  readonly data: string | null
}

function decode({ agent, kind, id, owner, remote_id, context_id, data }: Row): OwnershipRecord {
  const contextId = context_id === null ? undefined : decodeText(context_id)
  const parsed = data === null ? undefined : (JSON.parse(decodeText(data)) as JsonObject)
  return defined({
    agent: decodeText(agent),
    kind,
    id: decodeText(id),
    owner: decodeText(owner),
    remoteId: decodeText(remote_id),
    contextId,
    data: parsed,
  })
}
