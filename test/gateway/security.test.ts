import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { apiKeyCredentials, bearer } from '../../src/entries/client-auth.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { collect } from '../support/async.ts'
import { createRecordingLogger } from '../support/logger.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { exchangeBytes } from '../support/wire/raw-http1.ts'
import { startGateway } from './support.ts'

async function authOf(names: readonly string[]) {
  const keys = await Promise.all(names.map(async (id) => ({ id, hash: await hashApiKey(`key-of-${id}`) })))
  return { schemes: { key: apiKey({ keys }) } }
}

const as = (name: string) => ({ auth: [apiKeyCredentials(`key-of-${name}`)] })

/** Serves fixed answers, and records the requests. */
async function startOrigin(
  answer: (path: string, origin: string) => { status?: number; headers?: object; body?: string },
) {
  const requests: { path: string; headers: NodeJS.Dict<string | string[]>; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ path: request.url ?? '', headers: request.headers, body })
    const { status = 200, headers = {}, body: text = '' } = answer(request.url ?? '', origin)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url: origin, requests }
}

const cardFor = (url: string) =>
  JSON.stringify({
    ...{ name: 'Ada', description: 'x', version: '1', capabilities: {}, skills: [], protocolVersion: '1.0' },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  })

const securedCard = (url: string) =>
  JSON.stringify({
    ...JSON.parse(cardFor(url)),
    securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { token: { list: [] } } }],
  })

describe.each<Mode>(['durable', 'pass-through'])('a %s agent', (mode) => {
  it('does not show a task of one caller to another one, in any operation', async () => {
    const { server } = await startTestServer(count, { profile, push: {} })
    const auth = await authOf(['ada', 'bob'])
    const gateway = await startGateway({ agents: { agent: { url: server.url, mode } }, auth, push: {} })
    const ada = await connect(gateway.url, as('ada'))
    const bob = await connect(gateway.url, as('bob'))
    const { task } = await ada.send('ask')
    const id = task?.id ?? ''
    const notFound = { code: 'task-not-found' }
    await expect(bob.task(id).get()).rejects.toMatchObject(notFound)
    await expect(bob.task(id).cancel()).rejects.toMatchObject(notFound)
    await expect(collect(bob.task(id).subscribe())).rejects.toMatchObject(notFound)
    await expect(bob.send('count', { taskId: id })).rejects.toMatchObject(notFound)
    await expect(collect(bob.stream('count', { taskId: id }))).rejects.toMatchObject(notFound)
    await expect(bob.task(id).push.create({ url: `${gateway.url}/x` })).rejects.toMatchObject(notFound)
    await expect(collect(bob.task(id).push.list())).rejects.toMatchObject(notFound)
    expect(await collect(bob.listTasks())).toEqual([])
    expect((await collect(ada.listTasks())).map((each) => each.id)).toEqual([id])
    const answered = await ada.send('count', { taskId: id })
    expect(answered.task?.status.state).toBe('completed')
  })

  it('does not join the context of another caller', async () => {
    const { server } = await startTestServer(count, { profile })
    const auth = await authOf(['ada', 'bob'])
    const gateway = await startGateway({ agents: { agent: { url: server.url, mode } }, auth })
    const ada = await connect(gateway.url, as('ada'))
    const bob = await connect(gateway.url, as('bob'))
    const { task } = await ada.send('count', { contextId: 'shared' })
    expect(task?.contextId).toBe('shared')
    const other = await bob.send('count', { contextId: 'shared' }).catch((error) => error)
    // A durable gateway has contexts of its own; at a pass-through agent, the first caller owns the context.
    if (mode === 'pass-through') expect(other).toMatchObject({ code: 'context-not-found' })
    else expect(await collect(bob.listTasks({ contextId: 'shared' }))).toHaveLength(1)
  })

  it('sends the agent neither credentials nor unlisted headers of the caller', async () => {
    const { url, requests } = await startOrigin((path, origin) => ({
      body: path === '/' ? '{}' : cardFor(`${origin}/`),
    }))
    const auth = await authOf(['ada'])
    const agents = { agent: { url, mode, auth: [bearer('gateway-secret')], forwardHeaders: ['X-Team'] } }
    // Metrics observe every call, and must not lose its headers.
    const gateway = await startGateway({ agents, auth, metrics: true })
    const client = await connect(gateway.url, { ...as('ada'), retry: { tries: 1 } })
    const headers = { 'x-team': 'red', 'x-secret': 'planted-secret', cookie: 'sid=planted-secret' }
    await client.send('hello', { headers }).catch(() => {})
    const sent = JSON.stringify(requests)
    expect(requests.some(({ path }) => path === '/')).toBe(true)
    expect(sent).not.toContain('planted-secret')
    expect(sent).not.toContain('key-of-ada')
    expect(requests.at(-1)?.headers).toMatchObject({ 'x-team': 'red', via: expect.stringContaining('parley-') })
  })

  it('gets no header that a caller smuggles in', async () => {
    const { url, requests } = await startOrigin((path, origin) => ({
      body: path === '/' ? '{}' : cardFor(`${origin}/`),
    }))
    const gateway = await startGateway({ agents: { agent: { url, mode, forwardHeaders: ['x-team'] } } })
    const smuggled = { authorization: 'Bearer planted-secret', 'x-smuggled': 'yes', via: '1.1 planted-secret' }
    const metadata = { 'parley:gateway-headers': smuggled }
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }], metadata }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message, metadata } })
    const head = [
      ...['POST / HTTP/1.1', `host: 127.0.0.1:${gateway.port}`, 'content-type: application/json', 'a2a-version: 1.0'],
      ...['connection: x-team', 'x-team: red', 'forwarded: for=planted-secret', `content-length: ${body.length}`],
    ].join('\r\n')
    await exchangeBytes(gateway.port, [`${head}\r\n\r\n${body}`])
    const sent = requests.filter(({ path }) => path === '/')
    expect(sent.length).toBeGreaterThan(0)
    for (const { headers } of sent) {
      expect(headers).not.toHaveProperty('x-smuggled')
      expect(JSON.stringify(headers)).not.toContain('planted-secret')
    }
    // Two lengths, or a length and chunks, are two requests to some servers.
    const ambiguous = head.replace('\r\nconnection', '\r\ntransfer-encoding: chunked\r\nconnection')
    expect((await exchangeBytes(gateway.port, [`${ambiguous}\r\n\r\n0\r\n\r\n`])).status).toBe(400)
  })
})

describe('a gateway', () => {
  it('calls no host that only a card names', async () => {
    const victim = await startOrigin(() => ({ body: '{}' }))
    const { url, requests } = await startOrigin((path) => ({ body: path === '/' ? '{}' : cardFor(`${victim.url}/`) }))
    const gateway = await startGateway({ agents: { agent: { url, mode: 'pass-through' } } })
    const client = await connect(gateway.url, { retry: { tries: 1 } })
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'invalid-agent-response' })
    expect(victim.requests).toEqual([])
    expect(requests.map(({ path }) => path)).toContain('/')
  })

  it('follows no redirect of an agent', async () => {
    const victim = await startOrigin(() => ({ body: '{}' }))
    const { url } = await startOrigin((path, origin) =>
      path === '/' ? { status: 307, headers: { location: `${victim.url}/` } } : { body: cardFor(`${origin}/`) },
    )
    const gateway = await startGateway({ agents: { agent: { url, mode: 'pass-through' } } })
    const client = await connect(gateway.url, { retry: { tries: 1 } })
    const error = await client.send('hello').catch((each) => each)
    expect(error).toMatchObject({ code: 'unavailable' })
    expect(error.message).not.toContain(victim.url)
    expect(victim.requests).toEqual([])
  })

  it('uses no card that is too large', async () => {
    const { url } = await startOrigin((_, origin) => ({
      body: `${cardFor(origin).slice(0, -1)},"x":"${'x'.repeat(2 ** 21)}"}`,
    }))
    const gateway = await startGateway({ agents: { agent: { url } } })
    expect(gateway.agents()).toMatchObject([{ state: 'unreachable', failure: expect.stringMatching(/bytes|large/) }])
  })

  it('cuts loops', async () => {
    const { url } = await startOrigin((_, origin) => ({ body: cardFor(`${origin}/`) }))
    const gateway = await startGateway({ agents: { agent: { url } }, name: 'edge' })
    const response = await fetch(gateway.url, { method: 'POST', headers: { via: '1.1 other, 1.1 edge' }, body: '{}' })
    expect(response.status).toBe(508)
  })

  it.each(['via', 'Authorization', 'cookie', 'x-a\r\nx-b'])('refuses to pass on the header %j', async (name) => {
    const agents = { agent: { url: 'http://127.0.0.1:9', forwardHeaders: [name] } }
    await expect(startGateway({ agents })).rejects.toThrow('forwardHeaders')
  })

  it('sends the credentials of an agent to that agent only, and shows them nowhere', async () => {
    const answer = (path: string, origin: string) => ({ body: path === '/' ? '{}' : securedCard(`${origin}/`) })
    const [one, two] = await Promise.all([startOrigin(answer), startOrigin(answer)])
    const { lines, logger } = createRecordingLogger()
    const mode = 'pass-through'
    const agents = {
      one: { url: one.url, mode, auth: [bearer('planted-one-secret')] },
      two: { url: two.url, mode, auth: [bearer('planted-two-secret')] },
    } as const
    const gateway = await startGateway({ agents, logger, console: { auth: 'none' }, metrics: true })
    const errors: string[] = []
    for (const path of ['one', 'two']) {
      const client = await connect(`${gateway.url}/${path}`, { retry: { tries: 1 } })
      await client.send('hello').catch((error) => errors.push(`${error.stack} ${JSON.stringify(error)}`))
    }
    const sentTo = ({ requests }: typeof one) => JSON.stringify(requests)
    expect([sentTo(one).includes('planted-one-secret'), sentTo(two).includes('planted-two-secret')]).toEqual([
      true,
      true,
    ])
    expect([sentTo(one).includes('planted-two'), sentTo(two).includes('planted-one')]).toEqual([false, false])
    const pages = await Promise.all(
      [
        '/.well-known/ai-catalog.json',
        '/one/.well-known/agent-card.json',
        '/two/metrics',
        '/metrics',
        '/console/api/agents',
      ].map(async (path) => await (await fetch(`${gateway.url}${path}`)).text()),
    )
    expect(JSON.stringify([pages, errors, lines, gateway.agents()])).not.toContain('planted-')
  })

  it('calls no private address for a card or a webhook of a caller', async () => {
    const victim = await startOrigin(() => ({ body: '{}' }))
    const { server } = await startTestServer(count, { profile, push: { loopback: 'allow' } })
    const agents = { agent: { url: server.url, mode: 'pass-through' } } as const
    const gateway = await startGateway({ agents, push: { loopback: 'refuse' } })
    const client = await connect(gateway.url)
    const { task } = await client.send('ask')
    for (const url of [victim.url, 'http://169.254.169.254/latest', 'http://[::1]/', 'file:///etc/passwd']) {
      const push = { url: `${url}` }
      await expect(client.task(task?.id ?? '').push.create(push)).rejects.toMatchObject({ code: 'invalid-params' })
    }
    // A public host may not lead to this machine by a redirect of its card.
    const redirecting = await startOrigin((path) =>
      path.startsWith('/.well-known') ? { status: 302, headers: { location: `${victim.url}/card` } } : { body: '{}' },
    )
    const other = await startGateway({ agents: { agent: redirecting.url } })
    expect(other.agents()).toMatchObject([{ state: 'unreachable' }])
    expect(victim.requests).toEqual([])
  })

  it('counts what a translation loses, and logs each kind once', async () => {
    const { server } = await startTestServer(count, { profile, dialects: ['v0.1'] })
    const { lines, logger } = createRecordingLogger()
    const gateway = await startGateway({ agents: { agent: { url: server.url, mode: 'pass-through' } }, logger })
    const client = await connect(gateway.url)
    const message = {
      messageId: 'm',
      role: 'user',
      parts: [{ text: 'count' }],
      extensions: ['https://x.example'],
    } as const
    for (let n = 0; n < 2; n++) {
      const call = { principal: { id: '' }, signal: AbortSignal.timeout(9_000) }
      await client.service.sendMessage({ message: { ...message, messageId: `m${n}` } }, call)
    }
    const loss = { member: 'message.extensions', towards: 'agent', dialect: 'v0.1' }
    expect(gateway.agents()[0]?.losses).toEqual([{ ...loss, count: 2 }])
    expect(lines.filter(({ message: text }) => text === 'a translation loses a member')).toHaveLength(1)
  })

  it('lists only agents that the caller may call', async () => {
    const { server } = await startTestServer(count, { profile })
    const rules = [{ principal: 'ada', agent: 'one' }]
    const agents = { one: server.url, two: server.url }
    const gateway = await startGateway({ agents, auth: await authOf(['ada', 'bob']), rules })
    const list = async (name: string) => {
      const headers = { 'x-api-key': `key-of-${name}` }
      const response = await fetch(`${gateway.url}/.well-known/ai-catalog.json`, { headers })
      return ((await response.json()) as { entries: { identifier: string }[] }).entries.map(
        ({ identifier }) => identifier,
      )
    }
    expect(await list('ada')).toEqual(['urn:a2a:one'])
    expect(await list('bob')).toEqual([])
    expect(await list('eve')).toEqual([])
  })

  it('serves addresses of its own in a card that it signs, and names the origin', async () => {
    const { server } = await startTestServer(count, { profile })
    const gateway = await startGateway({ agents: { agent: server.url }, publicUrl: 'https://agents.example.com' })
    const card = await (await fetch(`${gateway.url}/.well-known/agent-card.json`)).text()
    expect(card).not.toContain(server.url)
    expect(card).toContain('https://agents.example.com')
    const extensions = JSON.parse(card).capabilities.extensions
    expect(extensions).toContainEqual(
      expect.objectContaining({
        params: { cardHash: expect.stringMatching(/^sha-256:/), verification: 'unsigned' },
      }),
    )
    const uris = extensions.map(({ uri }: { readonly uri: string }) => uri)
    expect(new Set(uris).size).toBe(uris.length)
  })
})
