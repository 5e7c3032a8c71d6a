import { defined, type JsonObject } from '../../core/base/json.ts'
import type { OwnershipKey, OwnershipRecord, OwnershipStore } from '../../core/tasks/ownership.ts'
import type { Database } from './database.ts'
import { decodeText, encodeText } from './sql-text.ts'

export const ownershipTimeouts = { patience: 5_000, statementTimeout: 5_000, subject: 'The ownership store' }

/** Stores ownership records in a database on a server. */
export function createServerOwnership(db: Database, closing: AbortController): OwnershipStore {
  const { syntax } = db
  const { encodeId } = syntax
  const table = db.name('ownership')
  const columns = 'number, agent, kind, id, owner, remote_id, context_id, data'
  const insert = db.prepareChange<Key & Rest>(({ agent, kind, id, owner, remoteId, contextId, data }) =>
    syntax.insertNew(table, {
      agent,
      kind,
      id,
      owner,
      data,
      created: syntax.now,
      remote_id: remoteId,
      context_id: contextId,
    }),
  )
  const keyed = ({ agent, kind, id }: Names<Key>) => `agent = ${agent} AND kind = ${kind} AND id = ${id}`
  const select = db.prepare<Row, Key>((key) => `SELECT ${columns} FROM ${table} WHERE ${keyed(key)}`)
  const selectRemote = db.prepare<Row, Omit<Key, 'id'> & Pick<Rest, 'remoteId'>>(
    ({ agent, kind, remoteId }) => `
    SELECT ${columns} FROM ${table} WHERE agent = ${agent} AND kind = ${kind} AND remote_id = ${remoteId}
    ORDER BY number LIMIT 1`,
  )
  const owned = ({ agent, kind, owner, contextId }: Names<Scope>) =>
    `agent = ${agent} AND kind = ${kind} AND owner = ${owner} AND (context_id = ${contextId} OR ${contextId} IS NULL)`
  const selectOwned = db.prepare<Row, Scope & { readonly cursor: number; readonly limit: number }>(
    (names) => `
    SELECT ${columns} FROM ${table} WHERE ${owned(names)} AND number < ${syntax.double(names.cursor)}
    ORDER BY number DESC LIMIT ${names.limit}`,
  )
  const count = db.prepare<{ readonly total: number | string }, Scope>(
    (scope) => `SELECT count(*) AS total FROM ${table} WHERE ${owned(scope)}`,
  )
  const removeOne = db.prepareChange<Key>((key) => `DELETE FROM ${table} WHERE ${keyed(key)}`)
  const removeOld = db.prepareChange<{ readonly before: number; readonly limit: number }>(({ before, limit }) =>
    syntax.deleteSome(table, 'number', `created < ${syntax.timeOf(before)}`, limit),
  )
  const first = (rows: readonly Row[]) => (rows[0] ? decode(rows[0]) : undefined)
  const optional = (text: string | undefined) => (text === undefined ? null : encodeId(text))
  const keyOf = ({ agent, kind, id }: OwnershipKey): Key => ({ agent: encodeId(agent), kind, id: encodeId(id) })

  return {
    async claim(record) {
      const { owner, remoteId, contextId, data } = record
      const key = keyOf(record)
      const values = {
        ...key,
        owner: encodeId(owner),
        remoteId: encodeId(remoteId),
        contextId: optional(contextId),
        data: data === undefined ? null : encodeText(JSON.stringify(data)),
      }
      return await db.withRetry(async () => {
        for (;;) {
          if ((await insert(values)) > 0) return record
          const stored = first(await select(key))
          // A record that expires between the two statements is inserted again.
          if (stored) return stored
        }
      })
    },
    find: (key) => db.withRetry(async () => first(await select(keyOf(key)))),
    findRemote: ({ agent, kind, remoteId }) =>
      db.withRetry(async () =>
        first(await selectRemote({ agent: encodeId(agent), kind, remoteId: encodeId(remoteId) })),
      ),
    async list({ agent, kind, owner, contextId, cursor = Number.MAX_SAFE_INTEGER, limit }) {
      const scope = { agent: encodeId(agent), kind, owner: encodeId(owner), contextId: optional(contextId) }
      const [rows, [counted]] = await db.withRetry(() =>
        Promise.all([selectOwned({ ...scope, cursor, limit: limit + 1 }), count(scope)]),
      )
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      return defined({
        records: page.map(decode),
        total: Number(counted?.total ?? 0),
        next: last && Number(last.number),
      })
    },
    remove: async (key) => (await removeOne(keyOf(key))) > 0,
    expire: (before, limit) => removeOld({ before, limit }),
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

interface Row {
  readonly number: number | string
  readonly agent: string
  readonly kind: OwnershipRecord['kind']
  readonly id: string
  readonly owner: string
  readonly remote_id: string
  readonly context_id: string | null
  readonly data: string | null
}

function decode({ agent, kind, id, owner, remote_id, context_id, data }: Row): OwnershipRecord {
  return defined({
    agent: decodeText(agent),
    kind,
    id: decodeText(id),
    owner: decodeText(owner),
    remoteId: decodeText(remote_id),
    contextId: context_id === null ? undefined : decodeText(context_id),
    data: data === null ? undefined : (JSON.parse(decodeText(data)) as JsonObject),
  })
}
