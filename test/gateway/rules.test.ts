import { describe, expect, it } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import { createRules } from '../../src/gateway/rules.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { startGateway } from './support.ts'

const call = {
  principal: { id: 'ada', claims: { groups: ['staff'] } },
  agent: 'one',
  operation: 'sendMessage',
} as const

describe('the rules of a gateway', () => {
  it('allow everything if there are none', () => {
    expect(createRules(undefined).decide(call)).toMatchObject({ isAllowed: true, name: 'none' })
  })

  it('decide by the first match, and deny what none matches', () => {
    const rules = createRules([
      { name: 'no cancels', operation: 'cancelTask', effect: 'deny' },
      { name: 'staff', group: 'staff' },
    ])
    expect(rules.decide(call)).toMatchObject({ isAllowed: true, name: 'staff' })
    expect(rules.decide({ ...call, operation: 'cancelTask' })).toMatchObject({ isAllowed: false, name: 'no cancels' })
    expect(rules.decide({ ...call, principal: { id: 'bob' } })).toMatchObject({ isAllowed: false, name: 'default' })
  })

  it('match patterns in principals, tenants and agents', () => {
    const rules = createRules([{ principal: 'team-*', agent: ['o*e', 'two'] }, { tenant: 'acme' }])
    expect(rules.decide({ ...call, principal: { id: 'team-red' } }).isAllowed).toBe(true)
    expect(rules.decide({ ...call, principal: { id: 'team-red' }, agent: 'three' }).isAllowed).toBe(false)
    expect(rules.decide({ ...call, principal: { id: 'x', tenant: 'acme' } }).isAllowed).toBe(true)
  })

  it('about skills refuse messages that name none', () => {
    const rules = createRules([{ name: 'counting', skill: 'count' }, { operation: 'getTask' }])
    expect(rules.decide({ ...call, skill: 'count' })).toMatchObject({ isAllowed: true, name: 'counting' })
    expect(rules.decide({ ...call, skill: 'other' })).toMatchObject({ isAllowed: false, name: 'default' })
    expect(rules.decide(call)).toMatchObject({ isAllowed: false, name: 'counting' })
    expect(rules.decide({ ...call, operation: 'getTask' }).isAllowed).toBe(true)
  })

  it('limit rates, sizes and operations of running agents, and change without a restart', async () => {
    const { server } = await startTestServer(count, { profile })
    const agents = { ada: server.url }
    const rules = [{ operation: ['sendMessage'] as const, rate: { limit: 2, per: 60_000 }, bodySize: 2_000 }]
    const gateway = await startGateway({ agents, rules })
    const client = await connect(gateway.url, { retry: { tries: 1 } })
    expect((await client.send('hello')).text).toBe('hi')
    await expect(client.task('x').get()).rejects.toMatchObject({ code: 'forbidden' })
    await expect(client.send('x'.repeat(3_000))).rejects.toMatchObject({ code: 'payload-too-large' })
    await client.send('hello')
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'rate-limited' })
    await gateway.update({ agents, rules: [{}] })
    await expect(client.task('x').get()).rejects.toMatchObject({ code: 'task-not-found' })
  })
})
