import { describe, expect, it } from 'vitest'
import { agent } from '../agent/agent.ts'
import { createHandler } from './handler.ts'

const echo = agent({ name: 'Echo', description: 'Says it back' }, (turn) => turn.text)
const secret = { id: 'secret', name: 'Secret', description: 'Only for some', tags: ['inner'] }

/** All requests by which clients get the extended card. */
function requestsTo(fetch: (request: Request) => Promise<Response>) {
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
    'agent/authenticatedExtendedCard of 0.2': () => call('agent/authenticatedExtendedCard', '0.2'),
  }
}

describe('the extended card', () => {
  it('every request for the card returns it with the address that the caller used', async () => {
    const { fetch, drain } = createHandler(echo, { auth: 'none', extendedCard: { skills: [secret] } })
    for (const [name, send] of Object.entries(requestsTo(fetch))) {
      const { card } = await send()
      expect(card, name).toMatchObject({ name: 'Echo', skills: [{ id: 'secret' }] })
      expect(JSON.stringify(card), name).toContain('http://h.test')
    }
    await drain(0)
  })

  it('the public card announces the extended card and contains nothing of it', async () => {
    const { fetch, drain } = createHandler(echo, { auth: 'none', extendedCard: { skills: [secret] } })
    const card = await (await fetch(new Request('http://h.test/.well-known/agent-card.json'))).json()
    expect(card).toMatchObject({ capabilities: { extendedAgentCard: true }, supportsAuthenticatedExtendedCard: true })
    expect(JSON.stringify(card)).not.toContain('secret')
    await drain(0)
  })

  it('without an extended card, pages are not found and operations not supported', async () => {
    const { fetch, drain } = createHandler(echo, { auth: 'none' })
    const statuses: Record<string, unknown> = {}
    for (const [name, send] of Object.entries(requestsTo(fetch))) {
      const { status, card } = await send()
      expect(card?.name, name).toBeUndefined()
      statuses[name] = status
    }
    expect(statuses).toEqual({
      'GET /extendedAgentCard': 400,
      'GET /v1/card': 404,
      'GET /agent/authenticatedExtendedCard': 404,
      GetExtendedAgentCard: -32004,
      'agent/getAuthenticatedExtendedCard': -32004,
      'agent/authenticatedExtendedCard': -32004,
      'agent/authenticatedExtendedCard of 0.2': -32004,
    })
    await drain(0)
  })

  it.each(['v0.3', 'v0.3-proto'] as const)('the body of a missing /v1/card says why in %s', async (dialect) => {
    const { fetch, drain } = createHandler(echo, { auth: 'none', dialects: [dialect] })
    const answer = await fetch(new Request('http://h.test/v1/card'))
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({
      code: -32004,
      type: 'UnsupportedOperationError',
      error: { code: 404, details: [{ reason: 'UNSUPPORTED_OPERATION' }] },
    })
    await drain(0)
  })
})
