import { pbkdf2Sync } from 'node:crypto'
import { expect, it } from 'vitest'
import { credentialsIn } from '../../../../test/support/auth/request-credentials.ts'
import { hashPassword } from '../password.ts'
import { basic } from './basic.ts'

const password = 'pässword: with a colon'
// Fewer rounds than `hashPassword` uses, to keep the tests fast.
const stored = `pbkdf2-sha256$1000$00ff$${pbkdf2Sync(password, Buffer.of(0, 255), 1000, 32, 'sha256').toString('hex')}`
const scheme = basic({ users: { ada: { password: stored, scopes: ['read'] } } })

function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}

function authenticate(credentials: string) {
  return scheme.authenticate(credentialsIn({ headers: { authorization: `Basic ${credentials}` } }))
}

it('a user is known by name and password, without work the second time', async () => {
  const ada = { principal: { id: 'ada', scopes: ['read'] } }
  expect(await authenticate(encoded(`ada:${password}`))).toEqual(ada)
  // Not a promise: the result is cached.
  expect(authenticate(encoded(`ada:${password}`))).toEqual(ada)
})

it('a stored password takes long to guess', async () => {
  const hash = await hashPassword('secret')
  expect(hash).toMatch(/^pbkdf2-sha256\$600000\$[\da-f]{32}\$[\da-f]{64}$/)
  const strong = basic({ users: { ada: { password: hash } } })
  const headers = { authorization: `Basic ${encoded('ada:secret')}` }
  expect(await strong.authenticate(credentialsIn({ headers }))).toEqual({ principal: { id: 'ada' } })
}, 30_000)

it.each([
  ['a wrong password', encoded('ada:wrong')],
  ['an unknown name', encoded(`bob:${password}`)],
  ['a member of every object as name', encoded(`constructor:${password}`)],
  ['no colon', encoded('ada')],
  ['something else than UTF-8', Buffer.from([0xff, 0x3a, 0xff]).toString('base64')],
  ['something else than Base64', 'a'],
  ['two headers', `${encoded(`ada:${password}`)}, Basic ${encoded('x:y')}`],
])('%s is rejected', async (_, credentials) => {
  expect(await authenticate(credentials)).toHaveProperty('reason')
})

it('an unknown name takes as long as a known one', async () => {
  const slow = `pbkdf2-sha256$40000$00ff$${pbkdf2Sync(password, Buffer.of(0, 255), 40_000, 32, 'sha256').toString('hex')}`
  const slowScheme = basic({ users: { ada: { password: slow }, eve: { password: slow } } })
  // Processor time of all threads: other processes do not change it. The least is the one without garbage collection.
  const time = async (name: string, n: number) => {
    const begin = process.cpuUsage()
    const headers = { authorization: `Basic ${encoded(`${name}:${n}`)}` }
    expect(await slowScheme.authenticate(credentialsIn({ headers }))).toHaveProperty('reason')
    const { user, system } = process.cpuUsage(begin)
    return user + system
  }
  const least = { eve: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY }
  for (let n = 0; n < 15; n++) {
    for (const name of ['eve', 'unknown'] as const) least[name] = Math.min(least[name], await time(name, n))
  }
  expect(least.unknown / least.eve).toBeGreaterThan(0.5)
  expect(least.unknown / least.eve).toBeLessThan(2)
})

it('password checks at once are bounded', async () => {
  const checks = Array.from({ length: 40 }, async (_, n) => await authenticate(encoded(`ada:${n}`)))
  const settled = await Promise.allSettled(checks)
  const busy = settled.filter(({ status }) => status === 'rejected')
  expect(busy.length).toBeGreaterThan(0)
  for (const result of busy) expect(result).toMatchObject({ reason: { code: 'unavailable', retryAfter: 1 } })
})

it('credentials of other HTTP schemes are ignored', async () => {
  expect(await scheme.authenticate(credentialsIn({ headers: { authorization: 'Bearer x' } }))).toBeUndefined()
  expect(await scheme.authenticate(credentialsIn())).toBeUndefined()
})

it('a password that is not hashed is an error, as are no users', () => {
  expect(() => basic({ users: { ada: { password: 'secret' } } })).toThrow('password of ada as hashPassword gives it')
  expect(() => basic({ users: {} })).toThrow('at least one user')
})
