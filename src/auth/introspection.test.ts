import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { bearerToken } from '../../test/support/auth/request-credentials.ts'
import type { IntrospectionOptions } from './introspection.ts'
import { oauth2 } from './schemes/tokens.ts'

const now = Math.floor(Date.now() / 1000)

/** Where tokens are looked up: `tokens` says what is known of each. */
async function startLookUp(tokens: Readonly<Record<string, object>>) {
  const asked: { token: string | null; authorization: string | undefined }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const token = new URLSearchParams(body).get('token')
    asked.push({ token, authorization: request.headers.authorization })
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
  return { scheme, asked }
}

it('asks the issuer whom a token stands for, as itself, and once for a while', async () => {
  const { scheme, asked } = await startLookUp({ good: { active: true, sub: 'alice', scope: 'read', exp: now + 60 } })
  const one = scheme()
  expect(await one.authenticate(bearerToken('good'))).toMatchObject({ principal: { id: 'alice', scopes: ['read'] } })
  expect(await one.authenticate(bearerToken('good'))).toMatchObject({ principal: { id: 'alice' } })
  // RFC 6749 §2.3.1: both are encoded as in a form before they are joined.
  expect(asked).toEqual([{ token: 'good', authorization: `Basic ${btoa('agent:p%3Aw%2Fd')}` }])
})

it.each<[string, object, Partial<IntrospectionOptions>?]>([
  ['is not active', { active: false }],
  ['is active by a word', { active: 'true', sub: 'alice' }],
  ['has expired', { active: true, sub: 'alice', exp: now - 1 }],
  ['is not good yet', { active: true, sub: 'alice', nbf: now + 60 }],
  ['is for another audience', { active: true, sub: 'alice', aud: 'other' }, { audience: 'me' }],
  ['is of another issuer', { active: true, sub: 'alice', iss: 'https://evil.test' }, { issuer: 'https://i.test' }],
  ['is of nobody', { active: true }],
])('refuses a token that %s', async (_, known, options) => {
  const { scheme } = await startLookUp({ token: known })
  expect(await scheme(options).authenticate(bearerToken('token'))).toEqual({ reason: expect.any(String) })
})

it('refuses while the issuer does not answer, and says so to the operator', async () => {
  const { scheme } = await startLookUp({})
  expect(await scheme().authenticate(bearerToken('down'))).toMatchObject({
    cause: { message: expect.stringContaining('500') },
  })
})

it('does not let itself be made to ask without a bound, and asks once for those who come together', async () => {
  const { scheme, asked } = await startLookUp({ good: { active: true, sub: 'alice' } })
  const one = scheme()
  const together = await Promise.all(Array.from({ length: 20 }, () => one.authenticate(bearerToken('good'))))
  expect(together.every((verdict) => verdict && 'principal' in verdict)).toBe(true)
  expect(asked).toHaveLength(1)
  const settled = await Promise.allSettled(
    Array.from({ length: 100 }, async (_, n) => one.authenticate(bearerToken(`t${n}`))),
  )
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(64)
  for (const each of settled) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'unavailable' })
  expect(await one.authenticate(bearerToken('later'))).toHaveProperty('reason')
})
