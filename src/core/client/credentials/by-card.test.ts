import { describe, expect, it } from 'vitest'
import {
  type AuthenticatingAgentOptions,
  startAuthenticatingAgent,
} from '../../../../test/support/servers/authenticating-agent.ts'
import { connect } from '../connect.ts'
import type { ConnectOptions } from '../options.ts'
import { apiKeyCredentials, basicCredentials, bearer, certificateCredentials } from './static-credentials.ts'

const schemes = {
  key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
  param: { apiKeySecurityScheme: { location: 'query', name: 'key' } },
  crumb: { apiKeySecurityScheme: { location: 'cookie', name: 'crumb' } },
  other: { apiKeySecurityScheme: { location: 'cookie', name: 'other' } },
  user: { httpAuthSecurityScheme: { scheme: 'Basic' } },
  jwt: { httpAuthSecurityScheme: { scheme: 'bearer' } },
  tls: { mtlsSecurityScheme: {} },
}

/** A card that requires one of these lists of schemes. */
function requiring(...alternatives: readonly (readonly (keyof typeof schemes)[])[]) {
  const securityRequirements = alternatives.map((names) => ({
    schemes: Object.fromEntries(names.map((name) => [name, {}])),
  }))
  return () => ({ securitySchemes: schemes, securityRequirements })
}

const secret = 'planted-secret-5f2c'

const cases: readonly (readonly [string, AuthenticatingAgentOptions, NonNullable<ConnectOptions['auth']>])[] = [
  [
    'an API key in a header',
    { card: requiring(['key']), accepts: ({ headers }) => headers['x-key'] === secret },
    [apiKeyCredentials(secret)],
  ],
  [
    'an API key in the query',
    { card: requiring(['param']), accepts: (_, url) => url.searchParams.get('key') === secret },
    [apiKeyCredentials(secret)],
  ],
  [
    'an API key in a cookie',
    { card: requiring(['crumb']), accepts: ({ headers }) => headers.cookie === `crumb=${secret}` },
    [apiKeyCredentials(secret)],
  ],
  [
    'a user name and a password',
    {
      card: requiring(['user']),
      accepts: ({ headers }) => headers.authorization === `Basic ${Buffer.from(`ä:${secret}`).toString('base64')}`,
    },
    [basicCredentials({ username: 'ä', password: secret })],
  ],
  [
    'a bearer token that is computed for every request',
    { card: requiring(['jwt']), accepts: ({ headers }) => headers.authorization === `Bearer ${secret}` },
    [bearer(async () => secret)],
  ],
  [
    'credentials for several schemes at once',
    {
      card: requiring(['key', 'crumb', 'other', 'jwt', 'tls']),
      accepts: ({ headers }) =>
        headers['x-key'] === secret && headers.cookie === 'crumb=1; other=2' && headers.authorization === 'Bearer 3',
    },
    [
      certificateCredentials(),
      bearer('3'),
      apiKeyCredentials('2', { name: 'other' }),
      apiKeyCredentials('1', { in: 'cookie' }),
      apiKeyCredentials(secret),
    ],
  ],
  [
    'the first requirement for which there are credentials',
    {
      card: requiring(['tls', 'key'], ['user'], ['jwt']),
      accepts: ({ headers }) => headers.authorization?.startsWith('Basic') === true,
    },
    [bearer('1'), basicCredentials({ username: 'a', password: 'b' }), apiKeyCredentials('c')],
  ],
  [
    'a scheme that the card does not require, after a challenge',
    {
      card: () => ({ securitySchemes: { jwt: schemes.jwt } }),
      accepts: ({ headers }) => headers.authorization === `Bearer ${secret}`,
    },
    [bearer(secret)],
  ],
  [
    'the scheme of the challenge, if the card names none',
    {
      accepts: ({ headers }) => headers.authorization?.startsWith('Basic') === true,
      challenge: 'Basic realm="x", charset="UTF-8"',
    },
    [bearer('1'), basicCredentials({ username: 'a', password: 'b' })],
  ],
  [
    'credentials for the card itself',
    {
      card: requiring(['jwt']),
      isCardProtected: true,
      accepts: ({ headers }) => headers.authorization === `Bearer ${secret}`,
      challenge: 'Newauth realm="a, b", Bearer realm="x"',
    },
    [basicCredentials({ username: 'a', password: 'b' }), bearer(secret)],
  ],
  [
    'an API key for the card itself, by its configured name',
    {
      card: requiring(['key']),
      isCardProtected: true,
      accepts: ({ headers }) => headers['x-key'] === secret,
      challenge: 'ApiKey',
    },
    [apiKeyCredentials(secret, { name: 'X-Key' })],
  ],
]

for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
  describe(`byCard over ${binding}`, () => {
    it.each(cases)('the client sends %s', async (_, gate, auth) => {
      const { origin } = await startAuthenticatingAgent({ binding, ...gate })
      const client = await connect(origin, { auth })
      expect((await client.send('Hello')).text).toBe('Welcome')
      const events = await Array.fromAsync(client.stream('Hello'))
      expect(events.at(-1)).toMatchObject({ type: 'message' })
      expect(JSON.stringify(client.explain())).not.toContain(secret)
    })
  })
}

describe('credentials', () => {
  it('credentials are not sent to an agent that does not require them', async () => {
    const received: (string | undefined)[] = []
    const accepts: AuthenticatingAgentOptions['accepts'] = ({ headers }) => received.push(headers.authorization) > 0
    const { origin } = await startAuthenticatingAgent({ accepts })
    await (await connect(origin, { auth: [bearer(secret)] })).send('Hello')
    expect(received).toEqual([undefined])
  })

  it('rejected credentials are sent once more if they have changed', async () => {
    let token = 'old'
    const { origin, requestLines } = await startAuthenticatingAgent({
      card: requiring(['jwt']),
      accepts: ({ headers }) => headers.authorization === 'Bearer new',
    })
    const client = await connect(origin, { auth: [bearer(() => token)] })
    const failure = await client.send('Hello').catch((error) => error)
    expect(failure).toMatchObject({ code: 'unauthenticated', reason: 'credentials-refused' })
    expect(requestLines).toEqual(['POST / 401'])
    const changing = await connect(origin, {
      auth: [
        bearer(() => {
          const current = token
          token = 'new'
          return current
        }),
      ],
    })
    expect((await changing.send('Hello')).text).toBe('Welcome')
    expect(requestLines).toEqual(['POST / 401', 'POST / 401', 'POST / 200'])
  })

  it('credentials that do not fit are an error that names what the agent requires', async () => {
    const { origin } = await startAuthenticatingAgent({
      card: requiring(['user'], ['key', 'tls']),
      accepts: () => false,
    })
    const failure = await (await connect(origin, { auth: [bearer(secret)] })).send('Hello').catch((error) => error)
    expect(failure).toMatchObject({ code: 'unauthenticated', reason: 'credentials-unfit' })
    expect(failure.message).toContain('user (HTTP Basic), or key (API key in the header X-Key) and tls (mutual TLS)')
    const protectedAgent = await startAuthenticatingAgent({ isCardProtected: true, accepts: () => false })
    const cardFailure = await connect(protectedAgent.origin, { auth: [apiKeyCredentials(secret)] }).catch(
      (error) => error,
    )
    expect(cardFailure).toMatchObject({ code: 'unauthenticated', reason: 'credentials-unfit' })
  })

  it('errors about credentials do not contain them', async () => {
    const { origin } = await startAuthenticatingAgent({ card: requiring(['jwt'], ['key']), accepts: () => false })
    const failing = () => {
      throw new Error(`no ${secret}`)
    }
    for (const [auth, reason] of [
      [bearer(`${secret}\n`), 'credentials-malformed'],
      [bearer(''), 'credentials-malformed'],
      [apiKeyCredentials(`${secret}\r\nx: y`), 'credentials-malformed'],
      [bearer(failing), 'credentials-failed'],
      [bearer(secret), 'credentials-refused'],
    ] as const) {
      const client = await connect(origin, { auth: [auth] })
      const failure = await client.send('Hello').catch((error) => error)
      expect(failure).toMatchObject({ code: 'unauthenticated', reason })
      expect(
        JSON.stringify([failure.message, failure.hint, failure.metadata, failure, client.explain()]),
      ).not.toContain(secret)
    }
  })

  it('a call ends at its timeout while credentials are pending', async () => {
    const { origin } = await startAuthenticatingAgent({ card: requiring(['jwt']), accepts: () => true })
    const client = await connect(origin, { auth: [bearer(() => new Promise<string>(() => {}))] })
    await expect(client.send('Hello', { timeout: 50 })).rejects.toMatchObject({ code: 'timeout', reason: 'deadline' })
  })
})
