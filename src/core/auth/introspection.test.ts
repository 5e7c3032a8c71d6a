import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { bearerToken } from '../../../test/support/auth/request-credentials.ts'
import type { IntrospectionOptions } from './introspection.ts'
import { oauth2 } from './schemes/tokens.ts'

const now = Math.floor(Date.now() / 1000)

/** An introspection endpoint that knows these tokens. */
async function startEndpoint(tokens: Readonly<Record<string, object>>) {
  const lookups: { token: string | null; authorization: string | undefined }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const token = new URLSearchParams(body).get('token')
    lookups.push({ token, authorization: request.headers.authorization })
    const status = token === 'down' ? 500 : 200
    response.writeHead(status).end(JSON.stringify(tokens[token ?? ''] ?? { active: false }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/introspect`
  const scheme = (options: Partial<IntrospectionOptions> = {}) =>
    oauth2({
      flow: { type: 'client-credentials', tokenUrl: 'https://i.test/token', scopes: { read: 'Reads' } },
      introspection: { url, clientId: 'agent', clientSecret: 'p:w/d', ...options },
    })
  return { scheme, lookups }
}

it('a token is looked up once, with the credentials of the agent', async () => {
  const { scheme, lookups } = await startEndpoint({
    good: { active: true, sub: 'alice', scope: 'read', exp: now + 60 },
  })
  const one = scheme()
  expect(await one.authenticate(bearerToken('good'))).toMatchObject({ principal: { id: 'alice', scopes: ['read'] } })
  expect(await one.authenticate(bearerToken('good'))).toMatchObject({ principal: { id: 'alice' } })
  // RFC 6749 §2.3.1: both are encoded as in a form before they are joined.
  expect(lookups).toEqual([{ token: 'good', authorization: `Basic ${btoa('agent:p%3Aw%2Fd')}` }])
})

it.each<[string, object, Partial<IntrospectionOptions>?]>([
  ['is not active', { active: false }],
  ['has a text as active', { active: 'true', sub: 'alice' }],
  ['has expired', { active: true, sub: 'alice', exp: now - 1 }],
  ['is not valid yet', { active: true, sub: 'alice', nbf: now + 60 }],
  ['is for another audience', { active: true, sub: 'alice', aud: 'other' }, { audience: 'me' }],
  ['is of another issuer', { active: true, sub: 'alice', iss: 'https://evil.test' }, { issuer: 'https://i.test' }],
  ['names no principal', { active: true }],
])('a token that %s is rejected', async (_, claims, options) => {
  const { scheme } = await startEndpoint({ token: claims })
  expect(await scheme(options).authenticate(bearerToken('token'))).toEqual({ reason: expect.any(String) })
})

it('a token is rejected while the endpoint fails, and the operator sees why', async () => {
  const { scheme } = await startEndpoint({})
  expect(await scheme().authenticate(bearerToken('down'))).toMatchObject({
    cause: { message: expect.stringContaining('500') },
  })
})

it('lookups are bounded, and simultaneous requests with one token share one', async () => {
  const { scheme, lookups } = await startEndpoint({ good: { active: true, sub: 'alice' } })
  const one = scheme()
  const together = await Promise.all(Array.from({ length: 20 }, () => one.authenticate(bearerToken('good'))))
  expect(together.every((result) => result && 'principal' in result)).toBe(true)
  expect(lookups).toHaveLength(1)
  const settled = await Promise.allSettled(
    Array.from({ length: 100 }, async (_, n) => one.authenticate(bearerToken(`t${n}`))),
  )
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(64)
  for (const result of settled)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'unavailable' })
  expect(await one.authenticate(bearerToken('later'))).toHaveProperty('reason')
})
