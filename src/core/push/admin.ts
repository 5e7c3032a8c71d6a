import { defined } from '../base/json.ts'
import type { Deliverer } from './delivery/claim-webhooks.ts'
import { deliveryIdOf } from './delivery/send.ts'
import { dueOf } from './delivery/webhook-state.ts'
import type { Delivery, PushStore, StoredWebhook, Webhook, WebhookKey } from './store.ts'

const pageSize = 100

export interface WebhookChoice {
  readonly taskId?: string
  readonly id?: string
  /** Only webhooks whose `place` is greater. */
  readonly after?: number
}

export interface WebhookState extends WebhookKey {
  readonly url: string
  /** `paused`: too many consecutive deliveries failed permanently; nothing is sent until the webhook is resumed. */
  readonly state: Webhook['state']
  /** Why the webhook is paused, or why the current delivery fails. */
  readonly problem?: string
  /** The generation up to which every event was delivered or given up. */
  readonly cursor: number
  /** The number of deliveries that were given up. */
  readonly dead: number
  /** When the current delivery is retried, in milliseconds since 1970. */
  readonly nextTry?: number
  /** When the webhook was registered, in milliseconds since 1970. */
  readonly created: number
  /** The position in the order of registration. */
  readonly place: number
}

export interface DeliveryState extends Delivery, WebhookKey {
  readonly deliveryId: string
  readonly outcome: 'delivered' | 'retrying' | 'redriven' | 'dead'
}

export interface DeliveryChoice extends WebhookChoice {
  readonly outcome?: DeliveryState['outcome']
}

export interface RedriveChoice extends WebhookChoice {
  readonly generation?: number
}

/** Lets the operator inspect webhooks and deliveries, resend failed deliveries and resume paused webhooks. */
export interface PushAdmin {
  webhooks(query?: WebhookChoice): AsyncGenerator<WebhookState>
  deliveries(query?: DeliveryChoice): AsyncGenerator<DeliveryState>
  /** Resends deliveries that were given up and resumes their webhooks; returns the number of deliveries. */
  redrive(choice: RedriveChoice): Promise<number>
  /** Stops deliveries to active webhooks until they are resumed; returns how many. */
  pause(choice: WebhookChoice): Promise<number>
  /** Resumes paused webhooks at their cursor; returns how many. */
  resume(choice: WebhookChoice): Promise<number>
}

export function createPushAdmin(store: PushStore, deliverer: Pick<Deliverer, 'flush' | 'restart'>): PushAdmin {
  async function* select({ taskId, id, after: first = 0 }: WebhookChoice): AsyncGenerator<StoredWebhook> {
    for (let after = first; ; ) {
      const page = await store.list(defined({ after, limit: pageSize, taskId }))
      for (const stored of page) if (id === undefined || stored.id === id) yield stored
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      after = last.place
    }
  }

  /** Changes all webhooks of a choice that are in one state; returns how many. */
  async function changeState(
    choice: WebhookChoice,
    from: Webhook['state'],
    changes: Partial<Webhook>,
  ): Promise<number> {
    let count = 0
    for await (const stored of select(choice)) {
      const isChanged = await change(stored, (webhook) =>
        webhook.state === from ? { ...webhook, ...changes } : undefined,
      )
      if (isChanged) count++
    }
    return count
  }

  /** Updates a webhook, retrying on concurrent changes; returns false if `update` left it unchanged. */
  async function change(key: WebhookKey, update: (webhook: Webhook) => Webhook | undefined): Promise<boolean> {
    for (;;) {
      await deliverer.flush()
      const stored = await store.get(key)
      const webhook = stored && update(stored.webhook)
      if (!webhook) return false
      if (await store.edit({ ...stored, webhook, due: dueOf(webhook) })) break
    }
    deliverer.restart(key)
    return true
  }

  return {
    async *webhooks(query = {}) {
      for await (const stored of select(query)) yield stateOf(stored)
    },
    async *deliveries({ outcome, ...query } = {}) {
      for await (const stored of select(query)) {
        for (const delivery of deliveriesOf(stored)) {
          if (outcome === undefined || delivery.outcome === outcome) yield delivery
        }
      }
    },
    async redrive({ generation, ...query }) {
      let count = 0
      for await (const stored of select(query)) {
        let redriven = 0
        const isSelected = (delivery: Delivery) => generation === undefined || delivery.generation === generation
        await change(stored, (webhook) => {
          const deliveries = webhook.dead.filter(isSelected)
          redriven = deliveries.length
          return redriven === 0 ? undefined : withRedriven(webhook, deliveries)
        })
        count += redriven
      }
      return count
    },
    pause: (choice) => changeState(choice, 'active', { state: 'paused' }),
    resume: (choice) => changeState(choice, 'paused', { state: 'active', givenUp: 0 }),
  }
}

function stateOf({ taskId, owner, id, place, webhook }: StoredWebhook): WebhookState {
  const { config, state, cursor, dead, failing } = webhook
  const problem = failing?.problem ?? (state === 'paused' ? dead.at(-1)?.problem : undefined)
  return defined({
    taskId,
    owner,
    id,
    url: config.url,
    state,
    cursor,
    dead: dead.length,
    created: webhook.created,
    place,
    problem,
    nextTry: failing?.nextTry,
  })
}

function deliveriesOf({ taskId, owner, id, webhook }: StoredWebhook): readonly DeliveryState[] {
  const { recent, dead, redriven, failing } = webhook
  const statesOf = (outcome: DeliveryState['outcome'], deliveries: readonly Delivery[]) =>
    deliveries.map((delivery) => ({
      taskId,
      owner,
      id,
      outcome,
      ...delivery,
      deliveryId: deliveryIdOf(webhook, delivery.generation),
    }))
  return [
    ...statesOf('delivered', recent),
    ...statesOf('dead', dead),
    ...statesOf('redriven', redriven),
    ...statesOf('retrying', failing ? [failing] : []),
  ].sort((one, other) => one.generation - other.generation)
}

function withRedriven(webhook: Webhook, deliveries: readonly Delivery[]): Webhook {
  const restarted = deliveries.map(({ nextTry: _, ...delivery }) => ({ ...delivery, attempts: 0 }))
  return {
    ...webhook,
    state: webhook.state === 'paused' ? 'active' : webhook.state,
    givenUp: 0,
    dead: webhook.dead.filter((delivery) => !deliveries.includes(delivery)),
    redriven: [...webhook.redriven, ...restarted],
  }
}
