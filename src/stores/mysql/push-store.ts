import type { PushStore, StoredWebhook, Webhook, WebhookKey } from '../../core/push/store.ts'
import { clockTolerance } from '../../core/tasks/log.ts'
import type { Database, RunQuery } from '../shared/database.ts'
import type { RunWork } from '../shared/log-engine.ts'
import { decodeText } from '../shared/sql-text.ts'
import { clockSql, encodeId, rowsOf, rowsSql } from './sql-text.ts'

const columns = 'place, task_id, owner, id, revision, due, webhook'

/** Stores webhooks beside the log. Leases and due times go by the clock of the database. */
export function createMysqlPushStore(db: Database, query: RunWork): PushStore {
  const webhooks = db.name('webhooks')
  const hasKey = ({ taskId, owner, id }: WebhookKey) => `task_id = ${taskId} AND owner = ${owner} AND id = ${id}`
  const insert = db.prepareChange<
    WebhookKey & Content & { readonly holder: string | null; readonly ttl: number | null }
  >(
    ({ taskId, owner, id, due, webhook, holder, ttl }) => `
    INSERT INTO ${webhooks} (task_id, owner, id, revision, due, webhook, touched, lease_holder, lease_until)
    VALUES (${taskId}, ${owner}, ${id}, 1, ${due}, ${webhook}, ${clockSql}, ${holder}, ${clockSql} + ${ttl})`,
  )
  const update = db.prepareChange<WebhookKey & Content & { readonly revision: number }>(
    (value) => `
    UPDATE ${webhooks} SET due = ${value.due}, webhook = ${value.webhook}, touched = ${clockSql}, revision = revision + 1
    WHERE ${hasKey(value)} AND revision = ${value.revision}`,
  )
  const remove = db.prepareChange<WebhookKey>((key) => `DELETE FROM ${webhooks} WHERE ${hasKey(key)}`)
  const select = db.prepare<Row, WebhookKey>((key) => `SELECT ${columns} FROM ${webhooks} WHERE ${hasKey(key)}`)
  const selectPage = db.prepare<
    Row,
    { readonly taskId: string | null; readonly after: number; readonly limit: number }
  >(
    ({ taskId, after, limit }) => `
    SELECT ${columns} FROM ${webhooks} WHERE (${taskId} IS NULL OR task_id = ${taskId}) AND place > ${after}
    ORDER BY place LIMIT ${limit}`,
  )
  const removeIdle = db.prepareChange<{ readonly idleBefore: number; readonly limit: number }>(
    ({ idleBefore, limit }) =>
      `DELETE FROM ${webhooks} WHERE due IS NULL AND touched < ${idleBefore} ORDER BY touched LIMIT ${limit}`,
  )
  const releaseAll = db.prepareChange<{ readonly rows: string; readonly holder: string }>(
    ({ rows, holder }) => `
    UPDATE ${rowsSql(rows, keyColumns)} AS input STRAIGHT_JOIN ${webhooks} AS stored ON ${isSame}
    SET stored.lease_holder = NULL, stored.lease_until = NULL WHERE stored.lease_holder = ${holder}`,
  )

  /** Locks the webhooks that a holder still has, and changes them. Returns those that it has no more. */
  async function change<W extends StoredWebhook>(
    holder: string,
    held: readonly W[],
    apply: (run: RunQuery, rows: string) => Promise<unknown>,
    rowOf: (webhook: W) => Readonly<Record<string, unknown>> = () => ({}),
  ): Promise<readonly WebhookKey[]> {
    if (held.length === 0) return []
    return await db.transaction(async (run) => {
      const found = await run<KeyRow, { readonly rows: string; readonly holder: string }>(
        ({ rows, holder: by }) => `
        SELECT stored.task_id, stored.owner, stored.id FROM ${rowsSql(rows, { ...keyColumns, revision: 'int' })} AS input
        STRAIGHT_JOIN ${webhooks} AS stored ON ${isSame}
        WHERE stored.revision = input.revision AND stored.lease_holder = ${by} ORDER BY stored.place FOR UPDATE`,
        { rows: rowsOf(held, (each) => ({ ...keyRow(each), revision: each.revision })), holder: encodeId(holder) },
      )
      const names = new Set(found.map(({ task_id, owner, id }) => [task_id, owner, id].join('\n')))
      const nameOf = (key: WebhookKey) => Object.values(keyRow(key)).join('\n')
      const present = held.filter((each) => names.has(nameOf(each)))
      if (present.length > 0)
        await apply(
          run,
          rowsOf(present, (each) => ({ ...keyRow(each), ...rowOf(each) })),
        )
      return held.filter((each) => !names.has(nameOf(each)))
    })
  }

  async function get(key: WebhookKey): Promise<StoredWebhook | undefined> {
    const [row] = await select(keyOf(key))
    return row && decode(row)
  }

  return {
    add: (webhook, lease) =>
      query(async () => {
        const holder = lease ? encodeId(lease.holder) : null
        const values = { ...keyOf(webhook), ...contentOf(webhook), holder, ttl: lease?.ttl ?? null }
        const isNew = await insert(values).catch((error) => {
          if (db.errors.isConflict(error)) return 0
          throw error
        })
        return isNew ? await get(webhook) : undefined
      }),
    edit: (webhook) =>
      query(async () => {
        const values = { ...keyOf(webhook), ...contentOf(webhook), revision: webhook.revision }
        return (await update(values)) > 0 ? await get(webhook) : undefined
      }),
    remove: (webhook) => query(async () => (await remove(keyOf(webhook))) > 0),
    get: (key) => query(() => get(key)),
    list: ({ taskId, after = 0, limit }) =>
      query(async () => {
        const rows = await selectPage({ taskId: taskId === undefined ? null : encodeId(taskId), after, limit })
        return rows.map(decode)
      }),
    claim: ({ holder, ttl }, limit) =>
      query(() =>
        db.transaction(async (run) => {
          const rows = await run<Row, { readonly longest: number; readonly limit: number }>(
            (value) => `
            SELECT ${columns} FROM ${webhooks} WHERE due <= ${clockSql} AND (lease_until IS NULL
              OR lease_until <= ${clockSql} OR lease_until > ${clockSql} + ${value.longest})
            ORDER BY due LIMIT ${value.limit} FOR UPDATE SKIP LOCKED`,
            // A lease that lasts too long was taken before the clock of the database was set back.
            { longest: clockTolerance * ttl, limit },
          )
          if (rows.length === 0) return []
          await run<unknown, { readonly rows: string; readonly holder: string; readonly ttl: number }>(
            (value) => `
            UPDATE ${rowsSql(value.rows, { place: 'long' })} AS due
            STRAIGHT_JOIN ${webhooks} AS stored ON stored.place = due.place
            SET stored.lease_holder = ${value.holder}, stored.lease_until = ${clockSql} + ${value.ttl}`,
            { rows: rowsOf(rows, ({ place }) => ({ place })), holder: encodeId(holder), ttl },
          )
          return rows.map(decode)
        }),
      ),
    renew: ({ holder, ttl }, held) =>
      query(() =>
        change(holder, held, (run, rows) =>
          run<unknown, { readonly rows: string; readonly ttl: number }>(
            (value) => `
            UPDATE ${rowsSql(value.rows, keyColumns)} AS input STRAIGHT_JOIN ${webhooks} AS stored ON ${isSame}
            SET stored.lease_until = ${clockSql} + ${value.ttl}`,
            { rows, ttl },
          ),
        ),
      ),
    settle: (holder, settled) =>
      query(() =>
        change(
          holder,
          settled,
          (run, rows) =>
            run<unknown, { readonly rows: string }>(
              (value) => `
              UPDATE ${rowsSql(value.rows, { ...keyColumns, due: 'double', webhook: 'text', is_released: 'bool' })} AS input
              STRAIGHT_JOIN ${webhooks} AS stored ON ${isSame}
              SET stored.due = input.due, stored.webhook = input.webhook, stored.touched = ${clockSql},
                stored.revision = stored.revision + 1,
                stored.lease_holder = IF(input.is_released, NULL, stored.lease_holder),
                stored.lease_until = IF(input.is_released, NULL, stored.lease_until)`,
              { rows },
            ),
          ({ due, webhook, isReleased = false }) => ({
            due,
            webhook: JSON.stringify(webhook),
            is_released: isReleased,
          }),
        ),
      ),
    release: (holder, keys) =>
      query(async () => {
        if (keys.length > 0) await releaseAll({ rows: rowsOf(keys, keyRow), holder: encodeId(holder) })
      }),
    expire: (idleBefore, limit) => query(() => removeIdle({ idleBefore, limit })),
  }
}

const keyColumns = { task_id: 'id', owner: 'id', id: 'id' } as const

const isSame = 'stored.task_id = input.task_id AND stored.owner = input.owner AND stored.id = input.id'

interface Content {
  readonly due: number | null
  readonly webhook: string
}

interface KeyRow {
  readonly task_id: string
  readonly owner: string
  readonly id: string
}

interface Row extends KeyRow {
  readonly place: number | string
  readonly revision: number
  readonly due: number | null
  readonly webhook: string
}

function keyOf({ taskId, owner, id }: WebhookKey): WebhookKey {
  return { taskId: encodeId(taskId), owner: encodeId(owner), id: encodeId(id) }
}

function keyRow({ taskId, owner, id }: WebhookKey): Readonly<Record<'task_id' | 'owner' | 'id', string>> {
  return { task_id: encodeId(taskId), owner: encodeId(owner), id: encodeId(id) }
}

function contentOf({ due, webhook }: Pick<StoredWebhook, 'due' | 'webhook'>): Content {
  return { due: due ?? null, webhook: JSON.stringify(webhook) }
}

function decode({ place, task_id, owner, id, revision, due, webhook }: Row): StoredWebhook {
  return {
    taskId: decodeText(task_id),
    owner: decodeText(owner),
    id: decodeText(id),
    place: Number(place),
    revision,
    due: due ?? undefined,
    webhook: JSON.parse(webhook) as Webhook,
  }
}
