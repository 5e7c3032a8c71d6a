import { describe, expect, it } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { until } from '../support/async.ts'
import { startWebhookReceiver } from '../support/push/webhook-receiver.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { startGateway } from './support.ts'

describe.each<Mode>(['durable', 'pass-through'])('webhooks of a %s agent', (mode) => {
  it('get events from the gateway, and the agent learns nothing of them', async () => {
    const receiver = await startWebhookReceiver()
    const { server } = await startTestServer(count, { profile, push: { loopback: 'allow' } })
    const gateway = await startGateway({ agents: { ada: { url: server.url, mode } }, push: { loopback: 'allow' } })
    const client = await connect(gateway.url)
    const { task } = await client.send('ask')
    const handle = client.task(task?.id ?? '')
    const config = await handle.push.create({ url: `${receiver.url}/hook`, token: 'caller-token' })
    expect(config).toMatchObject({ url: `${receiver.url}/hook` })
    expect(await handle.push.get(config.id ?? '')).toMatchObject({ url: `${receiver.url}/hook` })
    await client.send('count', { taskId: task?.id ?? '' })
    await until(() => receiver.requests.some(({ body }) => body.includes('TASK_STATE_COMPLETED')))
    for (const { headers, body } of receiver.requests) {
      expect(headers['x-a2a-notification-token']).toBe('caller-token')
      expect(body).toContain(task?.id ?? '')
    }
    if (mode === 'durable') return
    const direct = await connect(server.url)
    const [registered] = await Array.fromAsync(direct.task(task?.id ?? '').push.list())
    expect(registered?.url).toMatch(new RegExp(`^${gateway.url}/gateway/push/[0-9a-f]{64}$`))
    await handle.push.delete(config.id ?? '')
    expect(await Array.fromAsync(handle.push.list())).toEqual([])
  })

  it('are refused at addresses that the gateway must not call', async () => {
    const { server } = await startTestServer(count, { profile, push: { loopback: 'allow' } })
    const options = { agents: { ada: { url: server.url, mode } }, push: {}, publicUrl: 'https://agents.example.com' }
    const gateway = await startGateway(options)
    const client = await connect(server.url).then((direct) =>
      connect({ ...direct.card, interfaces: [{ ...direct.card.interfaces[0], url: gateway.url } as never] }, { fetch }),
    )
    const { task } = await client.send('ask')
    const create = client.task(task?.id ?? '').push.create({ url: 'http://169.254.169.254/latest' })
    await expect(create).rejects.toMatchObject({ code: 'invalid-params' })
  })
})

it('a notification with an unknown token is refused', async () => {
  const { server } = await startTestServer(count, { profile, push: { loopback: 'allow' } })
  const gateway = await startGateway({
    agents: { ada: { url: server.url, mode: 'pass-through' } },
    push: { loopback: 'allow' },
  })
  const response = await fetch(`${gateway.url}/gateway/push/${'0'.repeat(64)}`, { method: 'POST', body: '{}' })
  expect(response.status).toBe(401)
})
