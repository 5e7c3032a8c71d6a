import { withTimeout } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { defined, type JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { type Trace, traceIdOf } from '../base/trace-context.ts'
import { serverDialects } from '../dialects/server-dialects.ts'
import { dialectNames } from '../dialects/versions.ts'
import { isRequestRefused, type RefusalReason } from '../http/address-guard.ts'
import { readLimited } from '../http/read-limited.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { Call, PushConfig } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import type { TaskHead, TaskLog } from '../tasks/log.ts'
import { createPushAdmin, type PushAdmin } from './admin.ts'
import { createDeliverer } from './delivery/claim-webhooks.ts'
import { createPayloadEncoder } from './delivery/payload.ts'
import { randomHex } from './delivery/send.ts'
import { dueOf } from './delivery/webhook-state.ts'
import { createMemoryPushStore } from './memory-store.ts'
import { fetchFor, type PushFetch, type PushOptions, type PushSettings, withPushDefaults } from './options.ts'
import type { PushStore, StoredWebhook, Webhook, WebhookKey } from './store.ts'

const pageSize = 500

/** Milliseconds for which a registration waits for the resolver. */
const resolveTimeout = 2_000

const maxLength = { url: 2_048, secret: 8_192 }

/** A task log that can store webhooks next to its tasks. */
export type LogWithWebhooks = TaskLog & { readonly webhooks?: PushStore }

export interface PushDependencies {
  readonly log: LogWithWebhooks
  readonly options: PushOptions
  readonly logger: Logger
  readonly holder: string
  readonly clock: Clock
  /** Whether turns are running. They take priority over deliveries. */
  readonly isBusy: () => boolean
  readonly telemetry?: Telemetry | undefined
}

/** Rejects a config whose URL is forbidden or unreachable, or whose secrets do not fit into headers. */
export type CheckConfig = (config: PushConfig, call: Pick<Call, 'isForwarded'>, field?: string) => Promise<void>

export interface Registration {
  readonly task: Pick<TaskHead, 'taskId' | 'contextId'> & Partial<Pick<TaskHead, 'phase'>>
  readonly owner: string
  readonly config: PushConfig
  readonly after: number
  readonly alias?: string
  /** The config came with a message. Without an id, it replaces the owner's webhook of the same URL. */
  readonly isInline?: boolean
  /** The task is new, so it has no other webhooks. */
  readonly isFirst?: boolean
  /** The trace context of the task. */
  readonly trace?: Trace | undefined
  /** Whether the owner has negotiated the extension for input requests. */
  readonly knowsRequests?: boolean | undefined
  /** Whether the registration came through a proxy. */
  readonly isForwarded?: boolean | undefined
}

export interface RegisteredConfig extends WebhookKey {
  readonly place: number
  readonly config: PushConfig
}

/** Selects webhooks to erase: all webhooks of some tasks, and all webhooks an owner registered on any task. */
export interface WebhookErasure {
  readonly taskIds: readonly string[]
  readonly owner?: string | undefined
  /** Webhooks that the log removed together with their tasks. */
  readonly alreadyRemoved: readonly WebhookKey[]
}

/** Registers webhooks and delivers events to them in the background. */
export interface Push {
  readonly check: CheckConfig
  /** Whether a webhook that is registered once the write of its task has begun is never stored before the task. */
  readonly isStoredAfterTask: boolean
  /** Stores a checked webhook, which then receives all events after generation `after`. */
  register(registration: Registration): Promise<PushConfig>
  get(key: WebhookKey): Promise<PushConfig | undefined>
  /** Lists the webhooks of a task, oldest first. */
  list(taskId: string): Promise<readonly RegisteredConfig[]>
  remove(key: WebhookKey): Promise<void>
  /** Removes webhooks permanently and returns how many. */
  erase(erasure: WebhookErasure): Promise<number>
  readonly admin: PushAdmin
  /** The number of webhooks that this process delivers to. */
  size(): number
  /** Removes the webhooks of tasks that ended before this time, in milliseconds since 1970. */
  expire(endedBefore: number): Promise<void>
  /** Waits up to `deadline` milliseconds for requests in flight. */
  close(deadline: number): Promise<void>
}

export function createPush({ log, options, logger, holder, clock, isBusy, telemetry }: PushDependencies): Push {
  const settings = withPushDefaults(options)
  const store = options.store ?? log.webhooks ?? createMemoryPushStore(clock)
  const encoder = createPayloadEncoder({
    log,
    dialects: serverDialects({ dialects: dialectNames, protoJsonWebhooks: settings.protoJson }),
    ...defined({ events: options.events }),
  })
  const deliverer = createDeliverer({ log, store, encoder, settings, logger, holder, clock, isBusy, telemetry })

  async function idOf({ task, owner, config, isInline }: Registration, existing: readonly StoredWebhook[]) {
    if (config.id !== undefined && config.id !== '') return config.id
    if (encoder.formOf(config.dialect).replacesUnnamed) return task.taskId
    const same = isInline && existing.find((other) => other.owner === owner && other.webhook.config.url === config.url)
    return same ? same.id : crypto.randomUUID()
  }

  async function register(registration: Registration): Promise<PushConfig> {
    const { task, owner, config, after, alias, trace, knowsRequests, isForwarded } = registration
    const { taskId, contextId, phase } = task
    const { dialect } = config
    const newConfig = storedConfigOf(config)
    const isOver = phase === 'expired' || (phase !== undefined && isEnded(phase))
    let isFirst = registration.isFirst === true
    for (;;) {
      const existing = isFirst ? [] : await store.list({ taskId, limit: settings.perTask + 1 })
      const key = { taskId, owner, id: await idOf(registration, existing) }
      const isReplaced = existing.some((other) => other.owner === owner && other.id === key.id)
      if (isReplaced) await deliverer.flush()
      const before = isReplaced ? await store.get(key) : undefined
      if (!before && existing.length >= settings.perTask) {
        throw invalidParams(
          'pushConfig.id',
          `task ${taskId} has ${existing.length} webhooks already: delete one first, or reuse its id`,
        )
      }
      const webhook: Webhook = {
        ...(before ? withoutFailing(before.webhook) : newHistory(trace, clock.now())),
        config: newConfig,
        contextId,
        ...defined({ dialect, alias, trace, knowsRequests, isForwarded: isForwarded || undefined }),
        state: isOver ? 'done' : 'active',
        cursor: before && before.webhook.state !== 'done' ? before.webhook.cursor : after,
        givenUp: 0,
      }
      const next = { ...key, webhook, due: dueOf(webhook) }
      const lease = deliverer.lease()
      const stored = before
        ? await store.edit({ ...before, ...next })
        : await store.add(next, isOver ? undefined : lease)
      if (!stored) {
        isFirst = false // another request changed the webhooks of this task: read them again
        continue
      }
      if (before) deliverer.restart(key)
      else if (lease && !isOver) deliverer.start(stored)
      return visible(stored)
    }
  }

  return {
    check: createCheckConfig(settings, logger),
    isStoredAfterTask: store === log.webhooks && store.keepsOrder === true,
    register,
    async get(key) {
      const stored = await store.get(key)
      return stored && visible(stored)
    },
    async list(taskId) {
      const webhooks = await store.list({ taskId, limit: settings.perTask + 1 })
      return webhooks.map((stored) => ({ ...stored, config: visible(stored) }))
    },
    async remove(key) {
      await store.remove(key)
      deliverer.restart(key)
    },
    async erase(erasure) {
      const removed = await eraseWebhooks(store, erasure)
      for (const key of removed) deliverer.restart(key)
      return removed.length
    },
    admin: createPushAdmin(store, deliverer),
    size: deliverer.size,
    async expire(endedBefore) {
      const batch = 100
      while ((await store.expire(endedBefore, batch)) === batch);
    },
    close: (deadline) => deliverer.close(deadline),
  }
}

/** Removes the webhooks that the log left; returns the keys of all removed ones, including `alreadyRemoved`. */
export async function eraseWebhooks(store: PushStore, erasure: WebhookErasure): Promise<readonly WebhookKey[]> {
  const { taskIds, owner, alreadyRemoved } = erasure
  const removed = [...alreadyRemoved]

  async function remove(webhooks: readonly StoredWebhook[]): Promise<void> {
    for (const key of webhooks) if (await store.remove(key)) removed.push(key)
  }

  for (const taskId of taskIds) await remove(await store.list({ taskId, limit: pageSize }))
  if (owner === undefined) return removed
  for (let after: number | undefined; ; ) {
    const webhooks = await store.list(defined({ limit: pageSize, after }))
    await remove(webhooks.filter((webhook) => webhook.owner === owner))
    after = webhooks.at(-1)?.place
    if (webhooks.length < pageSize) return removed
  }
}

type History = Pick<Webhook, 'uid' | 'traceId' | 'created' | 'recent' | 'dead' | 'redriven'>

function newHistory(trace: Trace | undefined, now: number): History {
  const uid = crypto.randomUUID()
  const traceId = trace ? traceIdOf(trace) : uid.replaceAll('-', '')
  return { uid, traceId, created: now, recent: [], dead: [], redriven: [] }
}

function withoutFailing({ failing: _, ...webhook }: Webhook): Webhook {
  return webhook
}

/** As JSON: without undefined members, and independent of the request. */
function storedConfigOf({ url, token, authentication, tenant, carry }: PushConfig): Webhook['config'] {
  const rest = { token, authentication, tenant, carry }
  const isPlain = Object.values(rest).every((value) => value === undefined)
  return isPlain ? { url } : (JSON.parse(JSON.stringify({ url, ...rest })) as Webhook['config'])
}

/** The config as its owner reads it: without the secrets that only the receiver may see. */
function visible({ taskId, id, webhook }: StoredWebhook): PushConfig {
  const { url, authentication, tenant, carry } = webhook.config
  return defined({
    taskId,
    id,
    url,
    authentication: authentication && { scheme: authentication.scheme },
    tenant,
    carry: carry === undefined ? undefined : withoutSecrets(carry),
  })
}

/** A dialect carries unknown fields here, which can include credentials. */
function withoutSecrets(carry: JsonObject): JsonObject {
  const text = JSON.stringify(carry, (name, value) => (/^(credentials|token)$/i.test(name) ? undefined : value))
  return JSON.parse(text) as JsonObject
}

/** Whether a promise is settled already, as the check of an address is, which needs no resolver and no timer. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false
  const settle = () => {
    isDone = true
  }
  promise.then(settle, settle)
  await undefined
  return isDone
}

function createCheckConfig(settings: PushSettings, logger: Logger): CheckConfig {
  const { fetch: ownFetch, proveOwnership, requireResolvable, timeout } = settings
  let hasWarned = false

  /** A host that cannot be resolved now, or not in time, passes: every delivery checks its address again. */
  async function requireAllowed(url: string, field: string, fetch: PushFetch): Promise<void> {
    try {
      const checked = fetch.check(url)
      if (!(await isSettled(checked))) {
        await withTimeout(checked, resolveTimeout, () => new Error('the host was not resolved in time'))
      }
      await checked
    } catch (error) {
      // The answer does not reveal which address a name resolves to.
      if (isRequestRefused(error)) {
        warnOnce(error.reason)
        throw invalidParams(field, `may not be called: ${refusalTexts[error.reason]} (${error.reason})`)
      }
      if (requireResolvable) throw invalidParams(field, 'its host cannot be resolved')
    }
  }

  function warnOnce(reason: RefusalReason): void {
    const option = reason === 'loopback' ? 'push.loopback' : reason === 'private' ? 'push.allow' : undefined
    if (option === undefined || hasWarned) return
    hasWarned = true
    logger.warn({ reason, option }, 'a webhook was refused because of its address: the option permits such addresses')
  }

  /** A receiver proves that it wants deliveries by repeating the challenge. */
  async function proveReceiver(url: string, field: string, fetch: PushFetch): Promise<void> {
    const challenge = randomHex(16)
    const challengeUrl = new URL(url)
    challengeUrl.searchParams.set('validationToken', challenge)
    const response = await fetch(challengeUrl.href, {
      method: 'GET',
      signal: AbortSignal.timeout(timeout),
      redirect: 'error',
    })
      .then(async ({ ok, body }) => ({ ok, bytes: await readLimited(body, 1_024) }))
      .catch(() => undefined)
    const isProven = response?.ok === true && new TextDecoder().decode(response.bytes).trim() === challenge
    if (!isProven) {
      throw invalidParams(field, 'its receiver must answer GET with the value of the query parameter validationToken')
    }
  }

  return async (config, { isForwarded }, field = 'pushConfig.url') => {
    const fetch = fetchFor({ isForwarded }, ownFetch)
    const { url, token, authentication } = config
    if (url.length > maxLength.url) throw invalidParams(field, `expected at most ${maxLength.url} characters`)
    const sibling = (name: string) => field.replace(/url$/, name)
    if (token !== undefined) requireHeaderValue(token, sibling('token'))
    if (authentication?.credentials !== undefined) {
      requireHeaderValue(authentication.credentials, sibling('authentication.credentials'))
      if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(authentication.scheme)) {
        throw invalidParams(sibling('authentication.scheme'), 'expected the name of an HTTP scheme such as Bearer')
      }
    }
    await requireAllowed(url, field, fetch)
    if (proveOwnership) await proveReceiver(url, field, fetch)
  }
}

const refusalTexts: Readonly<Record<RefusalReason, string>> = {
  'bad-url': 'it is not a URL',
  scheme: 'its scheme is not allowed, use https',
  userinfo: 'it contains credentials, pass them as authentication',
  port: 'its port belongs to a protocol other than HTTP',
  metadata: 'it resolves to a cloud metadata service',
  loopback: 'it is on the machine of the agent, whose operator can allow that by push.loopback',
  private: 'it resolves to a private network',
  'link-local': 'it resolves to the local network',
  shared: 'it resolves to a carrier network',
  multicast: 'it does not resolve to a single machine',
  unspecified: 'it resolves to no machine',
  translated: 'its address embeds another address',
  reserved: 'it does not resolve to a public address',
  redirect: 'it redirects',
  downgrade: 'it redirects away from TLS',
}

/** Tokens and credentials of callers are sent as header values. */
function requireHeaderValue(text: string, field: string): void {
  const isValid = text.length <= maxLength.secret && /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
  if (!isValid) throw invalidParams(field, `expected at most ${maxLength.secret} characters that are valid in a header`)
}
