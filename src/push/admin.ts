import type { Deliverer } from './delivery/deliverer.ts'
import { deliveryIdOf } from './delivery/send.ts'
import { dueOf } from './delivery/webhook-state.ts'
import type { Delivery, PushStore, StoredWebhook, Webhook, WebhookKey } from './store.ts'

const pageSize = 100

export interface WebhookChoice {
  readonly taskId?: string
  readonly id?: string
}

export interface WebhookState extends WebhookKey {
  readonly url: string
  /** `paused`: too many deliveries in a row were given up, and nothing is sent until it is resumed. */
  readonly state: Webhook['state']
  /** Why it is paused, or what is wrong with the delivery at hand. */
  readonly problem?: string
  /** The generation up to which everything was delivered or given up. */
  readonly cursor: number
  readonly dead: number
  readonly nextTry?: number
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

/** For those who run the agent: what is pushed, what could not be, and how to set it going again. */
export interface PushAdmin {
  webhooks(query?: WebhookChoice): AsyncGenerator<WebhookState>
  deliveries(query?: DeliveryChoice): AsyncGenerator<DeliveryState>
  /** Sends once more what was given up, and resumes its webhooks; answers how many deliveries that are. */
  redrive(choice: RedriveChoice): Promise<number>
  /** Goes on with paused webhooks where they were; answers how many. */
  resume(choice: WebhookChoice): Promise<number>
}

export function createPushAdmin(store: PushStore, deliverer: Pick<Deliverer, 'flush' | 'reconsider'>): PushAdmin {
  async function* chosen({ taskId, id }: WebhookChoice): AsyncGenerator<StoredWebhook> {
    for (let after = 0; ; ) {
      const page = await store.list({ after, limit: pageSize, ...(taskId !== undefined && { taskId }) })
      for (const stored of page) if (id === undefined || stored.id === id) yield stored
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      after = last.place
    }
  }

  /** Changes it whatever else happens to it; answers whether there was something to change. */
  async function change(key: WebhookKey, to: (webhook: Webhook) => Webhook | undefined): Promise<boolean> {
    for (;;) {
      await deliverer.flush()
      const stored = await store.get(key)
      const webhook = stored && to(stored.webhook)
      if (!webhook) return false
      if (await store.edit({ ...stored, webhook, due: dueOf(webhook) })) break
    }
    deliverer.reconsider(key)
    return true
  }

  return {
    async *webhooks(query = {}) {
      for await (const stored of chosen(query)) yield stateOf(stored)
    },
    async *deliveries({ outcome, ...query } = {}) {
      for await (const stored of chosen(query)) {
        for (const delivery of deliveriesOf(stored)) {
          if (outcome === undefined || delivery.outcome === outcome) yield delivery
        }
      }
    },
    async redrive({ generation, ...query }) {
      let count = 0
      for await (const stored of chosen(query)) {
        let redriven = 0
        const isMeant = (delivery: Delivery) => generation === undefined || delivery.generation === generation
        await change(stored, (webhook) => {
          const again = webhook.dead.filter(isMeant)
          redriven = again.length
          return redriven === 0 ? undefined : revived(webhook, again)
        })
        count += redriven
      }
      return count
    },
    async resume(query) {
      let count = 0
      for await (const stored of chosen(query)) {
        const isResumed = await change(stored, (webhook) =>
          webhook.state === 'paused' ? { ...webhook, state: 'active', givenUp: 0 } : undefined,
        )
        if (isResumed) count++
      }
      return count
    },
  }
}

function stateOf({ taskId, owner, id, webhook }: StoredWebhook): WebhookState {
  const { config, state, cursor, dead, failing } = webhook
  const problem = failing?.problem ?? (state === 'paused' ? dead.at(-1)?.problem : undefined)
  return {
    taskId,
    owner,
    id,
    url: config.url,
    state,
    cursor,
    dead: dead.length,
    ...(problem !== undefined && { problem }),
    ...(failing?.nextTry !== undefined && { nextTry: failing.nextTry }),
  }
}

function deliveriesOf({ taskId, owner, id, webhook }: StoredWebhook): readonly DeliveryState[] {
  const { recent, dead, redriven, failing } = webhook
  const as = (outcome: DeliveryState['outcome'], deliveries: readonly Delivery[]) =>
    deliveries.map((delivery) => ({
      taskId,
      owner,
      id,
      outcome,
      ...delivery,
      deliveryId: deliveryIdOf(webhook, delivery.generation),
    }))
  return [
    ...as('delivered', recent),
    ...as('dead', dead),
    ...as('redriven', redriven),
    ...as('retrying', failing ? [failing] : []),
  ].sort((one, other) => one.generation - other.generation)
}

function revived(webhook: Webhook, again: readonly Delivery[]): Webhook {
  const anew = again.map(({ nextTry: _, ...delivery }) => ({ ...delivery, attempts: 0 }))
  return {
    ...webhook,
    state: webhook.state === 'paused' ? 'active' : webhook.state,
    givenUp: 0,
    dead: webhook.dead.filter((delivery) => !again.includes(delivery)),
    redriven: [...webhook.redriven, ...anew],
  }
}
