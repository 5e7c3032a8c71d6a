import { describe, expect, it } from 'vitest'
import { credentialsIn } from '../../test/support/auth/request-credentials.ts'
import { silentLogger } from '../../test/support/logger.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { AuthOptions } from './auth.ts'
import { createAuth } from './auth.ts'
import type { Scheme } from './scheme.ts'
import { custom } from './schemes/custom.ts'

/** Believes whatever stands in a header: `id scope scope`, or refuses `bad`. */
function believing(name: string): Scheme {
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

const one = believing('one')
const two = believing('two')

async function ask(options: AuthOptions, headers: Readonly<Record<string, string>>) {
  return await createAuth(options, { realm: 'Ada', logger: silentLogger }).authenticate(credentialsIn({ headers }))
}

async function refusalOf(options: AuthOptions, headers: Readonly<Record<string, string>>): Promise<A2AError> {
  return await ask(options, headers).then(
    (principal) => Promise.reject(new Error(`expected a refusal, got ${JSON.stringify(principal)}`)),
    (error: A2AError) => error,
  )
}

describe('one of several schemes', () => {
  const options = { schemes: { one, two } }

  it('is enough, and the first that holds says who it is', async () => {
    expect(await ask(options, { one: 'ada read' })).toEqual({ id: 'ada', scopes: ['read'], grants: { one: ['read'] } })
    expect(await ask(options, { two: 'bob' })).toMatchObject({ id: 'bob', grants: { two: [] } })
    expect(await ask(options, { one: 'ada a', two: 'bob a b' })).toEqual({
      id: 'ada',
      scopes: ['a', 'b'],
      grants: { one: ['a'], two: ['a', 'b'] },
    })
    expect(await ask(options, { one: 'bad', two: 'bob' })).toMatchObject({ id: 'bob', grants: { two: [] } })
  })

  it('is asked for by a challenge each', async () => {
    const refusal = await refusalOf(options, {})
    expect(refusal).toMatchObject({ code: 'unauthenticated', challenge: 'one realm="Ada", two realm="Ada"' })
    expect(refusal.message).toContain('one, two')
  })

  it('is refused without a word of why', async () => {
    const refusal = await refusalOf(options, { one: 'bad' })
    const challenge = 'one realm="Ada", error="invalid_token", two realm="Ada", error="invalid_token"'
    expect(refusal).toMatchObject({ code: 'unauthenticated', message: 'The credentials were not accepted.', challenge })
  })
})

describe('several schemes together', () => {
  const options: AuthOptions = { schemes: { one, two }, require: [{ one: ['read'], two: [] }, { two: ['root'] }] }

  it('must all be met, each with its scopes', async () => {
    expect(await ask(options, { one: 'ada read', two: 'host' })).toMatchObject({ id: 'ada' })
    expect(await ask(options, { two: 'bob root' })).toMatchObject({ id: 'bob' })
  })

  it('are asked for if one is missing', async () => {
    expect(await refusalOf(options, { one: 'ada read' })).toMatchObject({ code: 'unauthenticated' })
  })

  it('do not lend each other their scopes', async () => {
    const refusal = await refusalOf(options, { one: 'ada', two: 'host read' })
    expect(refusal).toMatchObject({ code: 'forbidden', metadata: { missingScopes: 'read' } })
    expect(refusal.challenge).toContain('error="insufficient_scope"')
    expect(refusal.challenge).toContain('scope="read"')
    expect(refusal.message).toBe('Insufficient permissions: missing the scope read.')
  })
})

describe('callers without credentials', () => {
  it('are let in only where that is declared', async () => {
    expect(await ask({ schemes: { one }, anonymous: true }, {})).toEqual({ id: 'anonymous' })
    expect(await refusalOf({ schemes: { one } }, {})).toMatchObject({ code: 'unauthenticated' })
  })

  it('are not those whose credentials are wrong, or of a kind that nobody knows', async () => {
    const options = { schemes: { one }, anonymous: true }
    expect(await refusalOf(options, { one: 'bad' })).toMatchObject({ code: 'unauthenticated' })
    expect(await refusalOf(options, { authorization: 'Digest x' })).toMatchObject({ code: 'unauthenticated' })
  })

  it.each(['anonymous', '', 'a\u0000b', 'a\u001fb', 'x'.repeat(513)])('cannot be named %j by a scheme', async (id) => {
    const scheme = custom({ card: { type: 'http', scheme: 'x' }, authenticate: () => ({ id }) })
    expect(await refusalOf({ schemes: { scheme } }, {})).toMatchObject({ code: 'unauthenticated' })
  })
})

it('refuses when a scheme throws, and tells the operator and nobody else', async () => {
  const told: object[] = []
  const logger = { ...silentLogger, error: (fields: object) => told.push(fields) }
  const scheme = custom({
    card: { type: 'http', scheme: 'x' },
    authenticate() {
      throw new Error('the directory is down')
    },
  })
  const { authenticate } = createAuth({ schemes: { scheme } }, { realm: 'Ada', logger })
  await expect(authenticate(credentialsIn())).rejects.toMatchObject({
    code: 'unauthenticated',
    message: 'The credentials were not accepted.',
  })
  expect(told).toMatchObject([{ scheme: 'scheme', error: { message: 'the directory is down' } }])
})

it('says on cards that nobody needs credentials where that is so', () => {
  const { security, securitySchemes } = createAuth(
    { schemes: { one }, anonymous: true },
    { realm: 'x', logger: silentLogger },
  )
  expect(security).toEqual([{ one: [] }, {}])
  expect(securitySchemes).toEqual({ one: { type: 'http', scheme: 'one' } })
})

it('quotes the realm so that it stays one', async () => {
  const { authenticate } = createAuth({ schemes: { one } }, { realm: 'A "B"\\ é\r\nx: y', logger: silentLogger })
  await expect(async () => await authenticate(credentialsIn())).rejects.toMatchObject({
    challenge: 'one realm="A \\"B\\"\\\\ ???x: y"',
  })
})

const issuing = (authority: string): Scheme => ({ ...one, authority })

it.each<[string, AuthOptions, string]>([
  ['nothing', {}, 'expected some schemes'],
  ['a requirement of an unknown scheme', { schemes: { one }, require: [{ ona: [] }] }, 'no scheme ona, but one'],
  ['an empty requirement', { schemes: { one }, require: [{}] }, 'anonymous: true'],
  ['no requirement', { schemes: { one }, require: [] }, 'at least one'],
  ['two issuers of ids', { schemes: { a: issuing('https://a'), b: issuing('https://b') } }, 'idPrefix'],
])('takes no declaration of %s', (_, options, problem) => {
  expect(() => createAuth(options, { realm: 'x', logger: silentLogger })).toThrow(problem)
})
