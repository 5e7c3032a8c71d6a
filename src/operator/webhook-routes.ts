import { redactSecrets } from '../core/base/error-summary.ts'
import { defined } from '../core/base/json.ts'
import { principalOf } from '../core/protocol/model.ts'
import type { PushAdmin, WebhookState } from '../core/push/admin.ts'
import { int32, object, optional } from '../core/schema/values.ts'
import type { ConsoleAgent, ConsoleAgents } from './agents.ts'
import type { DeliveryRow, WebhookChanged, WebhookRow } from './contract-tools.ts'
import { invalid, jsonAnswer, notFound, OperatorFailure } from './failures.ts'
import { type Route, readBody } from './routes.ts'

const pageSize = 100

/** The operations about webhooks and their deliveries. Tokens and credentials of webhooks are never shown. */
export function webhookRoutes(agents: ConsoleAgents): readonly Route[] {
  const path = '/webhooks/:agent/:task/:id'

  async function change(
    [agentId, taskId, id]: readonly [string, string, string],
    apply: (push: PushAdmin) => Promise<number>,
  ): Promise<WebhookChanged & { readonly count: number }> {
    const agent = agents.get(agentId)
    await find(agent, taskId, id)
    const count = await apply(pushOf(agent))
    return { webhook: rowOf(agent, await find(agent, taskId, id)), count }
  }

  return [
    {
      method: 'GET',
      path: '/webhooks',
      role: 'viewer',
      handle: async ({ query }) => jsonAnswer(await list(agents, query)),
    },
    {
      method: 'GET',
      path: `${path}/deliveries`,
      role: 'viewer',
      async handle(_call, agentId: string, taskId: string, id: string) {
        const agent = agents.get(agentId)
        await find(agent, taskId, id)
        const deliveries: DeliveryRow[] = []
        for await (const delivery of pushOf(agent).deliveries({ taskId, id })) {
          const { deliveryId, generation, outcome, attempts, at, latency, status, problem, nextTry } = delivery
          deliveries.push({ deliveryId, generation, outcome, attempts, at, latency, status, problem, nextTry })
        }
        return jsonAnswer({ deliveries })
      },
    },
    ...(['pause', 'resume'] as const).map(
      (verb): Route => ({
        method: 'POST',
        path: `${path}/${verb}`,
        role: 'operator',
        async handle(_call, agentId: string, taskId: string, id: string) {
          const { webhook, count } = await change([agentId, taskId, id], (push) => push[verb]({ taskId, id }))
          if (count > 0) return jsonAnswer({ webhook })
          const expected = verb === 'pause' ? 'active' : 'paused'
          throw new OperatorFailure(
            409,
            'conflict',
            `The webhook is ${webhook.state}: only ${expected} ones can ${verb}.`,
          )
        },
      }),
    ),
    {
      method: 'POST',
      path: `${path}/redeliver`,
      role: 'operator',
      async handle(call, agentId: string, taskId: string, id: string) {
        const { generation } = await readBody(call, object({ generation: optional(int32({ min: 1 })) }))
        const choice = defined({ taskId, id, generation })
        const { webhook, count } = await change([agentId, taskId, id], (push) => push.redrive(choice))
        return jsonAnswer({ webhook, redelivered: count })
      },
    },
  ]
}

function pushOf({ agent }: ConsoleAgent): PushAdmin {
  if (agent.push) return agent.push
  throw new OperatorFailure(409, 'push-not-supported', 'This agent sends no push notifications.')
}

async function find(agent: ConsoleAgent, taskId: string, id: string): Promise<WebhookState> {
  for await (const webhook of pushOf(agent).webhooks({ taskId, id })) return webhook
  throw notFound('There is no such webhook.')
}

/** One page over all agents: the cursor names the agent and the place in its list. */
async function list(agents: ConsoleAgents, query: URLSearchParams) {
  const [agentId, taskId] = [query.get('agent') ?? '', query.get('taskId') ?? '']
  const [, cursorAgent, place] = /^(.+) (\d{1,15})$/.exec(query.get('cursor') ?? '') ?? []
  if (query.get('cursor') && cursorAgent === undefined) throw invalid('cursor', 'expected the `next` of a page')
  const chosen = agentId === '' ? agents.all() : [agents.get(agentId)]
  const from = cursorAgent === undefined ? 0 : chosen.findIndex(({ id }) => id === cursorAgent)
  if (from < 0) throw invalid('cursor', 'expected the `next` of a page')
  const webhooks: WebhookRow[] = []
  for (const agent of chosen.slice(from)) {
    if (!agent.agent.push) continue
    const after = agent.id === cursorAgent ? Number(place) : 0
    for await (const webhook of agent.agent.push.webhooks(
      defined({ taskId: taskId === '' ? undefined : taskId, after }),
    )) {
      if (webhooks.length === pageSize) return { webhooks, next: `${agent.id} ${webhook.place - 1}` }
      webhooks.push(rowOf(agent, webhook))
    }
  }
  return { webhooks }
}

function rowOf({ id: agent }: ConsoleAgent, webhook: WebhookState): WebhookRow {
  const { taskId, id, url, owner, state, problem, cursor, dead, nextTry, created } = webhook
  return defined({
    agent,
    taskId,
    id,
    state,
    cursor,
    dead,
    created,
    url: redactSecrets(url),
    principal: principalOf(owner).id,
    problem,
    nextTry,
  })
}
