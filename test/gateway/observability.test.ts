import { expect, it } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { apiKeyCredentials } from '../../src/entries/client-auth.ts'
import { openTelemetry } from '../../src/entries/telemetry.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { recordSpans } from '../support/telemetry/spans.ts'
import { startGateway } from './support.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

it.each<Mode>(['durable', 'pass-through'])(
  'a trace of a caller passes a %s agent, with a span for its call',
  async (mode) => {
    const spans = recordSpans()
    const seen: (string | undefined)[] = []
    async function traced(turn: Turn): Promise<string> {
      seen.push(turn.trace?.traceparent)
      return 'done'
    }
    const { server } = await startTestServer(traced, { profile: { name: 'Traced' } })
    const gateway = await startGateway({ agents: { old: { url: server.url, mode } }, telemetry: openTelemetry() })
    const client = await connect(gateway.url)
    await client.send('go', { headers: { traceparent } })
    const name = mode === 'durable' ? 'StreamMessage old' : 'SendMessage old'
    await expect.poll(() => spans.all().map((span) => span.name)).toContain(name)
    const call = spans.all().find((span) => span.name === name)
    expect(call?.spanContext().traceId).toBe(traceparent.split('-')[1])
    // The agent continues the span of the gateway's call, not that of the caller.
    expect(seen).toEqual([expect.stringContaining(`${call?.spanContext().traceId}-${call?.spanContext().spanId}`)])
  },
)

it.each<Mode>(['durable', 'pass-through'])(
  'metrics of a %s agent name its callers and the rules that refused them',
  async (mode) => {
    const { server } = await startTestServer(async () => 'done', { profile: { name: 'Old' } })
    const keys = [
      { id: 'ada', hash: await hashApiKey('ada-key') },
      { id: 'eve', hash: await hashApiKey('eve-key') },
    ]
    const gateway = await startGateway({
      agents: { old: { url: server.url, mode } },
      auth: { schemes: { key: apiKey({ keys }) } },
      rules: [{ name: 'no eve', principal: 'eve', effect: 'deny' }, { name: 'others' }],
      metrics: true,
    })
    const asCaller = (key: string) => connect(gateway.url, { auth: [apiKeyCredentials(key)] })
    await (await asCaller('ada-key')).send('go')
    await expect((await asCaller('eve-key')).send('go')).rejects.toMatchObject({ code: 'forbidden' })
    const page = await fetch(`${gateway.url}/metrics`, { headers: { 'x-api-key': 'ada-key' } })
    const text = await page.text()
    expect(text).toMatch(
      /parley_gateway_calls_total\{upstream="old",caller="[^"]*ada[^"]*",operation="sendMessage",outcome="ok"\} 1/,
    )
    expect(text).toMatch(/parley_gateway_refused_total\{upstream="old",rule="no eve",caller="[^"]*eve[^"]*"\} 1/)
    expect(text).toMatch(
      /parley_gateway_upstream_calls_total\{upstream="old",operation="(send|stream)Message",outcome="ok"\} 1/,
    )
    const [old] = gateway.agents()
    expect(old?.traffic).toMatchObject({
      calls: 2,
      failed: 0,
      refused: 1,
      versions: { 'v1.0': 2 },
      refusedBy: { 'no eve': 1 },
      upstream: { calls: 1, failed: 0 },
    })
  },
)

it('the number of callers that are counted is bounded', async () => {
  const { createTraffic } = await import('../../src/gateway/traffic.ts')
  const traffic = createTraffic('old')
  for (let index = 0; index < 2_000; index++) {
    const call = {
      agent: 'old',
      operation: 'getTask',
      principal: `p${index}`,
      rule: `r${index}`,
      code: 'forbidden',
    } as const
    traffic.onCall({ ...call, duration: 1, isRefused: true, dialect: `d${index}` })
  }
  const { callers, refusedBy, versions, calls } = traffic.figures()
  expect([calls, callers.length]).toEqual([2_000, 20])
  expect(callers[0]).toEqual({ id: 'other', calls: 1_500, failed: 1_500 })
  expect(Object.keys(refusedBy).length).toBeLessThanOrEqual(501)
  expect(Object.keys(versions).length).toBeLessThanOrEqual(501)
  expect(traffic.metrics().split('\n').length).toBeLessThan(700)
})
