import { expect, it } from 'vitest'
import { presented } from '../../../test/support/presented.ts'
import { hashPassword } from '../password.ts'
import { basic } from './basic.ts'

const password = 'pässword: with a colon'
const stored = await hashPassword(password)
const scheme = basic({ users: { ada: { password: stored, scopes: ['read'] } } })

function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}

function ask(credentials: string) {
  return scheme.authenticate(presented({ headers: { authorization: `Basic ${credentials}` } }))
}

it('knows a user by name and password, and at once the second time', async () => {
  const ada = { principal: { id: 'ada', scopes: ['read'] } }
  expect(await ask(encoded(`ada:${password}`))).toEqual(ada)
  const begin = performance.now()
  for (let n = 0; n < 20; n++) expect(await ask(encoded(`ada:${password}`))).toEqual(ada)
  // One check takes longer than this.
  expect(performance.now() - begin).toBeLessThan(20 * 20)
})

it.each([
  ['a wrong password', encoded('ada:wrong')],
  ['a name that nobody has', encoded(`bob:${password}`)],
  ['a name of every object', encoded(`constructor:${password}`)],
  ['no colon', encoded('ada')],
  ['something else than UTF-8', Buffer.from([0xff, 0x3a, 0xff]).toString('base64')],
  ['something else than Base64', 'a'],
  ['two headers', `${encoded(`ada:${password}`)}, Basic ${encoded('x:y')}`],
])('refuses %s', async (_, credentials) => {
  expect(await ask(credentials)).toHaveProperty('refused')
})

it('does not let itself be kept busy without a bound', async () => {
  const asked = Array.from({ length: 40 }, async (_, n) => await ask(encoded(`ada:${n}`)))
  const settled = await Promise.allSettled(asked)
  const busy = settled.filter(({ status }) => status === 'rejected')
  expect(busy.length).toBeGreaterThan(0)
  for (const each of busy) expect(each).toMatchObject({ reason: { code: 'unavailable', retryAfter: 1 } })
})

it('leaves other schemes of HTTP to others', async () => {
  expect(await scheme.authenticate(presented({ headers: { authorization: 'Bearer x' } }))).toBeUndefined()
  expect(await scheme.authenticate(presented())).toBeUndefined()
})

it('takes no password that is not hashed', () => {
  expect(() => basic({ users: { ada: { password: 'secret' } } })).toThrow('password of ada as hashPassword gives it')
  expect(() => basic({ users: {} })).toThrow('at least one user')
})
