import { pbkdf2Sync } from 'node:crypto'
import { expect, it } from 'vitest'
import { credentialsIn } from '../../../test/support/auth/request-credentials.ts'
import { hashPassword } from '../password.ts'
import { basic } from './basic.ts'

const password = 'pässword: with a colon'
// Of fewer rounds than we make, so that tests do not take long.
const stored = `pbkdf2-sha256$1000$00ff$${pbkdf2Sync(password, Buffer.of(0, 255), 1000, 32, 'sha256').toString('hex')}`
const scheme = basic({ users: { ada: { password: stored, scopes: ['read'] } } })

function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}

function ask(credentials: string) {
  return scheme.authenticate(credentialsIn({ headers: { authorization: `Basic ${credentials}` } }))
}

it('knows a user by name and password, and at once the second time', async () => {
  const ada = { principal: { id: 'ada', scopes: ['read'] } }
  expect(await ask(encoded(`ada:${password}`))).toEqual(ada)
  // Without a promise, and so without work.
  expect(ask(encoded(`ada:${password}`))).toEqual(ada)
})

it('stores of a password what takes long to guess', async () => {
  const hash = await hashPassword('secret')
  expect(hash).toMatch(/^pbkdf2-sha256\$600000\$[\da-f]{32}\$[\da-f]{64}$/)
  const strong = basic({ users: { ada: { password: hash } } })
  const headers = { authorization: `Basic ${encoded('ada:secret')}` }
  expect(await strong.authenticate(credentialsIn({ headers }))).toEqual({ principal: { id: 'ada' } })
}, 30_000)

it.each([
  ['a wrong password', encoded('ada:wrong')],
  ['a name that nobody has', encoded(`bob:${password}`)],
  ['a name of every object', encoded(`constructor:${password}`)],
  ['no colon', encoded('ada')],
  ['something else than UTF-8', Buffer.from([0xff, 0x3a, 0xff]).toString('base64')],
  ['something else than Base64', 'a'],
  ['two headers', `${encoded(`ada:${password}`)}, Basic ${encoded('x:y')}`],
])('refuses %s', async (_, credentials) => {
  expect(await ask(credentials)).toHaveProperty('reason')
})

it('takes as long for a name that nobody has as for one that somebody has', async () => {
  const slow = `pbkdf2-sha256$40000$00ff$${pbkdf2Sync(password, Buffer.of(0, 255), 40_000, 32, 'sha256').toString('hex')}`
  const asked = basic({ users: { ada: { password: slow }, eve: { password: slow } } })
  const time = async (name: string, n: number) => {
    const begin = performance.now()
    const headers = { authorization: `Basic ${encoded(`${name}:${n}`)}` }
    expect(await asked.authenticate(credentialsIn({ headers }))).toHaveProperty('reason')
    return performance.now() - begin
  }
  const times: Record<string, number[]> = { eve: [], nobody: [] }
  for (let n = 0; n < 15; n++) for (const name of ['eve', 'nobody']) times[name]?.push(await time(name, n))
  const median = (name: string) => times[name]?.sort((one, other) => one - other)[7] ?? 0
  expect(median('nobody') / median('eve')).toBeGreaterThan(0.5)
  expect(median('nobody') / median('eve')).toBeLessThan(2)
})

it('does not let itself be kept busy without a bound', async () => {
  const asked = Array.from({ length: 40 }, async (_, n) => await ask(encoded(`ada:${n}`)))
  const settled = await Promise.allSettled(asked)
  const busy = settled.filter(({ status }) => status === 'rejected')
  expect(busy.length).toBeGreaterThan(0)
  for (const each of busy) expect(each).toMatchObject({ reason: { code: 'unavailable', retryAfter: 1 } })
})

it('leaves other schemes of HTTP to others', async () => {
  expect(await scheme.authenticate(credentialsIn({ headers: { authorization: 'Bearer x' } }))).toBeUndefined()
  expect(await scheme.authenticate(credentialsIn())).toBeUndefined()
})

it('takes no password that is not hashed', () => {
  expect(() => basic({ users: { ada: { password: 'secret' } } })).toThrow('password of ada as hashPassword gives it')
  expect(() => basic({ users: {} })).toThrow('at least one user')
})
