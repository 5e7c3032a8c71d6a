import { expect } from 'vitest'
import type { LogWithWebhooks } from '../../../src/core/push/push.ts'
import type { WebhookReceiver } from './webhook-receiver.ts'

/** Expects that every event of every task was delivered in order, and that no deliveries of a task overlapped. */
export async function expectAllDelivered(
  log: LogWithWebhooks,
  { requests }: Pick<WebhookReceiver, 'requests'>,
): Promise<number> {
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
    const ofTask = requests.filter((request) => request.taskId === taskId)
    const arrived = [...new Set(ofTask.map(({ generation }) => generation))]
    expect({ taskId, arrived }).toEqual({ taskId, arrived: due.map(({ generation }) => generation) })
    expect(webhook).toMatchObject({ state: 'done', dead: [] })
    for (const [at, request] of ofTask.entries()) {
      const next = ofTask[at + 1]
      if (next && next.from < request.to) expect.fail(`two deliveries of task ${taskId} overlapped`)
    }
  }
  return webhooks.length
}

export async function isAllDone(log: LogWithWebhooks): Promise<boolean> {
  const webhooks = (await log.webhooks?.list({ limit: 10_000 })) ?? []
  return webhooks.every(({ webhook }) => webhook.state === 'done')
}
