import type { Trace } from '../base/trace-context.ts'
import type { PushConfig } from '../protocol/service.ts'

export interface WebhookKey {
  readonly taskId: string
  /** Who registered it: see `ownerOf`. */
  readonly owner: string
  readonly id: string
}

/** How the telling of one event went. */
export interface Delivery {
  readonly generation: number
  readonly attempts: number
  /** When it was last attempted, in milliseconds since 1970, and how long the receiver took. */
  readonly at: number
  readonly latency: number
  /** Of HTTP. */
  readonly status?: number
  /** Why the last attempt failed. */
  readonly problem?: string
  /** When it is tried again. */
  readonly nextTry?: number
}

/** A webhook and how far it has been told. All of it is JSON. */
export interface Webhook {
  /** Makes the ids of its deliveries, and stays the same when it is changed. */
  readonly uid: string
  readonly config: Pick<PushConfig, 'url' | 'token' | 'authentication' | 'tenant' | 'carry'>
  readonly contextId: string
  /** In which it was registered, and so is told. */
  readonly dialect?: string
  /** Its owner has agreed on the extension for requests, which are spelled out otherwise. */
  readonly knowsRequests?: boolean
  /** By which id its caller knows the task, if not by its own. */
  readonly alias?: string
  /** Of the trace that its deliveries are part of, if the task is part of none. */
  readonly traceId: string
  /** The one in which the task began. */
  readonly trace?: Trace
  readonly state: 'active' | 'paused' | 'done'
  /** The generation up to which everything was delivered or given up. */
  readonly cursor: number
  /** The delivery at hand, if it has failed so far. */
  readonly failing?: Delivery
  /** How many deliveries were given up since the last that arrived. */
  readonly givenUp: number
  /** Given up, oldest first. */
  readonly dead: readonly Delivery[]
  /** To be sent once more, before anything else. */
  readonly redriven: readonly Delivery[]
  /** The last that arrived, oldest first. */
  readonly recent: readonly Delivery[]
  readonly created: number
}

export interface NewWebhook extends WebhookKey {
  /** From when on somebody has to see to it, in milliseconds since 1970. Without it there is nothing to do. */
  readonly due: number | undefined
  readonly webhook: Webhook
}

export interface PushLease {
  readonly holder: string
  /** Milliseconds. */
  readonly ttl: number
}

export interface StoredWebhook extends NewWebhook {
  /** Grows with every change. */
  readonly revision: number
  /** Orders webhooks by when they were added. */
  readonly place: number
}

export interface WebhookQuery {
  readonly taskId?: string
  readonly after?: number
  readonly limit: number
}

/** How far the work on a webhook has come. */
export interface Settled extends StoredWebhook {
  /** Gives the lease back, too. */
  readonly isReleased?: boolean
}

/**
 * Where webhooks are kept: each is one document with a revision, and is worked on by the one process that leases it.
 * What is stored is durable when the promise resolves.
 */
export interface PushStore {
  /** Adds a webhook if there is none of its key, leased at once if wanted; otherwise undefined. */
  add(webhook: NewWebhook, lease?: PushLease): Promise<StoredWebhook | undefined>
  /** Changes one that is still at this revision, whoever leases it; undefined if it is not. */
  edit(webhook: StoredWebhook): Promise<StoredWebhook | undefined>
  /** Removes it; whether it was there. */
  remove(key: WebhookKey): Promise<boolean>
  get(key: WebhookKey): Promise<StoredWebhook | undefined>
  /** Those of a task, or all, in the order in which they were added, beyond a place. */
  list(query: WebhookQuery): Promise<readonly StoredWebhook[]>

  /** Leases webhooks that are due and that nobody leases, those that have waited longest first. */
  claim(lease: PushLease, limit: number): Promise<readonly StoredWebhook[]>
  /** Prolongs leases; answers which of them are not to be worked on any more, because they were edited or lost. */
  renew(lease: PushLease, held: readonly StoredWebhook[]): Promise<readonly WebhookKey[]>
  /** Stores how far the holder has come; answers which of them are not stored, because they were edited or lost. */
  settle(holder: string, settled: readonly Settled[]): Promise<readonly WebhookKey[]>
  /** Gives leases back as they are. */
  release(holder: string, keys: readonly WebhookKey[]): Promise<void>

  /** Removes those that have had nothing to do since before that moment; answers how many. */
  expire(idleBefore: number, limit: number): Promise<number>
}
