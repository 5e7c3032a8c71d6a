import { expect, it } from 'vitest'
import { agent } from '../agent/agent.ts'
import { createHandler } from './handler.ts'

const echo = agent({ name: 'Echo', description: 'Says it back' }, (turn) => turn.text)
const secret = { id: 'secret', name: 'Secret', description: 'Only for some', tags: ['inner'] }

function forms(fetch: (request: Request) => Promise<Response>) {
  const get = async (path: string) => {
    const answer = await fetch(new Request(`http://h.test${path}`))
    return { status: answer.status, card: await answer.json() }
  }
  const call = async (method: string, version: string) => {
    const headers = { 'content-type': 'application/json', 'a2a-version': version }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method })
    const answer = await fetch(new Request('http://h.test/', { method: 'POST', headers, body }))
    const { result, error } = await answer.json()
    return { status: error?.code, card: result }
  }
  return {
    'GET /extendedAgentCard': () => get('/extendedAgentCard'),
    'GET /v1/card': () => get('/v1/card'),
    'GET /agent/authenticatedExtendedCard': () => get('/agent/authenticatedExtendedCard'),
    GetExtendedAgentCard: () => call('GetExtendedAgentCard', '1.0'),
    'agent/getAuthenticatedExtendedCard': () => call('agent/getAuthenticatedExtendedCard', '0.3'),
    'agent/authenticatedExtendedCard': () => call('agent/authenticatedExtendedCard', '0.3'),
  }
}

it('is given in every form that callers ask for it, with the address by which they came', async () => {
  const { fetch, drain } = createHandler(echo, { extendedCard: { skills: [secret] } })
  for (const [form, ask] of Object.entries(forms(fetch))) {
    const { card } = await ask()
    expect(card, form).toMatchObject({ name: 'Echo', skills: [{ id: 'secret' }] })
    expect(JSON.stringify(card), form).toContain('http://h.test')
  }
  await drain(0)
})

it('is announced on the public card, which says nothing of it', async () => {
  const { fetch, drain } = createHandler(echo, { extendedCard: { skills: [secret] } })
  const card = await (await fetch(new Request('http://h.test/.well-known/agent-card.json'))).json()
  expect(card).toMatchObject({ capabilities: { extendedAgentCard: true }, supportsAuthenticatedExtendedCard: true })
  expect(JSON.stringify(card)).not.toContain('secret')
  await drain(0)
})

it('is refused in every form when there is none', async () => {
  const { fetch, drain } = createHandler(echo)
  for (const [form, ask] of Object.entries(forms(fetch))) {
    const { status, card } = await ask()
    expect(card?.name, form).toBeUndefined()
    expect([400, 404, -32004, -32007], form).toContain(status)
  }
  await drain(0)
})
