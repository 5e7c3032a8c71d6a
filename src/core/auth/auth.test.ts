import { describe, expect, it } from 'vitest'
import { credentialsIn } from '../../../test/support/auth/request-credentials.ts'
import { silentLogger } from '../../../test/support/logger.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { AuthOptions } from './auth.ts'
import { createAuth } from './auth.ts'
import type { AuthSuccess, Scheme } from './scheme.ts'
import { custom } from './schemes/custom.ts'

/** Reads the principal from a header as `id scope scope`, and rejects `bad`. */
function headerScheme(name: string): Scheme {
  return custom({
    card: { type: 'http', scheme: name },
    authenticate({ header }) {
      const value = header(name)
      if (value === undefined) return undefined
      const [id = '', ...scopes] = value.split(' ')
      return id === 'bad' ? false : { id, scopes }
    },
  })
}

const one = headerScheme('one')
const two = headerScheme('two')

async function authenticate(options: AuthOptions, headers: Readonly<Record<string, string>>) {
  return await createAuth(options, { realm: 'Ada', logger: silentLogger }).authenticate(credentialsIn({ headers }))
}

async function errorOf(options: AuthOptions, headers: Readonly<Record<string, string>>): Promise<A2AError> {
  return await authenticate(options, headers).then(
    (principal) => Promise.reject(new Error(`expected an error, got ${JSON.stringify(principal)}`)),
    (error: A2AError) => error,
  )
}

describe('a scheme that does not answer', () => {
  const silent = custom({ card: { type: 'http', scheme: 'silent' }, authenticate: () => new Promise(() => {}) })

  it('the caller is rejected after the timeout, and the operator gets the reason', async () => {
    const errors: object[] = []
    const logger = { ...silentLogger, error: (fields: object) => void errors.push(fields) }
    const auth = createAuth({ schemes: { silent }, timeout: 20 }, { realm: 'Ada', logger })
    await expect(auth.authenticate(credentialsIn())).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(errors).toMatchObject([{ scheme: 'silent', error: { message: 'no answer within 0.02 seconds' } }])
  })

  it('credentials of another scheme are accepted', async () => {
    expect(await authenticate({ schemes: { silent, one }, timeout: 20 }, { one: 'ada' })).toMatchObject({ id: 'ada' })
  })

  it('a caller is not accepted as anonymous instead', async () => {
    const error = await errorOf({ schemes: { silent }, anonymous: true, timeout: 20 }, {})
    expect(error.code).toBe('unauthenticated')
  })

  it('a timeout that is no duration is an error', () => {
    for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '10s' as never]) {
      expect(() => createAuth({ schemes: { one }, timeout }, { realm: 'Ada', logger: silentLogger })).toThrow(
        'auth.timeout: expected milliseconds',
      )
    }
  })

  it('null instead of a principal is a wrong credential', async () => {
    const unknown = custom({ card: { type: 'http', scheme: 'x' }, authenticate: () => null as never })
    expect((await errorOf({ schemes: { unknown }, anonymous: true }, {})).code).toBe('unauthenticated')
  })
})

describe('several schemes', () => {
  const options = { schemes: { one, two } }

  it('one scheme is enough, and the first that succeeds determines the principal', async () => {
    expect(await authenticate(options, { one: 'ada read' })).toEqual({
      id: 'ada',
      scopes: ['read'],
      grants: { one: ['read'] },
    })
    expect(await authenticate(options, { two: 'bob' })).toMatchObject({ id: 'bob', grants: { two: [] } })
    expect(await authenticate(options, { one: 'ada a', two: 'bob a b' })).toEqual({
      id: 'ada',
      scopes: ['a', 'b'],
      grants: { one: ['a'], two: ['a', 'b'] },
    })
    expect(await authenticate(options, { one: 'bad', two: 'bob' })).toMatchObject({ id: 'bob', grants: { two: [] } })
  })

  it('every scheme has its challenge', async () => {
    const error = await errorOf(options, {})
    expect(error).toMatchObject({ code: 'unauthenticated', challenge: 'one realm="Ada", two realm="Ada"' })
    expect(error.message).toContain('one, two')
  })

  it('the error does not say why the credentials were rejected', async () => {
    const error = await errorOf(options, { one: 'bad' })
    const challenge = 'one realm="Ada", error="invalid_token", two realm="Ada", error="invalid_token"'
    expect(error).toMatchObject({ code: 'unauthenticated', message: 'The credentials were not accepted.', challenge })
  })
})

describe('a requirement of several schemes', () => {
  const options: AuthOptions = { schemes: { one, two }, require: [{ one: ['read'], two: [] }, { two: ['root'] }] }

  it('a caller must meet all of them, each with its scopes', async () => {
    expect(await authenticate(options, { one: 'ada read', two: 'host' })).toMatchObject({ id: 'ada' })
    expect(await authenticate(options, { two: 'bob root' })).toMatchObject({ id: 'bob' })
  })

  it('a missing scheme is challenged', async () => {
    expect(await errorOf(options, { one: 'ada read' })).toMatchObject({ code: 'unauthenticated' })
  })

  it('the scopes of one scheme do not count for another', async () => {
    const error = await errorOf(options, { one: 'ada', two: 'host read' })
    expect(error).toMatchObject({ code: 'forbidden', metadata: { missingScopes: 'read' } })
    expect(error.challenge).toContain('error="insufficient_scope"')
    expect(error.challenge).toContain('scope="read"')
    expect(error.message).toBe('Insufficient permissions: missing the scope read.')
  })
})

describe('callers without credentials', () => {
  it('callers without credentials are accepted only where that is declared', async () => {
    expect(await authenticate({ schemes: { one }, anonymous: true }, {})).toEqual({ id: 'anonymous' })
    expect(await errorOf({ schemes: { one } }, {})).toMatchObject({ code: 'unauthenticated' })
  })

  it('callers with wrong or unknown credentials are not anonymous', async () => {
    const options = { schemes: { one }, anonymous: true }
    expect(await errorOf(options, { one: 'bad' })).toMatchObject({ code: 'unauthenticated' })
    expect(await errorOf(options, { authorization: 'Digest x' })).toMatchObject({ code: 'unauthenticated' })
  })

  it.each(['anonymous', '', 'a\u0000b', 'a\u001fb', 'x'.repeat(513)])(
    'a scheme cannot return the id %j',
    async (id) => {
      const scheme = custom({ card: { type: 'http', scheme: 'x' }, authenticate: () => ({ id }) })
      expect(await errorOf({ schemes: { scheme } }, {})).toMatchObject({ code: 'unauthenticated' })
    },
  )
})

it('an error of a scheme rejects the caller and is logged', async () => {
  const logged: object[] = []
  const logger = { ...silentLogger, error: (fields: object) => logged.push(fields) }
  const scheme = custom({
    card: { type: 'http', scheme: 'x' },
    authenticate() {
      throw new Error('the directory is down')
    },
  })
  const auth = createAuth({ schemes: { scheme } }, { realm: 'Ada', logger })
  await expect(auth.authenticate(credentialsIn())).rejects.toMatchObject({
    code: 'unauthenticated',
    message: 'The credentials were not accepted.',
  })
  expect(logged).toMatchObject([{ scheme: 'scheme', error: { message: 'the directory is down' } }])
})

/** Accepts requests with a header, each with the same result. */
const resultFor = (header: string, result: AuthSuccess): Scheme => ({
  ...one,
  authenticate: (request) => (request.header(header) === undefined ? undefined : result),
})

it('what was decided about a result of one scheme does not count for another scheme', async () => {
  const admin = { principal: { id: 'admin' }, isKept: true } as const
  const schemes = { strong: resultFor('x-strong', admin), weak: resultFor('x-weak', admin) }
  const auth = createAuth({ schemes, require: [{ strong: [] }] }, { realm: 'x', logger: silentLogger })
  const requestWith = (...names: readonly string[]) =>
    credentialsIn({ headers: Object.fromEntries(names.map((name) => [name, 'x'])) })
  const strong = await auth.authenticate(requestWith('x-strong'))
  expect(strong).toMatchObject({ id: 'admin', grants: { strong: [] } })
  expect(await auth.authenticate(requestWith('x-strong'))).toBe(strong)
  for (let repeated = 0; repeated < 2; repeated++) {
    await expect(async () => await auth.authenticate(requestWith('x-weak'))).rejects.toMatchObject({
      code: 'unauthenticated',
    })
  }
  expect(await auth.authenticate(requestWith('x-weak', 'x-strong'))).toMatchObject({ grants: { strong: [], weak: [] } })
})

it('a scheme that changes the result it returns is asked again each time', async () => {
  const user = { id: 'ada', scopes: ['write'] }
  const auth = createAuth(
    { schemes: { one: resultFor('one', { principal: user }) }, require: [{ one: ['write'] }] },
    { realm: 'x', logger: silentLogger },
  )
  const request = credentialsIn({ headers: { one: 'x' } })
  const first = await auth.authenticate(request)
  expect(await auth.authenticate(request)).not.toBe(first)
  user.scopes = []
  await expect(async () => await auth.authenticate(request)).rejects.toMatchObject({ code: 'forbidden' })
})

it('the card says that credentials are optional where they are', () => {
  const { security, securitySchemes } = createAuth(
    { schemes: { one }, anonymous: true },
    { realm: 'x', logger: silentLogger },
  )
  expect(security).toEqual([{ one: [] }, {}])
  expect(securitySchemes).toEqual({ one: { type: 'http', scheme: 'one' } })
})

it('the realm is quoted in a challenge', async () => {
  const auth = createAuth({ schemes: { one } }, { realm: 'A "B"\\ é\r\nx: y', logger: silentLogger })
  await expect(async () => await auth.authenticate(credentialsIn())).rejects.toMatchObject({
    challenge: 'one realm="A \\"B\\"\\\\ ???x: y"',
  })
})

const schemeOf = (authority: string): Scheme => ({ ...one, authority })

it.each<[string, AuthOptions, string]>([
  ['no scheme', {}, 'expected some schemes'],
  ['a requirement of an unknown scheme', { schemes: { one }, require: [{ ona: [] }] }, 'no scheme ona, but one'],
  ['an empty requirement', { schemes: { one }, require: [{}] }, 'anonymous: true'],
  ['no requirement', { schemes: { one }, require: [] }, 'at least one'],
  ['two issuers of ids', { schemes: { a: schemeOf('https://a'), b: schemeOf('https://b') } }, 'idPrefix'],
])('%s in the options is an error', (_, options, problem) => {
  expect(() => createAuth(options, { realm: 'x', logger: silentLogger })).toThrow(problem)
})
