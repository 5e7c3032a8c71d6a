import { describe, expect, it } from 'vitest'
import { createService, intercept } from '../protocol/intercept.ts'
import { anonymous, type Principal } from '../protocol/model.ts'
import type { Call } from '../protocol/service.ts'
import { requireTenantMember, requireTenantName, unknownTenantService } from './tenants.ts'

const service = createService({
  unary: async () => ({ id: 'T' }) as never,
  async *stream() {
    yield { type: 'message', message: { messageId: 'm', role: 'agent', parts: [] } }
  },
})

function callOf(principal: Principal): Call {
  return { principal, signal: new AbortController().signal }
}

const call = callOf(anonymous)
const forbidden = { code: 'forbidden', metadata: { reason: 'tenant' } }

it('a call to an address that has only tenants must name one', async () => {
  const { getTask, subscribeToTask } = unknownTenantService
  await expect(getTask({ taskId: 'T' }, call)).rejects.toThrow('expected the tenant that the card names')
  expect(() => subscribeToTask({ taskId: 'T', tenant: 'x' }, call)).toThrow('there is no such tenant')
})

describe('requireTenantMember', () => {
  it('principals of the tenant and principals without a tenant are admitted', async () => {
    const { getTask } = intercept(service, [requireTenantMember('acme', undefined)])
    expect(await getTask({ taskId: 'T' }, call)).toEqual({ id: 'T' })
    expect(await getTask({ taskId: 'T' }, callOf({ id: 'ada', tenant: 'acme' }))).toEqual({ id: 'T' })
  })

  it('principals of another tenant are rejected unless the policy shows them the tenant', async () => {
    const eve = callOf({ id: 'eve', tenant: 'evil' })
    const strict = intercept(service, [requireTenantMember('acme', undefined)])
    await expect(strict.getTask({ taskId: 'T' }, eve)).rejects.toMatchObject(forbidden)
    await expect(strict.subscribeToTask({ taskId: 'T' }, eve).next()).rejects.toMatchObject(forbidden)
    const open = intercept(service, [requireTenantMember('acme', () => ({ tenants: ['acme'] }))])
    expect(await open.getTask({ taskId: 'T' }, eve)).toEqual({ id: 'T' })
  })
})

it.each(['', 'a/b', 'tasks', '.well-known'])('a tenant cannot be named %j', (name) => {
  expect(() => requireTenantName(name)).toThrow('expected a name without slashes')
})
