import { decodeJwt } from 'jose'
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import { jwt, tokenExchange } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { bearer } from '../../src/entries/client-auth.ts'
import type { Mode, UpstreamOptions } from '../../src/gateway/options.ts'
import { collect, until } from '../support/async.ts'
import { agentClient, startTokenExchangeServer } from '../support/auth/token-exchange-server.ts'
import { audience, startIssuer } from '../support/auth/token-issuer.ts'
import { createRecordingLogger } from '../support/logger.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { startGateway } from './support.ts'

/** Answers who called, and waits for a cancellation if it is told to. */
async function who(turn: Turn): Promise<string | undefined> {
  if (turn.text !== 'wait') return turn.principal.id
  await turn.status('working')
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  return undefined
}

/** An agent that takes tokens of the issuer for one audience, and has a card for callers with one. */
async function startUpstream(issuer: Awaited<ReturnType<typeof startIssuer>>, taken: string) {
  const scheme = jwt({ issuer: issuer.url, audience: taken, keys: { url: issuer.keysUrl } })
  const { server } = await startTestServer(who, {
    profile: { name: 'Who' },
    auth: { schemes: { jwt: scheme } },
    extendedCard: { description: 'For insiders' },
  })
  return server.url
}

describe.each<Mode>(['durable', 'pass-through'])('a %s agent that is called in the name of callers', (mode) => {
  async function open(identity: NonNullable<UpstreamOptions['identity']>) {
    const issuer = await startIssuer()
    const exchange = await startTokenExchangeServer(issuer)
    const taken = identity === 'forward' ? audience : identity.audience
    const url = await startUpstream(issuer, taken)
    const scheme = jwt({ issuer: issuer.url, audience, keys: { url: issuer.keysUrl } })
    const { tokenUrl } = exchange
    const { lines, logger } = createRecordingLogger()
    const gateway = await startGateway({
      agents: { who: { url, mode, identity } },
      auth: { schemes: { jwt: scheme }, exchange: tokenExchange({ tokenUrl, ...agentClient }) },
      logger,
    })
    const client = async (sub: string) =>
      await connect(gateway.url, { auth: [bearer(await issuer.token({ sub }))], retry: { tries: 1 } })
    return { client, exchange, lines, issuer }
  }

  it.each([['forward' as const], [{ audience: 'https://inner.test' }]])('gets a token for %j', async (identity) => {
    const { client, exchange, lines, issuer } = await open(identity)
    const [ada, bob] = [await client('ada'), await client('bob')]
    expect((await ada.send('hello')).text).toContain('ada')
    expect((await bob.send('hello')).text).toContain('bob')
    const subjects = exchange.tokenRequests.map(({ subject_token = '' }) => decodeJwt(subject_token).sub)
    expect(new Set(subjects)).toEqual(new Set(identity === 'forward' ? [] : ['ada', 'bob']))
    // The extended card and a cancellation need the token too.
    expect(
      (await ada.service.getExtendedCard({}, { principal: { id: '' }, signal: AbortSignal.timeout(9_000) }))
        .description,
    ).toBe('For insiders')
    const { task } = await ada.send('wait', { returnImmediately: true })
    const id = task?.id ?? ''
    await until(async () => (await ada.task(id).get()).status.state === 'working')
    expect((await ada.task(id).cancel()).status.state).toBe('canceled')
    expect(await collect(bob.listTasks())).toEqual([])
    const secret = (await issuer.token({ sub: 'x' })).split('.')[0] ?? 'eyJ'
    expect(JSON.stringify(lines)).not.toContain(secret)
  })
})

/** Waits for credentials, and says a hash of them. */
async function credentialsAgent(turn: Turn): Promise<string> {
  const auth = await turn.requireAuth('github')
  return `got ${auth.secret().length} characters`
}

describe.each<Mode>(['durable', 'pass-through'])('credentials for a task of a %s agent', (mode) => {
  it('reach the agent, and are stored and logged nowhere', async () => {
    const { server } = await startTestServer(credentialsAgent, { profile: { name: 'Auth' } })
    const { lines, logger } = createRecordingLogger()
    const gateway = await startGateway({ agents: { auth: { url: server.url, mode } }, logger, drainDeadline: 0 })
    const client = await connect(gateway.url)
    const { task } = await client.send('go', { returnImmediately: true })
    const id = task?.id ?? ''
    await until(async () => (await client.task(id).get()).status.state === 'auth-required')
    const data = { scheme: 'github', credentials: 'planted-secret-4711' }
    const mediaType = 'application/vnd.a2a.credentials+json'
    await client.send({ data, mediaType }, { taskId: id })
    await until(async () => (await client.task(id).get()).status.state === 'completed')
    const ended = await client.task(id).get()
    expect(JSON.stringify(ended)).toContain('got 19 characters')
    expect(JSON.stringify([ended, lines])).not.toContain('planted-secret')
  })
})
