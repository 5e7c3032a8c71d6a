import { speakers } from '../dialects/all.ts'
import type { Clock } from '../protocol/clock.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { Logger } from '../protocol/logger.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { PushConfig } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import { type Trace, traceIdOf } from '../protocol/trace.ts'
import type { TaskHead, TaskLog } from '../tasks/log.ts'
import { randomHex } from './compose.ts'
import { createPushControl, type PushControl } from './control.ts'
import { createDeliverer } from './deliverer.ts'
import { type ErasedOf, eraseWebhooks } from './erase.ts'
import { createMemoryPushStore } from './memory-store.ts'
import { type PushOptions, withPushDefaults } from './options.ts'
import { type CheckConfig, createCheckConfig } from './registration.ts'
import type { PushStore, StoredWebhook, Webhook, WebhookKey } from './store.ts'
import { createTelling } from './telling.ts'
import { dueOf } from './webhook.ts'

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
  readonly control: PushControl
  /** How many webhooks this process sees to. */
  size(): number
  /** Removes the webhooks of tasks that ended before that moment. */
  expire(endedBefore: number): Promise<void>
  close(deadline: number): Promise<void>
}

/** A log may keep webhooks beside its tasks. */
export type PushingLog = TaskLog & { readonly webhooks?: PushStore }

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

export function createPush({ log, options, logger, holder, clock, isBusy, telemetry }: PushNeeds): Push {
  const settings = withPushDefaults(options)
  const store = options.store ?? log.webhooks ?? createMemoryPushStore(clock)
  const telling = createTelling({ log, dialects: speakers({}), ...(options.events && { events: options.events }) })
  const deliverer = createDeliverer({ log, store, telling, settings, logger, holder, clock, isBusy, telemetry })

  async function idOf({ task, owner, config, isInline }: Registration, known: readonly StoredWebhook[]) {
    if (config.id !== undefined && config.id !== '') return config.id
    if (telling.formOf(config.dialect).isOnlyUnnamed) return task.taskId
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
    control: createPushControl(store, deliverer),
    size: deliverer.size,
    async expire(endedBefore) {
      const batch = 100
      while ((await store.expire(endedBefore, batch)) === batch);
    },
    close: (deadline) => deliverer.close(deadline),
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
