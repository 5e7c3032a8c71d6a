import { createServer as createTlsServer } from 'node:https'
import * as sdkServer from '@a2a-js/sdk/server'
import * as sdkExpress from '@a2a-js/sdk/server/express'
import {
  A2AExpressApp,
  DefaultRequestHandler as Handler0_2,
  InMemoryTaskStore as TaskStore0_2,
} from 'a2a-sdk-0-2/server'
import * as server0_3 from 'a2a-sdk-0-3-last/server'
import * as express0_3 from 'a2a-sdk-0-3-last/server/express'
import { describe, expect, it, onTestFinished } from 'vitest'
import { demoAgent } from '../../src/cli/serve/demo-agent.ts'
import type { Turn } from '../../src/core/agent/turn.ts'
import { createCertificate } from '../support/auth/certificates.ts'
import { shareCli } from '../support/processes/cli.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'
import { closedPort, listenOnFreePort, respondWith, rpcCard, startHttpServer } from '../support/servers/http-server.ts'
import { task, validMembers } from '../support/servers/recording-peer.ts'
import { shareTestServer } from '../support/servers/test-server.ts'
import { createExaminer, type Finding, notFound, startPeer, workingResult } from './doctor-support.ts'

const cli = shareCli()
const examine = createExaminer(cli)
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, grpc: true })

describe('healthy agents', () => {
  it('a Parley agent has no findings above info on all versions and bindings, and gets no message', async () => {
    const { code, report, stderr } = await examine(demo().server.url)
    expect(report.findings.filter(({ severity }: Finding) => severity !== 'info')).toEqual([])
    expect(code).toBe(0)
    expect(report.interfaces).toHaveLength(8)
    for (const each of report.interfaces) expect(each).toMatchObject({ works: true, streaming: true })
    expect(report.claims).toMatchObject({ streaming: true, requiresCredentials: false })
    expect(report.losses).toEqual([])
    expect(stderr).toContain('No message is sent')
    expect(JSON.stringify(report)).not.toMatch(/SendMessage|message\/send/)
  })

  it('the text form has a line per interface and the counts', async () => {
    const { code, stdout, field } = await cli.run(['doctor', demo().server.url, '--send', 'count'])
    expect(code).toBe(0)
    expect(field('Agent')).toBe('Demo')
    expect(field('Errors')).toBe('0')
    expect(stdout).toMatch(/^Interface: GRPC 1\.0 .*\(works, .*streaming yes/m)
    expect(stdout).toMatch(/^Info: The agent answered the message with a task, which is now completed/m)
  })

  it('an agent of @a2a-js/sdk 1.3 works on all its interfaces', async () => {
    const origin = await startExpressServer((app, origin) => {
      const requestHandler = new sdkServer.DefaultRequestHandler(
        sdkCard(origin, { capabilities: { streaming: true } }),
        new sdkServer.InMemoryTaskStore(),
        sdkAgent(),
      )
      const userBuilder = sdkExpress.UserBuilder.noAuthentication
      const options = { requestHandler, userBuilder, legacyCompat: { enabled: true } }
      app.use('/.well-known/agent-card.json', sdkExpress.agentCardHandler({ agentCardProvider: requestHandler }))
      app.use('/rpc', sdkExpress.jsonRpcHandler(options))
      app.use('/rest', sdkExpress.restHandler(options))
    })
    const { report, findings } = await examine(origin)
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    for (const each of report.interfaces) expect(each).toMatchObject({ works: true })
  })

  it('an agent of @a2a-js/sdk 0.3 works, and the report has what it lacks compared to 1.0', async () => {
    const origin = await startExpressServer((app, origin) => {
      const card = legacySdkCard(origin, { capabilities: { streaming: true } })
      const handler = new server0_3.DefaultRequestHandler(card, new server0_3.InMemoryTaskStore(), legacySdkAgent())
      app.use('/.well-known/agent-card.json', express0_3.agentCardHandler({ agentCardProvider: handler }))
      app.use(
        '/',
        express0_3.jsonRpcHandler({ requestHandler: handler, userBuilder: express0_3.UserBuilder.noAuthentication }),
      )
    })
    const { code, report, findings } = await examine(origin)
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
    expect(code).toBe(0)
    expect(report.interfaces).toMatchObject([{ binding: 'JSONRPC', works: true, streaming: true }])
    expect(report.losses).toContainEqual(expect.objectContaining({ version: '0.3', feature: 'list of tasks' }))
  })

  it('an agent of @a2a-js/sdk 0.2 works, and lacks more than one of 0.3', async () => {
    const origin = await startExpressServer((app, origin) => {
      const { securitySchemes: _, ...card } = legacySdkCard(origin, { protocolVersion: '0.2.5' })
      new A2AExpressApp(new Handler0_2(card, new TaskStore0_2(), legacySdkAgent())).setupRoutes(app as never)
    })
    const { report } = await examine(origin)
    expect(report.interfaces).toMatchObject([{ binding: 'JSONRPC', version: '0.2', works: true, streaming: true }])
    expect(report.losses).toContainEqual(expect.objectContaining({ version: '0.2', feature: 'signed cards' }))
  })
})

describe('broken agents', () => {
  it('a wrong path in the card is found, with the right one', async () => {
    const peer = await startPeer({
      card: (origin) =>
        rpcCard(origin, {
          ...validMembers,
          supportedInterfaces: [{ url: `${origin}/wrong`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
        }),
      handle({ url, method }, response) {
        if (method !== 'POST' || url === '/a2a') return false
        response.writeHead(404, { 'content-type': 'text/html' }).end('<html>Not here</html>')
        return true
      },
    })
    const { code, find, report } = await examine(peer.origin)
    expect(code).toBe(1)
    expect(report.interfaces[0].works).toBe(false)
    expect(find('wrong-path')).toMatchObject({
      severity: 'error',
      fix: `The agent answers at ${peer.origin}/a2a: write that address into the card.`,
    })
    expect(peer.calls().every(({ body }) => body.method === 'GetTask' || body.method === 'tasks/get')).toBe(true)
  })

  it('an agent that speaks another version than its card says is found, with that version', async () => {
    const peer = await startPeer({
      result: ({ body }) =>
        body.method === 'tasks/get' ? notFound : { error: { code: -32601, message: 'Method not found' } },
    })
    const { code, findings } = await examine(peer.origin)
    expect(code).toBe(1)
    expect(findings.find(({ severity }) => severity === 'error')).toMatchObject({
      fix: expect.stringContaining('A2A 0.3 or older'),
    })
  })

  it('a claim of streaming, push or an extended card that the agent refuses is an error', async () => {
    const peer = await startPeer({
      card: (origin) =>
        rpcCard(origin, {
          ...validMembers,
          capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
        }),
      result(request) {
        const { method } = request.body
        if (method === 'SubscribeToTask') return { error: { code: -32004, message: 'No streams' } }
        if (/Push/.test(method)) return { error: { code: -32003, message: 'No push' } }
        if (/Extended/.test(method)) return { error: { code: -32007, message: 'No extended card' } }
        return workingResult(request)
      },
    })
    const { code, find, report } = await examine(peer.origin)
    expect(code).toBe(1)
    for (const id of ['streaming-refused', 'push-refused', 'extended-card-refused']) {
      expect(find(id)).toMatchObject({ severity: 'error', fix: expect.any(String) })
      expect(find(id)?.evidence.at(-1)?.response?.status).toBe(200)
    }
    expect(report.interfaces[0]).toMatchObject({ works: true, streaming: false, push: false, list: true })
    expect(find('version-ignored')).toBeUndefined()
  })

  it('an agent that knows no method to follow a task is not said to refuse streams', async () => {
    const peer = await startPeer({
      card: (origin) => rpcCard(origin, { ...validMembers, capabilities: { streaming: true } }),
      result: (request) =>
        request.body.method === 'SubscribeToTask'
          ? { error: { code: -32601, message: 'Method not found' } }
          : workingResult(request),
    })
    const { code, find, report } = await examine(peer.origin)
    expect(code).toBe(0)
    expect(find('resubscribe-missing')).toMatchObject({ severity: 'warning' })
    expect([find('streaming-refused'), report.interfaces[0].streaming]).toEqual([undefined, undefined])
  })

  it('an agent whose card fits 0.1 and 0.2 is examined as the version that it speaks', async () => {
    const methods = new Set(['tasks/send', 'tasks/get', 'tasks/resubscribe', 'tasks/pushNotification/get'])
    const peer = await startPeer({
      card: (origin) => ({ ...validMembers, name: 'Old', url: `${origin}/` }),
      result: ({ body: { method } }) => {
        if (!methods.has(method)) return { error: { code: -32601, message: 'Method not found' } }
        return method === 'tasks/send' ? { error: { code: -32602, message: 'Invalid params' } } : notFound
      },
    })
    const { report } = await examine(peer.origin)
    expect(report.interfaces).toMatchObject([{ version: '0.1', works: true }])
    expect(report.losses[0]).toMatchObject({ version: '0.1' })
  })

  it('every violation of a broken card is listed, and the agent is examined all the same', async () => {
    const peer = await startPeer({
      card: (origin) => ({
        ...rpcCard(origin, { ...validMembers, name: 7, defaultInputModes: 'text/plain' }),
        version: 1,
      }),
    })
    const [{ code, report, findings }, text] = await Promise.all([
      examine(peer.origin),
      cli.run(['card', 'get', peer.origin, '--validate']),
    ])
    expect(code).toBe(1)
    expect(report.interfaces).toMatchObject([{ works: true }])
    const places = findings.filter(({ id }) => id === 'card-schema').map(({ problem }) => /: (\w+):/.exec(problem)?.[1])
    expect(places.toSorted()).toEqual(['defaultInputModes', 'name', 'version'])
    expect([text.code, text.field('Schema'), text.stdout.match(/^Violation: /gm)?.length]).toEqual([1, 'broken', 3])
  })

  it('an agent that ignores A2A-Version and has no list gets warnings, which --fail-on turns into a failure', async () => {
    const peer = await startPeer({
      result: ({ body }) => (body.method === 'ListTasks' ? { error: { code: -32601, message: 'No list' } } : notFound),
    })
    const { code, find } = await examine(peer.origin)
    expect(code).toBe(0)
    expect(find('version-ignored')?.severity).toBe('warning')
    expect(find('list-refused')?.severity).toBe('warning')
    expect((await examine(peer.origin, '--fail-on', 'warning')).code).toBe(1)
  })

  it('an interface that is unreachable, and one on a web page, do not hide the one that works', async () => {
    const port = await closedPort()
    const peer = await startPeer({
      card: (origin) =>
        rpcCard(origin, {
          ...validMembers,
          supportedInterfaces: [
            { url: `http://127.0.0.1:${port}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
            { url: `${origin}/page`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
            { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
          ],
        }),
      handle({ url }, response) {
        if (url !== '/page') return false
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>')
        return true
      },
    })
    const { code, find, report } = await examine(peer.origin)
    expect(code).toBe(1)
    expect(find('connection-refused')?.subject).toContain(`:${port}`)
    expect(find('html')?.subject).toContain('/page')
    expect(report.interfaces.map(({ works }: { works: boolean }) => works)).toEqual([false, false, true])
  })

  it('no card, and a web page instead of one, end with 3 and the evidence', async () => {
    const page = await startHttpServer(respondWith(200, '<html>Hi</html>', { 'content-type': 'text/html' }))
    const unreachable = `http://127.0.0.1:${await closedPort()}`
    const [html, refused] = await Promise.all([examine(page), examine(unreachable)])
    expect([html.code, refused.code]).toEqual([3, 3])
    expect(html.findings).toMatchObject([{ severity: 'error', id: 'card-not-found' }])
    expect(html.findings[0]?.evidence[0]?.response).toMatchObject({ status: 200, body: '<html>Hi</html>' })
    expect(refused.findings).toMatchObject([{ severity: 'error', fix: expect.any(String) }])
  })

  it('an https card with an expired certificate, and one that names http addresses, are errors', async () => {
    const certificate = createCertificate({ commonName: 'localhost', dns: ['localhost'], validUntil: '200102' })
    const peer = await startPeer()
    const server = createTlsServer(certificate, (_, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(rpcCard(peer.origin, validMembers)))
    })
    onTestFinished(() => void server.close())
    const url = `https://127.0.0.1:${await listenOnFreePort(server)}`
    const [expired, insecure] = await Promise.all([examine(url), examine(url, '--insecure')])
    expect(expired.code).toBe(3)
    expect(expired.findings).toMatchObject([{ id: 'certificate', fix: expect.stringContaining('renew it') }])
    expect(insecure.code).toBe(1)
    expect(insecure.find('plain-http')).toMatchObject({ severity: 'error', fix: expect.stringContaining('https://') })
    expect(insecure.report.interfaces[0].works).toBe(true)
  })

  it('a hybrid card whose url is none of its interfaces, and an undeclared scheme, are found', async () => {
    const peer = await startPeer({
      card: (origin) =>
        rpcCard(origin, {
          ...validMembers,
          ...{ url: `${origin}/old`, protocolVersion: '0.3.0' },
          securityRequirements: [{ schemes: { jwt: { list: [] } } }],
        }),
    })
    const { find } = await examine(peer.origin)
    expect(find('hybrid-url')?.severity).toBe('warning')
    expect(find('hybrid-version')?.severity).toBe('warning')
    expect(find('scheme-undefined')?.severity).toBe('error')
    expect(find('auth-not-enforced')?.severity).toBe('warning')
  })
})

describe('credentials', () => {
  it('the challenge is examined without credentials, and the rest with them; no credential is shown', async () => {
    const secret = 'secret-token-1234567890'
    const peer = await startPeer({
      card: (origin) =>
        rpcCard(origin, {
          ...validMembers,
          securitySchemes: { jwt: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
          securityRequirements: [{ schemes: { jwt: { list: [] } } }],
        }),
      handle({ url, headers }, response) {
        if (url.startsWith('/.well-known/') || headers.authorization === `Bearer ${secret}`) return false
        response.writeHead(401, { 'www-authenticate': 'Bearer', 'content-type': 'application/json' }).end('{}')
        return true
      },
    })
    const { code, report, stdout, stderr, findings } = await examine(peer.origin, '--bearer', secret)
    expect(findings.filter(({ severity }) => severity !== 'info')).toEqual([])
    expect(code).toBe(0)
    expect(report.interfaces[0]).toMatchObject({ works: true, authentication: 'required', list: true })
    expect(stdout + stderr).not.toContain(secret)
    const refused = await examine(peer.origin, '--bearer', 'wrong-token-1234567890')
    expect(refused.find('credentials-refused')?.severity).toBe('error')
    expect(refused.code).toBe(1)
  })

  it('an agent that requires credentials without saying so, and without a challenge, is found', async () => {
    const secret = 'secret-token-1234567890'
    const peer = await startPeer({
      handle({ url, headers }, response) {
        if (url.startsWith('/.well-known/') || headers.authorization === `Bearer ${secret}`) return false
        response.writeHead(401, { 'content-type': 'application/json' }).end('{}')
        return true
      },
    })
    const { code, find, report } = await examine(peer.origin)
    expect(code).toBe(1)
    expect(find('auth-undeclared')?.severity).toBe('error')
    expect(find('no-challenge')?.severity).toBe('warning')
    expect(find('not-measured')?.severity).toBe('info')
    expect(report.interfaces[0]).toMatchObject({ authentication: 'required' })
    expect(report.interfaces[0]).not.toHaveProperty('streaming')
  })
})

describe('streams', () => {
  const answering = async (turn: Turn) => turn.status('working').then(() => 'Done')
  const inArtifact = shareTestServer(answering)
  const inStatus = shareTestServer(answering, { turns: { answers: 'status' } })

  it('--send says that assistant-ui does not show an answer that is an artifact', async () => {
    const { code, find } = await examine(inArtifact().server.url, '--send', 'hello')
    expect(code).toBe(0)
    expect(find('answer-in-artifact')).toMatchObject({
      severity: 'info',
      problem: expect.stringContaining('assistant-ui'),
      fix: expect.stringContaining("turns: { answers: 'status' }"),
    })
    expect((await examine(inStatus().server.url, '--send', 'hello')).find('answer-in-artifact')).toBeUndefined()
  })

  it('--send shows a proxy that holds events back', async () => {
    const status = (state: string, second: number) => ({
      state: `TASK_STATE_${state}`,
      timestamp: `2026-01-01T00:00:0${second}.000Z`,
    })
    const peer = await startPeer({
      handle({ body }, response) {
        if (body?.method !== 'SendStreamingMessage') return false
        const ids = { taskId: 't-1', contextId: 'c-1' }
        const events = [
          { task: task('WORKING', { status: status('WORKING', 0) }) },
          { statusUpdate: { ...ids, status: status('COMPLETED', 9) } },
        ]
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(
          events.map((result) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result })}\n\n`).join(''),
        )
        return true
      },
    })
    const { find } = await examine(peer.origin, '--send', 'hello')
    expect(find('buffered')).toMatchObject({ severity: 'warning', fix: expect.stringContaining('proxy') })
    expect(peer.calls().filter(({ body }) => /Send/.test(body.method))).toHaveLength(1)
  })
})
