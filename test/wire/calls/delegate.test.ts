import { expect, it, onTestFinished } from 'vitest'
import { createHandler } from '../../../src/core/server/handler.ts'
import { apiKey, hashApiKey, jwt, newApiKey, tokenExchange } from '../../../src/entries/auth.ts'
import { connect } from '../../../src/entries/client.ts'
import { bearer } from '../../../src/entries/client-auth.ts'
import { agent, createMemoryLog } from '../../../src/entries/index.ts'
import { callOf } from '../../support/agents/test-runtime.ts'
import { until } from '../../support/async.ts'
import { agentClient, startTokenExchangeServer } from '../../support/auth/token-exchange-server.ts'
import { audience, startIssuer } from '../../support/auth/token-issuer.ts'
import { silentLogger } from '../../support/logger.ts'

const filesAudience = 'https://files.test'

async function setUp(options: Partial<Parameters<typeof tokenExchange>[0]> = {}) {
  const issuer = await startIssuer()
  const server = await startTokenExchangeServer(issuer)
  const exchange = tokenExchange({ tokenUrl: server.tokenUrl, ...agentClient, ...options })
  const schemeFor = (aud: string) => jwt({ issuer: issuer.url, audience: aud, keys: { url: issuer.keysUrl } })
  return { issuer, server, exchange, schemeFor, auth: { schemes: { corp: schemeFor(audience) }, exchange } }
}

it('a turn calls another agent on behalf of its caller with a token for that agent only', async () => {
  const { issuer, server, auth, schemeFor } = await setUp()
  const files = createHandler(
    agent({ name: 'Files' }, async ({ principal }) => {
      return `${principal.id} may ${principal.scopes?.join()}, by ${JSON.stringify(principal.claims?.act)}`
    }),
    { auth: { schemes: { corp: schemeFor(filesAudience) } }, logger: silentLogger },
  )
  const planner = createHandler(
    agent({ name: 'Planner' }, async (turn) => {
      const credentials = bearer(() => turn.delegate(filesAudience, ['read']))
      const answers = [
        await turn.call(files, 'list', { auth: [credentials] }),
        await turn.call(files, 'list', { auth: [credentials] }),
      ]
      return answers.map(({ text }) => text).join(' / ')
    }),
    { auth, logger: silentLogger },
  )
  const client = await connect(planner, { auth: [bearer(await issuer.token({ sub: 'alice' }))] })
  const { text } = await client.send('go')
  const answer = 'alice may read, by {"sub":"agent"}'
  expect(text).toBe(`${answer} / ${answer}`)
  // A valid token is requested once.
  expect(server.tokenRequests).toHaveLength(1)
})

it('clientAuthentication post sends the secret in the form, and target resource names a resource', async () => {
  const { issuer, server, auth } = await setUp({ clientAuthentication: 'post', target: 'resource' })
  const planner = agent(
    { name: 'Planner' },
    async (turn) => `${(await turn.delegate(filesAudience)).split('.').length}`,
  )
  const handler = createHandler(planner, { auth, logger: silentLogger })
  const client = await connect(handler, { auth: [bearer(await issuer.token())] })
  expect((await client.send('go')).text).toBe('3')
  expect(server.tokenRequests).toMatchObject([{ resource: filesAudience, client_id: 'agent' }])
})

it('a new token is requested before the old one expires, and one per caller', async () => {
  const { issuer, server, auth } = await setUp()
  server.expiresIn = 0.05
  const tokens = new Set<string>()
  const handler = createHandler(
    agent({ name: 'Planner' }, async (turn) => {
      for (const audience of ['a', 'b']) tokens.add(await turn.delegate(audience))
      const end = Date.now() + 50
      await until(() => Date.now() > end)
      tokens.add(await turn.delegate('a'))
    }),
    { auth, logger: silentLogger },
  )
  for (const sub of ['alice', 'bob']) {
    await (await connect(handler, { auth: [bearer(await issuer.token({ sub }))] })).send('go')
  }
  expect([tokens.size, server.tokenRequests.length]).toEqual([6, 6])
})

it.each([
  ['rejects a scope that the caller does not have', undefined, 'invalid_scope'],
  ['returns an unknown error code', { status: 400, body: { error: 'secret-word' } }, 'an error code of its own'],
  [
    'returns a token of another type',
    { status: 200, body: { access_token: 'x', token_type: 'mac' } },
    'no bearer token',
  ],
  ['returns no JSON object', { status: 200, body: 'nonsense' }, 'gives no token for this'],
])('delegate fails with a clear message when the token endpoint %s', async (_, response, problem) => {
  const { issuer, server, auth } = await setUp()
  if (response) server.responses.push(response)
  const planner = agent({ name: 'Planner' }, async (turn) => await turn.delegate(filesAudience, ['everything']))
  const handler = createHandler(planner, { auth, logger: silentLogger })
  const { text, task } = await (await connect(handler, { auth: [bearer(await issuer.token())] })).send('go')
  expect(task?.status.state).toBe('failed')
  expect(text).toContain(problem)
  expect(text).not.toContain('secret-word')
})

it('delegate fails with a clear message after a restart and for callers without a token', async () => {
  const { issuer, auth } = await setUp()
  const log = createMemoryLog()
  const planner = agent({ name: 'Planner', recovery: 'resume' }, async (turn) => {
    await turn.ask('Now?')
    return await turn.delegate(filesAudience).then(
      () => 'delegated',
      (error) => error.message,
    )
  })
  const start = () => {
    const handler = createHandler(planner, { auth, log, logger: silentLogger })
    onTestFinished(() => handler.drain(0))
    return handler
  }
  const token = await issuer.token()
  const question = await (await connect(start(), { auth: [bearer(token)] })).send('go')
  const { service } = start()
  const principal = { id: 'alice', grants: { corp: [] } }
  const message = { messageId: 'm', role: 'user', taskId: question.task?.id ?? '', parts: [{ text: 'yes' }] } as const
  const outcome = await service.sendMessage({ message }, callOf({ principal }))
  expect(JSON.stringify(outcome)).toContain('There is no token of the caller to act with')

  // An answer with a token makes delegation possible again.
  const again = await (await connect(start(), { auth: [bearer(token)] })).send('go')
  const after = await connect(start(), { auth: [bearer(token)] })
  expect((await after.send('yes', { taskId: again.task?.id ?? '' })).text).toBe('delegated')
})

it('delegate names the missing option if there is no token endpoint', async () => {
  const errors: string[] = []
  const planner = agent({ name: 'Planner' }, async (turn) => {
    await turn.delegate(filesAudience).catch((error) => errors.push(error.message))
  })
  await (await connect(planner)).send('go')
  expect(errors).toEqual([expect.stringContaining('auth: { exchange: tokenExchange(')])
  expect(() => tokenExchange({ ...agentClient, tokenUrl: 'http://login.example.com/token' })).toThrow('https://')
})

it('a token that was not accepted is not exchanged, even if other credentials were', async () => {
  const { issuer, server, auth } = await setUp()
  const key = newApiKey()
  const keys = [{ id: 'alice', scopes: [], hash: await hashApiKey(key) }]
  const handler = createHandler(
    agent({ name: 'Planner' }, async (turn) => turn.delegate(filesAudience).catch((error) => error.message)),
    { auth: { ...auth, schemes: { ...auth.schemes, key: apiKey({ keys }) } }, logger: silentLogger },
  )
  const other = await issuer.token({ aud: 'https://other.test' })
  const credentials = { headers: { 'x-api-key': key, authorization: `Bearer ${other}` } }
  const client = await connect(handler, { authorize: () => credentials })
  expect((await client.send('go')).text).toContain('There is no token of the caller')
  expect(server.tokenRequests).toEqual([])
})
