import type { Trace } from '../base/trace-context.ts'
import type { PushConfig } from '../protocol/service.ts'

export interface WebhookKey {
  readonly taskId: string
  /** The owner who registered the webhook; see `ownerOf`. */
  readonly owner: string
  readonly id: string
}

/** The outcome so far of delivering one event. */
export interface Delivery {
  readonly generation: number
  readonly attempts: number
  /** Time of the last attempt, in milliseconds since 1970. */
  readonly at: number
  /** How long the receiver took to respond, in milliseconds. */
  readonly latency: number
  /** The HTTP status of the response. */
  readonly status?: number
  /** Why the last attempt failed. */
  readonly problem?: string
  /** When the delivery is retried, in milliseconds since 1970. */
  readonly nextTry?: number
}

/** A webhook and its delivery progress. Stored as JSON. */
export interface Webhook {
  /** Prefix of the delivery ids. Does not change when the config does. */
  readonly uid: string
  readonly config: Pick<PushConfig, 'url' | 'token' | 'authentication' | 'tenant' | 'carry'>
  readonly contextId: string
  /** The dialect in which the webhook was registered; payloads use it. */
  readonly dialect?: string
  /** Whether the owner has negotiated the extension for input requests. Otherwise they are expanded into messages. */
  readonly knowsRequests?: boolean
  /** Whether the registration came through a proxy. */
  readonly isForwarded?: boolean
  /** The id under which the caller knows the task, if it differs from the task id. */
  readonly alias?: string
  /** Trace id of the deliveries if the task has no trace context. */
  readonly traceId: string
  /** The trace context in which the task began. */
  readonly trace?: Trace
  readonly state: 'active' | 'paused' | 'done'
  /** The generation up to which every event was delivered or given up. */
  readonly cursor: number
  /** The current delivery, if an attempt has failed. */
  readonly failing?: Delivery
  /** The number of deliveries given up since the last successful one. */
  readonly givenUp: number
  /** Deliveries that were given up, oldest first. */
  readonly dead: readonly Delivery[]
  /** Deliveries to send again, before any other. */
  readonly redriven: readonly Delivery[]
  /** The most recent successful deliveries, oldest first. */
  readonly recent: readonly Delivery[]
  readonly created: number
}

/** A webhook to be stored. */
export interface NewWebhook extends WebhookKey {
  /** When the next delivery is due, in milliseconds since 1970. Undefined if there is nothing to deliver. */
  readonly due: number | undefined
  readonly webhook: Webhook
}

export interface PushLease {
  readonly holder: string
  /** Duration in milliseconds. */
  readonly ttl: number
}

/** A stored webhook, with its revision and its place in lists. */
export interface StoredWebhook extends NewWebhook {
  /** Increases with every change. */
  readonly revision: number
  /** Position in the order of insertion. */
  readonly place: number
}

export interface WebhookQuery {
  readonly taskId?: string
  readonly after?: number
  readonly limit: number
}

/** The progress of a webhook, written by the holder of its lease. */
export interface Settled extends StoredWebhook {
  /** Whether to release the lease in the same write. */
  readonly isReleased?: boolean
}

/**
 * Stores webhooks. Each is one document with a revision, and only the process that holds its lease delivers to it. A
 * write is durable when its promise resolves.
 */
export interface PushStore {
  /**
   * Set if writes of the log and of this store are stored in the order in which they begin. A webhook can then be added
   * while its task is being stored. Otherwise it is added afterwards: a webhook without a task is removed.
   */
  readonly keepsOrder?: true
  /** Adds a webhook, leased if `lease` is passed; returns undefined if the key exists. */
  add(webhook: NewWebhook, lease?: PushLease): Promise<StoredWebhook | undefined>
  /** Replaces a webhook if it still has this revision, regardless of its lease; returns undefined if it has not. */
  edit(webhook: StoredWebhook): Promise<StoredWebhook | undefined>
  /** Removes a webhook; returns false if it did not exist. */
  remove(key: WebhookKey): Promise<boolean>
  get(key: WebhookKey): Promise<StoredWebhook | undefined>
  /** Lists the webhooks of a task, or all, whose `place` is greater than `after`, in the order of insertion. */
  list(query: WebhookQuery): Promise<readonly StoredWebhook[]>

  /** Leases due webhooks that have no lease, the longest overdue first. */
  claim(lease: PushLease, limit: number): Promise<readonly StoredWebhook[]>
  /** Renews leases; returns the webhooks that the holder must stop working on, because they were edited or lost. */
  renew(lease: PushLease, held: readonly StoredWebhook[]): Promise<readonly WebhookKey[]>
  /** Stores progress; returns the webhooks that were not stored, because they were edited or their lease was lost. */
  settle(holder: string, settled: readonly Settled[]): Promise<readonly WebhookKey[]>
  /** Releases leases without changing the webhooks. */
  release(holder: string, keys: readonly WebhookKey[]): Promise<void>

  /** Removes webhooks that have had nothing to deliver since before `idleBefore`; returns how many. */
  expire(idleBefore: number, limit: number): Promise<number>
}
