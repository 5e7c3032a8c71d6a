import type {
  NewWebhook,
  PushLease,
  PushStore,
  StoredWebhook,
  Webhook,
  WebhookKey,
  WebhookQuery,
} from '../../push/store.ts'
import { type SqliteDatabase, withSecureDelete } from './connection.ts'

/** How the log reads and writes: in order, in groups, and telling nothing that is not on disk. */
export interface Access {
  look<T>(read: () => T): Promise<T>
  write<T>(work: () => T): Promise<T>
}

/** Webhooks in the file of the log. */
export function createSqlitePushStore(db: SqliteDatabase, { look, write }: Access, clock: () => number): PushStore {
  const webhooks = createWebhooks(db, clock)
  return {
    add(webhook, lease) {
      const text = JSON.stringify(webhook.webhook)
      return write(() => webhooks.add(webhook, text, lease))
    },
    edit(webhook) {
      const text = JSON.stringify(webhook.webhook)
      return write(() => webhooks.edit(webhook, text))
    },
    remove: (key) => write(() => webhooks.remove(key)),
    get: (key) => look(() => webhooks.get(key)),
    list: (query) => look(() => webhooks.list(query)),
    claim: (lease, limit) => write(() => webhooks.claim(lease, limit)),
    renew: (lease, held) => write(() => held.filter((stored) => !webhooks.renew(lease, stored))),
    settle(holder, settled) {
      const texts = settled.map(({ webhook }) => JSON.stringify(webhook))
      return write(() =>
        settled.filter((each, at) => !webhooks.settle(holder, each, texts[at] ?? '', each.isReleased === true)),
      )
    },
    release: (holder, keys) =>
      write(() => {
        for (const key of keys) webhooks.release(holder, key)
      }),
    expire: (idleBefore, limit) => write(() => webhooks.expire(idleBefore, limit)),
  }
}

/** The webhooks beside the tasks; what each does is said by `PushStore`. */
export interface Webhooks {
  add(webhook: NewWebhook, text: string, lease: PushLease | undefined): StoredWebhook | undefined
  edit(webhook: StoredWebhook, text: string): StoredWebhook | undefined
  remove(key: WebhookKey): boolean
  get(key: WebhookKey): StoredWebhook | undefined
  list(query: WebhookQuery): readonly StoredWebhook[]
  claim(lease: PushLease, limit: number): readonly StoredWebhook[]
  /** Whether it is still held, and as it was. */
  renew(lease: PushLease, held: StoredWebhook): boolean
  settle(holder: string, settled: StoredWebhook, text: string, isReleased: boolean): boolean
  release(holder: string, key: WebhookKey): void
  expire(idleBefore: number, limit: number): number
}

function createWebhooks(db: SqliteDatabase, clock: () => number): Webhooks {
  const columns = 'place, task_id, owner, id, revision, due, webhook'
  const key = 'task_id = ? AND owner = ? AND id = ?'
  const insert = db.prepare(`
    INSERT INTO webhooks (task_id, owner, id, revision, due, webhook, touched, lease_holder, lease_until)
    VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT (task_id, owner, id) DO NOTHING`)
  const update = db.prepare(`
    UPDATE webhooks SET due = ?, webhook = ?, touched = ?, revision = revision + 1 WHERE ${key} AND revision = ?`)
  const drop = db.prepare(`DELETE FROM webhooks WHERE ${key}`)
  const select = db.prepare(`SELECT ${columns} FROM webhooks WHERE ${key}`)
  const ofTask = db.prepare(`SELECT ${columns} FROM webhooks WHERE task_id = ? AND place > ? ORDER BY place LIMIT ?`)
  const all = db.prepare(`SELECT ${columns} FROM webhooks WHERE place > ? ORDER BY place LIMIT ?`)
  const take = db.prepare(`
    UPDATE webhooks SET lease_holder = ?, lease_until = ? WHERE place IN (
      SELECT place FROM webhooks WHERE due <= ? AND (lease_until IS NULL OR lease_until <= ?) ORDER BY due LIMIT ?)
    RETURNING ${columns}`)
  const prolong = db.prepare(`UPDATE webhooks SET lease_until = ? WHERE ${key} AND revision = ? AND lease_holder = ?`)
  const write = db.prepare(`
    UPDATE webhooks SET due = ?, webhook = ?, touched = ?, revision = revision + 1,
      lease_holder = CASE WHEN ? THEN NULL ELSE lease_holder END,
      lease_until = CASE WHEN ? THEN NULL ELSE lease_until END
    WHERE ${key} AND revision = ? AND lease_holder = ?`)
  const giveBack = db.prepare(
    `UPDATE webhooks SET lease_holder = NULL, lease_until = NULL WHERE ${key} AND lease_holder = ?`,
  )
  const dropIdle = db.prepare(`
    DELETE FROM webhooks WHERE place IN (SELECT place FROM webhooks WHERE due IS NULL AND touched < ? LIMIT ?)`)

  return {
    add(added, text, lease) {
      const { taskId, owner, id, due, webhook } = added
      const now = clock()
      const leased = lease ? ([lease.holder, now + lease.ttl] as const) : ([null, null] as const)
      const { changes, lastInsertRowid } = insert.run(taskId, owner, id, due ?? null, text, now, ...leased)
      return changes ? { taskId, owner, id, due, webhook, revision: 1, place: Number(lastInsertRowid) } : undefined
    },
    edit(stored, text) {
      const { due = null, taskId, owner, id, revision } = stored
      const { changes } = update.run(due, text, clock(), taskId, owner, id, revision)
      return changes ? { ...stored, revision: revision + 1 } : undefined
    },
    remove: ({ taskId, owner, id }) => withSecureDelete(db, () => drop.run(taskId, owner, id).changes > 0),
    get({ taskId, owner, id }) {
      const row = select.get(taskId, owner, id) as Row | undefined
      return row && decode(row)
    },
    list({ taskId, after = 0, limit }) {
      const rows = taskId === undefined ? all.all(after, limit) : ofTask.all(taskId, after, limit)
      return (rows as Row[]).map(decode)
    },
    claim({ holder, ttl }, limit) {
      const now = clock()
      return (take.all(holder, now + ttl, now, now, limit) as Row[]).map(decode)
    },
    renew({ holder, ttl }, { taskId, owner, id, revision }) {
      return prolong.run(clock() + ttl, taskId, owner, id, revision, holder).changes > 0
    },
    settle(holder, { due = null, taskId, owner, id, revision }, text, isReleased) {
      const released = isReleased ? 1 : 0
      const { changes } = write.run(due, text, clock(), released, released, taskId, owner, id, revision, holder)
      return changes > 0
    },
    release: (holder, { taskId, owner, id }) => void giveBack.run(taskId, owner, id, holder),
    expire: (idleBefore, limit) => Number(dropIdle.run(idleBefore, limit).changes),
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
