import type { PushStore, StoredWebhook, Webhook, WebhookKey } from '../../core/push/store.ts'
import { clockTolerance } from '../../core/tasks/log.ts'
import type { Database } from './connection.ts'
import { leaseEndSql } from './leases.ts'
import { array, decodeText, encodeText, lines } from './sql-text.ts'

/** Stores webhooks in the schema of the log. Leases and due times go by the clock of the database. */
export function createPostgresPushStore(db: Database, query: <T>(run: () => Promise<T>) => Promise<T>): PushStore {
  const webhooks = db.name('webhooks')
  const columns = 'place, task_id, owner, id, revision, due, webhook'
  const hasKey = 'task_id = $1 AND owner = $2 AND id = $3'
  const clock = 'extract(epoch FROM clock_timestamp()) * 1000'
  // A lease that lasts too long was taken before the clock of the database was set back.
  const isFree = (ttl: string) =>
    `(lease_until IS NULL OR lease_until <= clock_timestamp() OR lease_until > ${leaseEndSql(`${clockTolerance} * ${ttl}`)})`
  /** Joins several webhooks, passed as columns, with their rows. Every statement locks them in the same order. */
  const joinRows = (types = '', names = '') => `
    SELECT stored.place, input.* FROM ${webhooks} AS stored
    JOIN unnest(string_to_array($1, E'\\n'), string_to_array($2, E'\\n'), string_to_array($3, E'\\n')${types})
      AS input (task_id, owner, id${names})
      ON stored.task_id = input.task_id AND stored.owner = input.owner AND stored.id = input.id`

  const insert = db.prepare<Row>(`
    INSERT INTO ${webhooks} (task_id, owner, id, revision, due, webhook, touched, lease_holder, lease_until)
    VALUES ($1, $2, $3, 1, $4::float8, $5, ${clock}, $6, CASE WHEN $7::float8 IS NULL THEN NULL ELSE ${leaseEndSql('$7::float8')} END)
    ON CONFLICT (task_id, owner, id) DO NOTHING RETURNING ${columns}`)
  const update = db.prepare<Row>(`
    UPDATE ${webhooks} SET due = $4::float8, webhook = $5, touched = ${clock}, revision = revision + 1
    WHERE ${hasKey} AND revision = $6 RETURNING ${columns}`)
  const remove = db.prepare<object>(`DELETE FROM ${webhooks} WHERE ${hasKey} RETURNING 1 AS gone`)
  const select = db.prepare<Row>(`SELECT ${columns} FROM ${webhooks} WHERE ${hasKey}`)
  const selectOfTask = db.prepare<Row>(
    `SELECT ${columns} FROM ${webhooks} WHERE task_id = $1 AND place > $2 ORDER BY place LIMIT $3`,
  )
  const selectAll = db.prepare<Row>(`SELECT ${columns} FROM ${webhooks} WHERE place > $1 ORDER BY place LIMIT $2`)
  const claimDue = db.prepare<Row>(`
    UPDATE ${webhooks} SET lease_holder = $1, lease_until = ${leaseEndSql('$2::float8')} WHERE place IN (
      SELECT place FROM ${webhooks} WHERE due <= ${clock} AND ${isFree('$2::float8')} ORDER BY due LIMIT $3
      FOR UPDATE SKIP LOCKED)
    RETURNING ${columns}`)
  const renewLeases = db.prepare<KeyRow>(`
    WITH held AS MATERIALIZED (
      ${joinRows(', $4::int[]', ', revision')}
      WHERE stored.revision = input.revision AND stored.lease_holder = $5 ORDER BY stored.place FOR UPDATE OF stored
    )
    UPDATE ${webhooks} AS stored SET lease_until = ${leaseEndSql('$6::float8')} FROM held WHERE stored.place = held.place
    RETURNING held.task_id, held.owner, held.id`)
  const settleAll = db.prepare<KeyRow>(`
    WITH held AS MATERIALIZED (
      ${joinRows(", $4::int[], $5::float8[], $6::bool[], string_to_array($7, E'\\n')", ', revision, due, is_released, webhook')}
      WHERE stored.revision = input.revision AND stored.lease_holder = $8 ORDER BY stored.place FOR UPDATE OF stored
    )
    UPDATE ${webhooks} AS stored SET due = held.due, webhook = held.webhook, touched = ${clock},
      revision = stored.revision + 1,
      lease_holder = CASE WHEN held.is_released THEN NULL ELSE stored.lease_holder END,
      lease_until = CASE WHEN held.is_released THEN NULL ELSE stored.lease_until END
    FROM held WHERE stored.place = held.place RETURNING held.task_id, held.owner, held.id`)
  const releaseLeases = db.prepare<object>(`
    WITH held AS MATERIALIZED (
      ${joinRows()} WHERE stored.lease_holder = $4 ORDER BY stored.place FOR UPDATE OF stored
    )
    UPDATE ${webhooks} AS stored SET lease_holder = NULL, lease_until = NULL FROM held WHERE stored.place = held.place`)
  const removeIdle = db.prepare<object>(`
    DELETE FROM ${webhooks} WHERE place IN (
      SELECT place FROM ${webhooks} WHERE due IS NULL AND touched < $1::float8 LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING 1 AS gone`)

  return {
    add: (webhook, lease) =>
      query(async () => {
        const holder = lease ? encodeText(lease.holder) : null
        const text = JSON.stringify(webhook.webhook)
        const [row] = await insert(...keyOf(webhook), webhook.due ?? null, text, holder, lease?.ttl ?? null)
        return row && decode(row)
      }),
    edit: (webhook) =>
      query(async () => {
        const text = JSON.stringify(webhook.webhook)
        const [row] = await update(...keyOf(webhook), webhook.due ?? null, text, webhook.revision)
        return row && decode(row)
      }),
    remove: (webhook) => query(async () => (await remove(...keyOf(webhook))).length > 0),
    get: (key) =>
      query(async () => {
        const [row] = await select(...keyOf(key))
        return row && decode(row)
      }),
    list: ({ taskId, after = 0, limit }) =>
      query(async () => {
        const rows = taskId === undefined ? selectAll(after, limit) : selectOfTask(encodeText(taskId), after, limit)
        return (await rows).map(decode)
      }),
    claim: ({ holder, ttl }, limit) => query(async () => (await claimDue(encodeText(holder), ttl, limit)).map(decode)),
    renew: ({ holder, ttl }, held) =>
      query(async () => {
        if (held.length === 0) return []
        const revisions = array(held.map(({ revision }) => revision))
        return missing(held, await renewLeases(...keysOf(held), revisions, encodeText(holder), ttl))
      }),
    settle: (holder, settled) =>
      query(async () => {
        if (settled.length === 0) return []
        const rows = await settleAll(
          ...keysOf(settled),
          array(settled.map(({ revision }) => revision)),
          array(settled.map(({ due }) => due)),
          array(settled.map(({ isReleased = false }) => isReleased)),
          // JSON contains no line breaks.
          settled.map(({ webhook }) => JSON.stringify(webhook)).join('\n'),
          encodeText(holder),
        )
        return missing(settled, rows)
      }),
    release: (holder, keys) =>
      query(async () => {
        if (keys.length > 0) await releaseLeases(...keysOf(keys), encodeText(holder))
      }),
    expire: (idleBefore, limit) => query(async () => (await removeIdle(idleBefore, limit)).length),
  }
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

function keyOf({ taskId, owner, id }: WebhookKey): [taskId: string, owner: string, id: string] {
  return [encodeText(taskId), encodeText(owner), encodeText(id)]
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
  return webhooks.filter((key) => !names.has(nameOf(...keyOf(key))))
}

function keysOf(keys: readonly WebhookKey[]): [taskIds: string, owners: string, ids: string] {
  return [
    lines(keys.map(({ taskId }) => taskId)),
    lines(keys.map(({ owner }) => owner)),
    lines(keys.map(({ id }) => id)),
  ]
}
