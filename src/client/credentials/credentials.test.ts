import { describe, expect, it } from 'vitest'
import {
  type AuthenticatingAgentOptions,
  startAuthenticatingAgent,
} from '../../../test/support/servers/authenticating-agent.ts'
import { createLocalHandler } from '../../../test/support/servers/local-handler.ts'
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

/** Requires one of these lists of schemes. */
function asking(...alternatives: readonly (readonly (keyof typeof schemes)[])[]) {
  const securityRequirements = alternatives.map((names) => ({
    schemes: Object.fromEntries(names.map((name) => [name, {}])),
  }))
  return () => ({ securitySchemes: schemes, securityRequirements })
}

const secret = 'planted-secret-5f2c'

const cases: readonly (readonly [string, AuthenticatingAgentOptions, NonNullable<ConnectOptions['auth']>])[] = [
  [
    'an API key in a header',
    { card: asking(['key']), admits: ({ headers }) => headers['x-key'] === secret },
    [apiKeyCredentials(secret)],
  ],
  [
    'one in the query',
    { card: asking(['param']), admits: (_, url) => url.searchParams.get('key') === secret },
    [apiKeyCredentials(secret)],
  ],
  [
    'one in a cookie',
    { card: asking(['crumb']), admits: ({ headers }) => headers.cookie === `crumb=${secret}` },
    [apiKeyCredentials(secret)],
  ],
  [
    'a name and a password',
    {
      card: asking(['user']),
      admits: ({ headers }) => headers.authorization === `Basic ${Buffer.from(`ä:${secret}`).toString('base64')}`,
    },
    [basicCredentials({ username: 'ä', password: secret })],
  ],
  [
    'a bearer token that is made for every request',
    { card: asking(['jwt']), admits: ({ headers }) => headers.authorization === `Bearer ${secret}` },
    [bearer(async () => secret)],
  ],
  [
    'several at once',
    {
      card: asking(['key', 'crumb', 'other', 'jwt', 'tls']),
      admits: ({ headers }) =>
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
    'the first of several ways that can be gone',
    {
      card: asking(['tls', 'key'], ['user'], ['jwt']),
      admits: ({ headers }) => headers.authorization?.startsWith('Basic') === true,
    },
    [bearer('1'), basicCredentials({ username: 'a', password: 'b' }), apiKeyCredentials('c')],
  ],
  [
    'what a card has that requires nothing, once it is asked for',
    {
      card: () => ({ securitySchemes: { jwt: schemes.jwt } }),
      admits: ({ headers }) => headers.authorization === `Bearer ${secret}`,
    },
    [bearer(secret)],
  ],
  [
    'what is asked for by a card that says nothing',
    {
      admits: ({ headers }) => headers.authorization?.startsWith('Basic') === true,
      challenge: 'Basic realm="x", charset="UTF-8"',
    },
    [bearer('1'), basicCredentials({ username: 'a', password: 'b' })],
  ],
  [
    'what is needed to see the card itself',
    {
      card: asking(['jwt']),
      isCardGated: true,
      admits: ({ headers }) => headers.authorization === `Bearer ${secret}`,
      challenge: 'Newauth realm="a, b", Bearer realm="x"',
    },
    [basicCredentials({ username: 'a', password: 'b' }), bearer(secret)],
  ],
  [
    'a key to see the card, by the name that it was given',
    {
      card: asking(['key']),
      isCardGated: true,
      admits: ({ headers }) => headers['x-key'] === secret,
      challenge: 'ApiKey',
    },
    [apiKeyCredentials(secret, { name: 'X-Key' })],
  ],
]

for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
  describe(`credentials by card over ${binding}`, () => {
    it.each(cases)('are %s', async (_, gate, auth) => {
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
  it('are not sent unasked', async () => {
    const seen: (string | undefined)[] = []
    const admits: AuthenticatingAgentOptions['admits'] = ({ headers }) => seen.push(headers.authorization) > 0
    const { origin } = await startAuthenticatingAgent({ admits })
    await (await connect(origin, { auth: [bearer(secret)] })).send('Hello')
    expect(seen).toEqual([undefined])
  })

  it('are tried once more when they are refused, if they have changed', async () => {
    let token = 'old'
    const { origin, asked } = await startAuthenticatingAgent({
      card: asking(['jwt']),
      admits: ({ headers }) => headers.authorization === 'Bearer new',
    })
    const client = await connect(origin, { auth: [bearer(() => token)] })
    const failure = await client.send('Hello').catch((error) => error)
    expect(failure).toMatchObject({ code: 'unauthenticated', reason: 'credentials-refused' })
    expect(asked).toEqual(['POST / 401'])
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
    expect(asked).toEqual(['POST / 401', 'POST / 401', 'POST / 200'])
  })

  it('that do not fit are told, with what the agent asks for', async () => {
    const { origin } = await startAuthenticatingAgent({ card: asking(['user'], ['key', 'tls']), admits: () => false })
    const failure = await (await connect(origin, { auth: [bearer(secret)] })).send('Hello').catch((error) => error)
    expect(failure).toMatchObject({ code: 'unauthenticated', reason: 'credentials-unfit' })
    expect(failure.message).toContain('user (HTTP Basic), or key (API key in the header X-Key) and tls (mutual TLS)')
    const gated = await startAuthenticatingAgent({ isCardGated: true, admits: () => false })
    const early = await connect(gated.origin, { auth: [apiKeyCredentials(secret)] }).catch((error) => error)
    expect(early).toMatchObject({ code: 'unauthenticated', reason: 'credentials-unfit' })
  })

  it('that fail or are malformed are told without what they are', async () => {
    const { origin } = await startAuthenticatingAgent({ card: asking(['jwt'], ['key']), admits: () => false })
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

  it('do not keep a caller who leaves', async () => {
    const { origin } = await startAuthenticatingAgent({ card: asking(['jwt']), admits: () => true })
    const client = await connect(origin, { auth: [bearer(() => new Promise<string>(() => {}))] })
    await expect(client.send('Hello', { timeout: 50 })).rejects.toMatchObject({ code: 'timeout', reason: 'deadline' })
  })
})

describe('a task that needs credentials', () => {
  const handler = () =>
    createLocalHandler(async (turn) => {
      await turn.status('auth-required', [
        { text: 'Sign in first' },
        { data: { schemes: ['Bearer'], login: { href: 'https://login.example/start' } } },
        { url: 'https://help.example/' },
      ])
    })
  const needs = {
    text: 'Sign in first',
    schemes: ['Bearer'],
    urls: ['https://help.example/', 'https://login.example/start'],
    details: [{ schemes: ['Bearer'], login: { href: 'https://login.example/start' } }],
  }

  it('says so in an event, with what is needed', async () => {
    const client = await connect(handler())
    const found = []
    for await (const event of client.stream('Hello')) {
      if (event.authRequired) {
        found.push(event.authRequired)
        break
      }
    }
    expect(found).toEqual([needs])
  })

  it('says so in a reply, and when it is followed later', async () => {
    const client = await connect(handler())
    const reply = await client.send('Hello')
    if (reply.type !== 'task') throw new Error('it is no task')
    expect(reply.authRequired).toEqual(needs)
    for await (const event of client.task(reply.task.id).subscribe()) {
      expect(event.authRequired).toEqual(needs)
      break
    }
  })
})
