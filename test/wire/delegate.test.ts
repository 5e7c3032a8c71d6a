import { expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey, jwt, newApiKey, tokenExchange } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.ts'
import { bearer } from '../../src/entries/client-auth.ts'
import { agent, createMemoryLog } from '../../src/entries/index.ts'
import { createHandler } from '../../src/server/handler.ts'
import { callOf } from '../support/agents/test-runtime.ts'
import { until } from '../support/async.ts'
import { agentClient, startTokenExchangeServer } from '../support/auth/token-exchange-server.ts'
import { audience, startIssuer } from '../support/auth/token-issuer.ts'
import { silentLogger } from '../support/logger.ts'

const filesAudience = 'https://files.test'

async function setUp(options: Partial<Parameters<typeof tokenExchange>[0]> = {}) {
  const issuer = await startIssuer()
  const server = await startTokenExchangeServer(issuer)
  const exchange = tokenExchange({ tokenUrl: server.tokenUrl, ...agentClient, ...options })
  const schemeFor = (aud: string) => jwt({ issuer: issuer.url, audience: aud, keys: { url: issuer.keysUrl } })
  return { issuer, server, exchange, schemeFor, auth: { schemes: { corp: schemeFor(audience) }, exchange } }
}

it('asks another agent in the name of its caller, by a token that is only for that agent', async () => {
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
  const once = 'alice may read, by {"sub":"agent"}'
  expect(text).toBe(`${once} / ${once}`)
  // Within its life it is asked for once.
  expect(server.tokenRequests).toHaveLength(1)
})

it('shows its secret in the form if it is to, and names a resource', async () => {
  const { issuer, server, auth } = await setUp({ clientAuthentication: 'post', target: 'resource' })
  const made = agent({ name: 'Planner' }, async (turn) => `${(await turn.delegate(filesAudience)).split('.').length}`)
  const handler = createHandler(made, { auth, logger: silentLogger })
  const client = await connect(handler, { auth: [bearer(await issuer.token())] })
  expect((await client.send('go')).text).toBe('3')
  expect(server.tokenRequests).toMatchObject([{ resource: filesAudience, client_id: 'agent' }])
})

it('gets a new token when the old one is about to end, and another one for another caller', async () => {
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
  ['refuses a scope that its caller does not have', undefined, 'invalid_scope'],
  ['refuses in words of its own', { status: 400, body: { error: 'secret-word' } }, 'an error code of its own'],
  ['gives a token of another kind', { status: 200, body: { access_token: 'x', token_type: 'mac' } }, 'no bearer token'],
  ['answers with nonsense', { status: 200, body: 'nonsense' }, 'gives no token for this'],
])('says so when the token endpoint %s', async (_, answer, words) => {
  const { issuer, server, auth } = await setUp()
  if (answer) server.responses.push(answer)
  const made = agent({ name: 'Planner' }, async (turn) => await turn.delegate(filesAudience, ['everything']))
  const handler = createHandler(made, { auth, logger: silentLogger })
  const { text, task } = await (await connect(handler, { auth: [bearer(await issuer.token())] })).send('go')
  expect(task?.status.state).toBe('failed')
  expect(text).toContain(words)
  expect(text).not.toContain('secret-word')
})

it('says clearly that there is no token, after a restart and for callers who have none', async () => {
  const { issuer, auth } = await setUp()
  const log = createMemoryLog()
  const made = agent({ name: 'Planner', recovery: 'resume' }, async (turn) => {
    await turn.ask('Now?')
    return await turn.delegate(filesAudience).then(
      () => 'delegated',
      (error) => error.message,
    )
  })
  const start = () => {
    const handler = createHandler(made, { auth, log, logger: silentLogger })
    onTestFinished(() => handler.drain(0))
    return handler
  }
  const token = await issuer.token()
  const asked = await (await connect(start(), { auth: [bearer(token)] })).send('go')
  const { service } = start()
  const principal = { id: 'alice', grants: { corp: [] } }
  const message = { messageId: 'm', role: 'user', taskId: asked.task?.id ?? '', parts: [{ text: 'yes' }] } as const
  const outcome = await service.sendMessage({ message }, callOf({ principal }))
  expect(JSON.stringify(outcome)).toContain('There is no token of the caller to act with')

  // An answer that comes with a token brings one.
  const again = await (await connect(start(), { auth: [bearer(token)] })).send('go')
  const after = await connect(start(), { auth: [bearer(token)] })
  expect((await after.send('yes', { taskId: again.task?.id ?? '' })).text).toBe('delegated')
})

it('says what to configure where there is no token endpoint', async () => {
  const errors: string[] = []
  const made = agent({ name: 'Planner' }, async (turn) => {
    await turn.delegate(filesAudience).catch((error) => errors.push(error.message))
  })
  await (await connect(made)).send('go')
  expect(errors).toEqual([expect.stringContaining('auth: { exchange: tokenExchange(')])
  expect(() => tokenExchange({ ...agentClient, tokenUrl: 'http://login.example.com/token' })).toThrow('https://')
})

it('does not exchange a token that was not accepted, whatever else was', async () => {
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
