import type {
  NewWebhook,
  PushLease,
  PushStore,
  StoredWebhook,
  Webhook,
  WebhookKey,
  WebhookQuery,
} from '../../core/push/store.ts'
import { clockTolerance } from '../../core/tasks/log.ts'
import { type LogAccess, type SqliteDatabase, withSecureDelete } from './connection.ts'

/** Stores webhooks in the file of the log. Leases go by `leaseTime`, which never goes back. */
export function createSqlitePushStore(
  db: SqliteDatabase,
  { query, write }: Pick<LogAccess, 'query' | 'write'>,
  clock: () => number,
  leaseTime: () => number,
): PushStore {
  const webhooks = createWebhookTable(db, clock, leaseTime)
  return {
    keepsOrder: true,
    add(webhook, lease) {
      const text = JSON.stringify(webhook.webhook)
      return write(() => webhooks.add(webhook, text, lease))
    },
    edit(webhook) {
      const text = JSON.stringify(webhook.webhook)
      return write(() => webhooks.edit(webhook, text))
    },
    remove: (key) => write(() => webhooks.remove(key)),
    get: (key) => query(() => webhooks.get(key)),
    list: (webhookQuery) => query(() => webhooks.list(webhookQuery)),
    claim: (lease, limit) => write(() => webhooks.claim(lease, limit)),
    renew: (lease, held) => write(() => held.filter((stored) => !webhooks.renew(lease, stored))),
    settle(holder, settled) {
      const texts = settled.map(({ webhook }) => JSON.stringify(webhook))
      return write(() =>
        settled.filter((update, at) => !webhooks.settle(holder, update, texts[at] ?? '', update.isReleased === true)),
      )
    },
    release: (holder, keys) =>
      write(() => {
        for (const key of keys) webhooks.release(holder, key)
      }),
    expire: (idleBefore, limit) => write(() => webhooks.expire(idleBefore, limit)),
  }
}

/** The statements on webhooks; see `PushStore` for what each does. */
export interface WebhookTable {
  add(webhook: NewWebhook, text: string, lease: PushLease | undefined): StoredWebhook | undefined
  edit(webhook: StoredWebhook, text: string): StoredWebhook | undefined
  remove(key: WebhookKey): boolean
  get(key: WebhookKey): StoredWebhook | undefined
  list(query: WebhookQuery): readonly StoredWebhook[]
  claim(lease: PushLease, limit: number): readonly StoredWebhook[]
  /** Returns false if the lease was lost or the webhook edited. */
  renew(lease: PushLease, held: StoredWebhook): boolean
  settle(holder: string, settled: StoredWebhook, text: string, isReleased: boolean): boolean
  release(holder: string, key: WebhookKey): void
  expire(idleBefore: number, limit: number): number
}

function createWebhookTable(db: SqliteDatabase, clock: () => number, leaseTime: () => number): WebhookTable {
  const columns = 'place, task_id, owner, id, revision, due, webhook'
  const key = 'task_id = ? AND owner = ? AND id = ?'
  const insert = db.prepare(`
    INSERT INTO webhooks (task_id, owner, id, revision, due, webhook, touched, lease_holder, lease_until)
    VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT (task_id, owner, id) DO NOTHING`)
  const update = db.prepare(`
    UPDATE webhooks SET due = ?, webhook = ?, touched = ?, revision = revision + 1 WHERE ${key} AND revision = ?`)
  const remove = db.prepare(`DELETE FROM webhooks WHERE ${key}`)
  const select = db.prepare(`SELECT ${columns} FROM webhooks WHERE ${key}`)
  const selectOfTask = db.prepare(
    `SELECT ${columns} FROM webhooks WHERE task_id = ? AND place > ? ORDER BY place LIMIT ?`,
  )
  const selectAll = db.prepare(`SELECT ${columns} FROM webhooks WHERE place > ? ORDER BY place LIMIT ?`)
  const claimDue = db.prepare(`
    UPDATE webhooks SET lease_holder = ?, lease_until = ? WHERE place IN (
      SELECT place FROM webhooks
      WHERE due <= ? AND (lease_until IS NULL OR lease_until <= ? OR lease_until > ?) ORDER BY due LIMIT ?)
    RETURNING ${columns}`)
  const renewLease = db.prepare(
    `UPDATE webhooks SET lease_until = ? WHERE ${key} AND revision = ? AND lease_holder = ?`,
  )
  const settleWebhook = db.prepare(`
    UPDATE webhooks SET due = ?, webhook = ?, touched = ?, revision = revision + 1,
      lease_holder = CASE WHEN ? THEN NULL ELSE lease_holder END,
      lease_until = CASE WHEN ? THEN NULL ELSE lease_until END
    WHERE ${key} AND revision = ? AND lease_holder = ?`)
  const releaseLease = db.prepare(
    `UPDATE webhooks SET lease_holder = NULL, lease_until = NULL WHERE ${key} AND lease_holder = ?`,
  )
  const removeIdle = db.prepare(`
    DELETE FROM webhooks WHERE place IN (SELECT place FROM webhooks WHERE due IS NULL AND touched < ? LIMIT ?)`)

  return {
    add(added, text, lease) {
      const { taskId, owner, id, due, webhook } = added
      const now = clock()
      const leased = lease ? ([lease.holder, leaseTime() + lease.ttl] as const) : ([null, null] as const)
      const { changes, lastInsertRowid } = insert.run(taskId, owner, id, due ?? null, text, now, ...leased)
      return changes ? { taskId, owner, id, due, webhook, revision: 1, place: Number(lastInsertRowid) } : undefined
    },
    edit(stored, text) {
      const { due = null, taskId, owner, id, revision } = stored
      const { changes } = update.run(due, text, clock(), taskId, owner, id, revision)
      return changes ? { ...stored, revision: revision + 1 } : undefined
    },
    remove: ({ taskId, owner, id }) => withSecureDelete(db, () => remove.run(taskId, owner, id).changes > 0),
    get({ taskId, owner, id }) {
      const row = select.get(taskId, owner, id) as Row | undefined
      return row && decode(row)
    },
    list({ taskId, after = 0, limit }) {
      const rows = taskId === undefined ? selectAll.all(after, limit) : selectOfTask.all(taskId, after, limit)
      return (rows as Row[]).map(decode)
    },
    claim({ holder, ttl }, limit) {
      const begin = leaseTime()
      const end = begin + clockTolerance * ttl
      return (claimDue.all(holder, begin + ttl, clock(), begin, end, limit) as Row[]).map(decode)
    },
    renew({ holder, ttl }, { taskId, owner, id, revision }) {
      return renewLease.run(leaseTime() + ttl, taskId, owner, id, revision, holder).changes > 0
    },
    settle(holder, { due = null, taskId, owner, id, revision }, text, isReleased) {
      const released = isReleased ? 1 : 0
      const { changes } = settleWebhook.run(due, text, clock(), released, released, taskId, owner, id, revision, holder)
      return changes > 0
    },
    release: (holder, { taskId, owner, id }) => void releaseLease.run(taskId, owner, id, holder),
    expire: (idleBefore, limit) => Number(removeIdle.run(idleBefore, limit).changes),
  }
}

interface Row {
  readonly place: number
  readonly task_id: string
  readonly owner: string
  readonly id: string
  readonly revision: number
  readonly due: number | null
  readonly webhook: string
}

function decode({ task_id, due, webhook, ...row }: Row): StoredWebhook {
  return { ...row, taskId: task_id, due: due ?? undefined, webhook: JSON.parse(webhook) as Webhook }
}
