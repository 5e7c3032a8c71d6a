import type { Clock } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { type Trace, traceIdOf } from '../base/trace-context.ts'
import { serverDialects } from '../dialects/server-dialects.ts'
import { isRefused, type Refusal } from '../http/address-guard.ts'
import { readLimited } from '../http/read-limited.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { PushConfig } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import type { TaskHead, TaskLog } from '../tasks/log.ts'
import { createPushAdmin, type PushAdmin } from './admin.ts'
import { createDeliverer } from './delivery/deliverer.ts'
import { createPayloadEncoder } from './delivery/payload.ts'
import { randomHex } from './delivery/send.ts'
import { dueOf } from './delivery/webhook-state.ts'
import { createMemoryPushStore } from './memory-store.ts'
import { type PushOptions, type PushSettings, withPushDefaults } from './options.ts'
import type { PushStore, StoredWebhook, Webhook, WebhookKey } from './store.ts'

const page = 500

const longest = { url: 2_048, secret: 8_192 }

/** A log may keep webhooks beside its tasks. */
export type PushingLog = TaskLog & { readonly webhooks?: PushStore }

export interface PushNeeds {
  readonly log: PushingLog
  readonly options: PushOptions
  readonly logger: Logger
  readonly holder: string
  readonly clock: Clock
  /** Whether there are turns at work, which come first. */
  readonly isBusy: () => boolean
  readonly telemetry?: Telemetry | undefined
}

/** Throws unless deliveries to this webhook may be made, and could be. */
export type CheckConfig = (config: PushConfig, field?: string) => Promise<void>

export interface Registration {
  readonly task: Pick<TaskHead, 'taskId' | 'contextId'> & Partial<Pick<TaskHead, 'phase'>>
  readonly owner: string
  readonly config: PushConfig
  readonly after: number
  readonly alias?: string
  /** It came with a message: the same webhook again is the same, also if it has no id. */
  readonly isInline?: boolean
  /** The task has just begun, so that it has no other webhooks. */
  readonly isFirst?: boolean
  /** That of the task. */
  readonly trace?: Trace | undefined
  /** Its owner has agreed on the extension for requests. */
  readonly knowsRequests?: boolean | undefined
}

export interface RegisteredConfig extends WebhookKey {
  readonly place: number
  readonly config: PushConfig
}

/** Whose webhooks go: those of tasks, and those that an owner has registered, for whichever task. */
export interface ErasedOf {
  readonly taskIds: readonly string[]
  readonly owner?: string | undefined
  /** Those that the log has removed together with their tasks. */
  readonly gone: readonly WebhookKey[]
}

/** Webhooks: their registration, and the delivery that goes on by itself. */
export interface Push {
  readonly check: CheckConfig
  /** Stores a webhook that was checked; everything beyond the generation is told to it. */
  register(registered: Registration): Promise<PushConfig>
  get(key: WebhookKey): Promise<PushConfig | undefined>
  /** Those of a task, oldest first. */
  list(taskId: string): Promise<readonly RegisteredConfig[]>
  remove(key: WebhookKey): Promise<void>
  /** Removes webhooks for good; answers how many. */
  erase(of: ErasedOf): Promise<number>
  readonly control: PushAdmin
  /** How many webhooks this process sees to. */
  size(): number
  /** Removes the webhooks of tasks that ended before that moment. */
  expire(endedBefore: number): Promise<void>
  close(deadline: number): Promise<void>
}

export function createPush({ log, options, logger, holder, clock, isBusy, telemetry }: PushNeeds): Push {
  const settings = withPushDefaults(options)
  const store = options.store ?? log.webhooks ?? createMemoryPushStore(clock)
  const telling = createPayloadEncoder({
    log,
    dialects: serverDialects({}),
    ...(options.events && { events: options.events }),
  })
  const deliverer = createDeliverer({ log, store, telling, settings, logger, holder, clock, isBusy, telemetry })

  async function idOf({ task, owner, config, isInline }: Registration, known: readonly StoredWebhook[]) {
    if (config.id !== undefined && config.id !== '') return config.id
    if (telling.formOf(config.dialect).replacesUnnamed) return task.taskId
    const same = isInline && known.find((each) => each.owner === owner && each.webhook.config.url === config.url)
    return same ? same.id : crypto.randomUUID()
  }

  async function register(registration: Registration): Promise<PushConfig> {
    const { task, owner, config, after, alias, trace, knowsRequests } = registration
    const { taskId, contextId, phase } = task
    const { url, token, authentication, tenant, carry, dialect } = config
    const told = JSON.parse(JSON.stringify({ url, token, authentication, tenant, carry })) as Webhook['config']
    const isOver = phase === 'expired' || (phase !== undefined && isEnded(phase))
    let isFirst = registration.isFirst === true
    for (;;) {
      const known = isFirst ? [] : await store.list({ taskId, limit: settings.perTask + 1 })
      const key = { taskId, owner, id: await idOf(registration, known) }
      const isKnown = known.some((each) => each.owner === owner && each.id === key.id)
      if (isKnown) await deliverer.flush()
      const before = isKnown ? await store.get(key) : undefined
      if (!before && known.length >= settings.perTask) {
        throw invalidParams(
          'id',
          `task ${taskId} has ${known.length} webhooks already: delete one first, or reuse its id`,
        )
      }
      const fresh: Webhook = {
        uid: crypto.randomUUID(),
        traceId: trace ? traceIdOf(trace) : randomHex(16),
        created: clock.now(),
        recent: [],
        dead: [],
        redriven: [],
        ...before?.webhook,
        config: told,
        contextId,
        ...(dialect !== undefined && { dialect }),
        ...(alias !== undefined && { alias }),
        ...(trace && { trace }),
        ...(knowsRequests !== undefined && { knowsRequests }),
        state: isOver ? 'done' : 'active',
        cursor: before && before.webhook.state !== 'done' ? before.webhook.cursor : after,
        givenUp: 0,
      }
      const { failing: _, ...webhook } = fresh
      const next = { ...key, webhook, due: dueOf(webhook) }
      const lease = deliverer.lease()
      const stored = before
        ? await store.edit({ ...before, ...next })
        : await store.add(next, isOver ? undefined : lease)
      if (!stored) {
        isFirst = false // somebody else was faster: look again
        continue
      }
      if (before) deliverer.reconsider(key)
      else if (lease && !isOver) deliverer.adopt(stored)
      return visible(stored)
    }
  }

  return {
    check: createCheckConfig(settings),
    register,
    async get(key) {
      const stored = await store.get(key)
      return stored && visible(stored)
    },
    async list(taskId) {
      const all = await store.list({ taskId, limit: settings.perTask + 1 })
      return all.map((stored) => ({ ...stored, config: visible(stored) }))
    },
    async remove(key) {
      await store.remove(key)
      deliverer.reconsider(key)
    },
    async erase(of) {
      const removed = await eraseWebhooks(store, of)
      for (const key of removed) deliverer.reconsider(key)
      return removed.length
    },
    control: createPushAdmin(store, deliverer),
    size: deliverer.size,
    async expire(endedBefore) {
      const batch = 100
      while ((await store.expire(endedBefore, batch)) === batch);
    },
    close: (deadline) => deliverer.close(deadline),
  }
}

/** Removes webhooks that are left; answers which have been removed. */
export async function eraseWebhooks(store: PushStore, of: ErasedOf): Promise<readonly WebhookKey[]> {
  const { taskIds, owner, gone } = of
  const removed = [...gone]

  async function remove(found: readonly StoredWebhook[]): Promise<void> {
    for (const key of found) if (await store.remove(key)) removed.push(key)
  }

  for (const taskId of taskIds) await remove(await store.list({ taskId, limit: page }))
  if (owner === undefined) return removed
  for (let after: number | undefined; ; ) {
    const all = await store.list({ limit: page, ...(after !== undefined && { after }) })
    await remove(all.filter((webhook) => webhook.owner === owner))
    after = all.at(-1)?.place
    if (all.length < page) return removed
  }
}

/** The config as its owner gets it back: without what only the receiver may know. */
function visible({ taskId, id, webhook }: StoredWebhook): PushConfig {
  const { url, authentication, tenant, carry } = webhook.config
  return {
    taskId,
    id,
    url,
    ...(authentication && { authentication: { scheme: authentication.scheme } }),
    ...(tenant !== undefined && { tenant }),
    ...(carry !== undefined && { carry: withoutSecrets(carry) }),
  }
}

/** A dialect may carry what it has no other place for, credentials included. */
function withoutSecrets(carried: JsonObject): JsonObject {
  const text = JSON.stringify(carried, (name, value) => (/^(credentials|token)$/i.test(name) ? undefined : value))
  return JSON.parse(text) as JsonObject
}

function createCheckConfig({ fetch, proveOwnership, timeout }: PushSettings): CheckConfig {
  async function check(url: string, field: string): Promise<void> {
    try {
      await fetch.check(url)
    } catch (error) {
      // Where a name leads is nobody's business who only knows the name.
      if (isRefused(error)) throw invalidParams(field, `may not be called: ${why[error.reason]} (${error.reason})`)
      throw invalidParams(field, 'its host cannot be found')
    }
  }

  /** A receiver that wants to be called repeats the word. */
  async function prove(url: string, field: string): Promise<void> {
    const word = randomHex(16)
    const asked = new URL(url)
    asked.searchParams.set('validationToken', word)
    const answer = await fetch(asked.href, { method: 'GET', signal: AbortSignal.timeout(timeout), redirect: 'error' })
      .then(async (response) => ({ ok: response.ok, bytes: await readLimited(response.body, 1_024) }))
      .catch(() => undefined)
    const isProven = answer?.ok === true && new TextDecoder().decode(answer.bytes).trim() === word
    if (!isProven) {
      throw invalidParams(field, 'its receiver must answer GET with the value of the query parameter validationToken')
    }
  }

  return async (config, field = 'url') => {
    const { url, token, authentication } = config
    if (url.length > longest.url) throw invalidParams(field, `expected at most ${longest.url} characters`)
    const of = (name: string) => field.replace(/url$/, name)
    requireHeaderValue(token, of('token'))
    requireHeaderValue(authentication?.credentials, of('authentication.credentials'))
    if (authentication?.credentials !== undefined && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(authentication.scheme)) {
      throw invalidParams(of('authentication.scheme'), 'expected the name of an HTTP scheme such as Bearer')
    }
    await check(url, field)
    if (proveOwnership) await prove(url, field)
  }
}

const why: Readonly<Record<Refusal, string>> = {
  'bad-url': 'it is no URL',
  scheme: 'its scheme is not allowed here, use https',
  userinfo: 'it has credentials in it, give them as authentication',
  port: 'its port is one of another protocol than HTTP',
  metadata: 'it leads to where the keys of cloud machines are',
  loopback: 'it leads to this machine',
  private: 'it leads into a private network',
  'link-local': 'it leads into the local network',
  shared: 'it leads into the network of a carrier',
  multicast: 'it does not lead to one machine',
  unspecified: 'it leads to no machine',
  translated: 'its address hides another one',
  reserved: 'it does not lead into the public internet',
  redirect: 'it redirects',
  downgrade: 'it redirects away from TLS',
}

/** The words of callers become headers of ours. */
function requireHeaderValue(text: string | undefined, field: string): void {
  if (text === undefined) return
  const isFit = text.length <= longest.secret && /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
  if (!isFit) throw invalidParams(field, `expected at most ${longest.secret} characters that may stand in a header`)
}
