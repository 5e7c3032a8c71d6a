import { expect } from 'vitest'
import type { LogWithWebhooks } from '../../../src/push/push.ts'
import type { WebhookReceiver } from './webhook-receiver.ts'

/** Every event of every task arrived, each for the first time in its turn, and no two of a task at once. */
export async function expectAllDelivered(log: LogWithWebhooks, { got }: Pick<WebhookReceiver, 'got'>): Promise<number> {
  const webhooks = (await log.webhooks?.list({ limit: 10_000 })) ?? []
  for (const { taskId, webhook } of webhooks) {
    const stored = []
    for (
      let page = await log.read(taskId, 0);
      page.length > 0;
      page = await log.read(taskId, page.at(-1)?.generation ?? 0)
    ) {
      stored.push(...page)
    }
    const due = stored.filter(({ event: { type } }) => type === 'status' || type === 'artifact')
    const requests = got.filter((one) => one.taskId === taskId)
    const arrived = [...new Set(requests.map(({ generation }) => generation))]
    expect({ taskId, arrived }).toEqual({ taskId, arrived: due.map(({ generation }) => generation) })
    expect(webhook).toMatchObject({ state: 'done', dead: [] })
    for (const [at, request] of requests.entries()) {
      const next = requests[at + 1]
      if (next && next.from < request.to) expect.fail(`two requests of task ${taskId} were on their way at once`)
    }
  }
  return webhooks.length
}

export async function isAllDone(log: LogWithWebhooks): Promise<boolean> {
  const webhooks = (await log.webhooks?.list({ limit: 10_000 })) ?? []
  return webhooks.every(({ webhook }) => webhook.state === 'done')
}
