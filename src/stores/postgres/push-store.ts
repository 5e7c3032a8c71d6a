import type { PushStore, StoredWebhook, Webhook, WebhookKey } from '../../core/push/store.ts'
import { clockTolerance } from '../../core/tasks/log.ts'
import type { Database } from '../shared/database.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { leaseEndSql } from './leases.ts'
import { array, lines, linesSql } from './sql-text.ts'

/** Stores webhooks in the schema of the log. Leases and due times go by the clock of the database. */
export function createPostgresPushStore(db: Database, query: <T>(run: () => Promise<T>) => Promise<T>): PushStore {
  const webhooks = db.name('webhooks')
  const columns = 'place, task_id, owner, id, revision, due, webhook'
  const hasKey = ({ taskId, owner, id }: WebhookKey) => `task_id = ${taskId} AND owner = ${owner} AND id = ${id}`
  const clock = 'extract(epoch FROM clock_timestamp()) * 1000'
  // A lease that lasts too long was taken before the clock of the database was set back.
  const isFree = (ttl: string) =>
    `(lease_until IS NULL OR lease_until <= clock_timestamp() OR lease_until > ${leaseEndSql(`${clockTolerance} * ${ttl}`)})`
  /** Joins several webhooks, passed as columns, with their rows. Every statement locks them in the same order. */
  const joinRows = ({ taskIds, owners, ids }: KeyColumns, types = '', names = '') => `
    SELECT stored.place, input.* FROM ${webhooks} AS stored
    JOIN unnest(${linesSql(taskIds)}, ${linesSql(owners)}, ${linesSql(ids)}${types})
      AS input (task_id, owner, id${names})
      ON stored.task_id = input.task_id AND stored.owner = input.owner AND stored.id = input.id`

  const insert = db.prepare<
    Row,
    WebhookKey & Content & { readonly holder: string | null; readonly ttl: number | null }
  >(
    ({ taskId, owner, id, due, webhook, holder, ttl }) => `
    INSERT INTO ${webhooks} (task_id, owner, id, revision, due, webhook, touched, lease_holder, lease_until)
    VALUES (${taskId}, ${owner}, ${id}, 1, ${due}::float8, ${webhook}, ${clock}, ${holder},
      CASE WHEN ${ttl}::float8 IS NULL THEN NULL ELSE ${leaseEndSql(ttl)} END)
    ON CONFLICT (task_id, owner, id) DO NOTHING RETURNING ${columns}`,
  )
  const update = db.prepare<Row, WebhookKey & Content & { readonly revision: number }>(
    (value) => `
    UPDATE ${webhooks} SET due = ${value.due}::float8, webhook = ${value.webhook}, touched = ${clock},
      revision = revision + 1
    WHERE ${hasKey(value)} AND revision = ${value.revision} RETURNING ${columns}`,
  )
  const remove = db.prepare<unknown, WebhookKey>(
    (key) => `DELETE FROM ${webhooks} WHERE ${hasKey(key)} RETURNING 1 AS gone`,
  )
  const select = db.prepare<Row, WebhookKey>((key) => `SELECT ${columns} FROM ${webhooks} WHERE ${hasKey(key)}`)
  const selectOfTask = db.prepare<Row, Page & { readonly taskId: string }>(
    ({ taskId, after, limit }) =>
      `SELECT ${columns} FROM ${webhooks} WHERE task_id = ${taskId} AND place > ${after} ORDER BY place LIMIT ${limit}`,
  )
  const selectAll = db.prepare<Row, Page>(
    ({ after, limit }) => `SELECT ${columns} FROM ${webhooks} WHERE place > ${after} ORDER BY place LIMIT ${limit}`,
  )
  const claimDue = db.prepare<Row, { readonly holder: string; readonly ttl: number; readonly limit: number }>(
    ({ holder, ttl, limit }) => `
    UPDATE ${webhooks} SET lease_holder = ${holder}, lease_until = ${leaseEndSql(ttl)} WHERE place IN (
      SELECT place FROM ${webhooks} WHERE due <= ${clock} AND ${isFree(ttl)} ORDER BY due LIMIT ${limit}
      FOR UPDATE SKIP LOCKED)
    RETURNING ${columns}`,
  )
  const renewLeases = db.prepare<KeyRow, HeldColumns & { readonly ttl: number }>(
    (value) => `
    WITH held AS MATERIALIZED (
      ${joinRows(value, `, ${value.revisions}::int[]`, ', revision')}
      WHERE stored.revision = input.revision AND stored.lease_holder = ${value.holder} ORDER BY stored.place
      FOR UPDATE OF stored
    )
    UPDATE ${webhooks} AS stored SET lease_until = ${leaseEndSql(value.ttl)} FROM held WHERE stored.place = held.place
    RETURNING held.task_id, held.owner, held.id`,
  )
  const settleAll = db.prepare<KeyRow, HeldColumns & SettledColumns>(
    (value) => `
    WITH held AS MATERIALIZED (
      ${joinRows(
        value,
        `, ${value.revisions}::int[], ${value.dues}::float8[], ${value.released}::bool[], ${linesSql(value.texts)}`,
        ', revision, due, is_released, webhook',
      )}
      WHERE stored.revision = input.revision AND stored.lease_holder = ${value.holder} ORDER BY stored.place
      FOR UPDATE OF stored
    )
    UPDATE ${webhooks} AS stored SET due = held.due, webhook = held.webhook, touched = ${clock},
      revision = stored.revision + 1,
      lease_holder = CASE WHEN held.is_released THEN NULL ELSE stored.lease_holder END,
      lease_until = CASE WHEN held.is_released THEN NULL ELSE stored.lease_until END
    FROM held WHERE stored.place = held.place RETURNING held.task_id, held.owner, held.id`,
  )
  const releaseLeases = db.prepare<unknown, KeyColumns & { readonly holder: string }>(
    (value) => `
    WITH held AS MATERIALIZED (
      ${joinRows(value)} WHERE stored.lease_holder = ${value.holder} ORDER BY stored.place FOR UPDATE OF stored
    )
    UPDATE ${webhooks} AS stored SET lease_holder = NULL, lease_until = NULL FROM held WHERE stored.place = held.place`,
  )
  const removeIdle = db.prepare<unknown, { readonly idleBefore: number; readonly limit: number }>(
    ({ idleBefore, limit }) => `
    DELETE FROM ${webhooks} WHERE place IN (
      SELECT place FROM ${webhooks} WHERE due IS NULL AND touched < ${idleBefore}::float8 LIMIT ${limit}
      FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`,
  )

  return {
    add: (webhook, lease) =>
      query(async () => {
        const holder = lease ? encodeText(lease.holder) : null
        const [row] = await insert({ ...keyOf(webhook), ...contentOf(webhook), holder, ttl: lease?.ttl ?? null })
        return row && decode(row)
      }),
    edit: (webhook) =>
      query(async () => {
        const [row] = await update({ ...keyOf(webhook), ...contentOf(webhook), revision: webhook.revision })
        return row && decode(row)
      }),
    remove: (webhook) => query(async () => (await remove(keyOf(webhook))).length > 0),
    get: (key) =>
      query(async () => {
        const [row] = await select(keyOf(key))
        return row && decode(row)
      }),
    list: ({ taskId, after = 0, limit }) =>
      query(async () => {
        const rows =
          taskId === undefined
            ? selectAll({ after, limit })
            : selectOfTask({ taskId: encodeText(taskId), after, limit })
        return (await rows).map(decode)
      }),
    claim: ({ holder, ttl }, limit) =>
      query(async () => (await claimDue({ holder: encodeText(holder), ttl, limit })).map(decode)),
    renew: ({ holder, ttl }, held) =>
      query(async () => {
        if (held.length === 0) return []
        const revisions = array(held.map(({ revision }) => revision))
        return missing(held, await renewLeases({ ...keysOf(held), revisions, holder: encodeText(holder), ttl }))
      }),
    settle: (holder, settled) =>
      query(async () => {
        if (settled.length === 0) return []
        const rows = await settleAll({
          ...keysOf(settled),
          revisions: array(settled.map(({ revision }) => revision)),
          dues: array(settled.map(({ due }) => due)),
          released: array(settled.map(({ isReleased = false }) => isReleased)),
          // JSON contains no line breaks.
          texts: settled.map(({ webhook }) => JSON.stringify(webhook)).join('\n'),
          holder: encodeText(holder),
        })
        return missing(settled, rows)
      }),
    release: (holder, keys) =>
      query(async () => {
        if (keys.length > 0) await releaseLeases({ ...keysOf(keys), holder: encodeText(holder) })
      }),
    expire: (idleBefore, limit) => query(async () => (await removeIdle({ idleBefore, limit })).length),
  }
}

interface Content {
  readonly due: number | null
  readonly webhook: string
}

interface Page {
  readonly after: number
  readonly limit: number
}

interface KeyColumns {
  readonly taskIds: string
  readonly owners: string
  readonly ids: string
}

interface HeldColumns extends KeyColumns {
  readonly revisions: string
  readonly holder: string
}

interface SettledColumns {
  readonly dues: string
  readonly released: string
  readonly texts: string
}

interface Row extends KeyRow {
  readonly place: string
  readonly revision: number
  readonly due: number | null
  readonly webhook: string
}

interface KeyRow {
  readonly task_id: string
  readonly owner: string
  readonly id: string
}

function keyOf({ taskId, owner, id }: WebhookKey): WebhookKey {
  return { taskId: encodeText(taskId), owner: encodeText(owner), id: encodeText(id) }
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

/** The webhooks that the statement did not update. */
function missing(webhooks: readonly StoredWebhook[], updated: readonly KeyRow[]): readonly WebhookKey[] {
  const nameOf = (...names: readonly string[]) => names.join('\n')
  const names = new Set(updated.map(({ task_id, owner, id }) => nameOf(task_id, owner, id)))
  return webhooks.filter((webhook) => {
    const { taskId, owner, id } = keyOf(webhook)
    return !names.has(nameOf(taskId, owner, id))
  })
}

function keysOf(keys: readonly WebhookKey[]): KeyColumns {
  return {
    taskIds: lines(keys.map(({ taskId }) => taskId)),
    owners: lines(keys.map(({ owner }) => owner)),
    ids: lines(keys.map(({ id }) => id)),
  }
}
