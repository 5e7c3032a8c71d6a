import { readFile } from 'node:fs/promises'
import * as sdk1_3 from '@a2a-js/sdk/server'
import * as express1_3 from '@a2a-js/sdk/server/express'
import * as grpc1_3 from '@a2a-js/sdk/server/grpc'
import { A2AExpressApp, DefaultRequestHandler as Handler0_2, InMemoryTaskStore as Tasks0_2 } from 'a2a-sdk-0-2/server'
import * as sdk0_3 from 'a2a-sdk-0-3-last/server'
import * as express0_3 from 'a2a-sdk-0-3-last/server/express'
import { afterAll, expect, it } from 'vitest'
import { conformance } from '../../src/conformance/conformance.ts'
import { allBindings } from '../../src/conformance/rule.ts'
import { rules } from '../../src/conformance/rules.ts'
import { hashApiKey } from '../../src/core/auth/schemes/api-key.ts'
import { apiKey } from '../../src/entries/auth.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { grpcTransport } from '../support/grpc/grpc-transport.ts'
import { shareCli } from '../support/processes/cli.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { startSdkGrpcServer } from '../support/sdk/grpc-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { writeResultsPage } from './results-page.ts'

const texts = { task: 'count', message: 'hello', inputRequired: 'ask', longRunning: 'wait' }
const flags = [
  '--task-text',
  'count',
  '--message-text',
  'hello',
  '--input-required-text',
  'ask',
  '--long-running-text',
  'wait',
]
const cli = shareCli()

type Report = Awaited<ReturnType<typeof conformance>>

/** The reports by the names of the agents. `npm run conformance` writes them into the docs. */
const reports = new Map<string, Report>()
afterAll(() => {
  if (process.env.UPDATE_DOCS && reports.size === 5) writeResultsPage(reports)
})

/** The failed checks as `1.0 JSONRPC send/answer`. */
function failures({ failed }: Report, level?: 'MUST'): readonly string[] {
  return failed(level).map(({ version, binding, rule }) => `${version} ${binding} ${rule}`)
}

it('an agent of Parley keeps every rule that can be measured, in all versions and bindings', async () => {
  const { server } = await startTestServer(count, { profile, push: {}, grpc: true })
  const report = await conformance(server.url, { texts, grpc: grpcTransport() })
  reports.set('Parley', report)
  expect(failures(report)).toEqual([])
  expect(report.isConformant).toBe(true)
  const judged = new Set(report.checks.map(({ version, binding }) => `${version} ${binding}`))
  expect([...judged].toSorted()).toEqual([
    ...['0.1 CARD', '0.1 JSONRPC', '0.2 CARD', '0.2 JSONRPC', '0.3 CARD', '0.3 GRPC', '0.3 HTTP+JSON'],
    ...['0.3 JSONRPC', '1.0 CARD', '1.0 GRPC', '1.0 HTTP+JSON', '1.0 JSONRPC'],
  ])
  const open = report.checks.filter(({ outcome }) => outcome === 'not measured').map(({ rule }) => rule)
  // They need an agent with a signed card, credentials or an extension, one without streams and webhooks, or a receiver.
  expect([...new Set(open)].toSorted()).toEqual([
    ...[
      'auth/challenge',
      'auth/invalid',
      'auth/other-cancel',
      'auth/other-get',
      'auth/other-list',
      'auth/refused',
      'card/signatures',
      'extended-card/fetched',
      'extensions/required',
      'push/delivery',
      'push/payload',
      'push/token',
      'push/unsupported',
      'stream/unsupported',
    ],
  ])
})

it('rules that need a text are not measured without it, and never pass', async () => {
  const { server } = await startTestServer(count, { profile })
  const report = await conformance(server.url, { versions: ['1.0'], bindings: ['JSONRPC'], probe: false })
  const outcomeOf = (id: string) => report.checks.find(({ rule }) => rule === id)
  expect(outcomeOf('send/terminal-task')).toMatchObject({ outcome: 'not measured' })
  expect(outcomeOf('cancel/running')?.problem).toContain('--long-running-text')
  expect(outcomeOf('get/unknown')).toMatchObject({ outcome: 'passed' })
  expect(report.summary).toMatch(/^A2A 1\.0: \d+\/\d+ MUST, \d+\/\d+ SHOULD, \d\/\d MAY, \d+ not measured$/)
})

it('missing texts are found among the examples of the skills', async () => {
  const skills = profile.skills.map((skill) => ({ ...skill, examples: ['count', 'ask'] }))
  const { server } = await startTestServer(count, { profile: { ...profile, skills } })
  const rules = ['send/terminal-task', 'send/context-inferred', 'send/return-immediately']
  const { checks } = await conformance(server.url, { versions: ['1.0'], bindings: ['JSONRPC'], rules })
  expect(checks.map(({ rule, outcome }) => [rule, outcome])).toEqual([
    ['send/return-immediately', 'not measured'],
    ['send/terminal-task', 'passed'],
    ['send/context-inferred', 'passed'],
  ])
})

it('every rule says what is sent and expected, and no rule is listed twice for an interface', () => {
  const keys = rules.flatMap(({ id, versions, bindings = allBindings }) =>
    versions.flatMap((version) => bindings.map((binding) => `${version} ${binding} ${id}`)),
  )
  expect(new Set(keys).size).toBe(keys.length)
  for (const { title, sends, expects } of rules) {
    expect(title).toMatch(/^[A-Z].*\.$/)
    expect(sends && expects).toBeTruthy()
  }
})

it('docs/reference/conformance.md lists every rule', async () => {
  const text = await readFile(new URL('../../docs/reference/conformance.md', import.meta.url), 'utf8')
  const rows = rules.map(
    ({ id, level, versions, bindings = allBindings, title }) =>
      `| \`${id}\` | ${level} | ${versions.join(', ')} | ${bindings.join(', ')} | ${title} |`,
  )
  expect(text.split('\n').filter((line) => /^\| `[a-z-]+\//.test(line))).toEqual(rows)
})

it('an agent of @a2a-js/sdk 1.3.0 breaks the rules that it does not check', async () => {
  const origin = await startExpressServer((app, at) => {
    const card = sdkCard(at, { capabilities: { streaming: true, pushNotifications: true } })
    const push = new sdk1_3.InMemoryPushNotificationStore()
    const requestHandler = new sdk1_3.DefaultRequestHandler(
      card,
      new sdk1_3.InMemoryTaskStore(),
      sdkAgent(),
      undefined,
      push,
    )
    const options = { requestHandler, userBuilder: userBuilder, legacyCompat: { enabled: true } }
    app.use('/.well-known/agent-card.json', express1_3.agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', express1_3.jsonRpcHandler(options))
    app.use('/rest', express1_3.restHandler(options))
  })
  const report = await conformance(origin, { texts, versions: ['1.0'] })
  reports.set('`@a2a-js/sdk` 1.3.0', report)
  expect(failures(report, 'MUST')).toEqual([
    '1.0 JSONRPC jsonrpc/invalid-request',
    '1.0 JSONRPC jsonrpc/version',
    '1.0 JSONRPC version/patch',
    '1.0 JSONRPC send/content-type',
    '1.0 JSONRPC send/no-parts',
    '1.0 HTTP+JSON version/patch',
    '1.0 HTTP+JSON send/content-type',
    '1.0 HTTP+JSON send/no-parts',
  ])
})

it('an agent of @a2a-js/sdk 1.3.0 is judged over gRPC', async () => {
  let requestHandler: sdk1_3.DefaultRequestHandler | undefined
  await startSdkGrpcServer(grpc1_3.A2AService, (address) => {
    const supportedInterfaces = [{ url: address, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: '' }]
    const card = sdkCard('', { supportedInterfaces, capabilities: { streaming: true, pushNotifications: true } })
    const push = new sdk1_3.InMemoryPushNotificationStore()
    const store = new sdk1_3.InMemoryTaskStore()
    requestHandler = new sdk1_3.DefaultRequestHandler(card, store, sdkAgent(), undefined, push)
    return grpc1_3.grpcService({ requestHandler, userBuilder })
  })
  const origin = await startExpressServer((app) => {
    if (!requestHandler) return
    app.use('/.well-known/agent-card.json', express1_3.agentCardHandler({ agentCardProvider: requestHandler }))
  })
  const report = await conformance(origin, { texts, grpc: grpcTransport() })
  reports.set('`@a2a-js/sdk` 1.3.0, gRPC', report)
  const broken = ['version/patch', 'send/content-type', 'send/no-parts']
  expect(failures(report, 'MUST')).toEqual(broken.map((rule) => `1.0 GRPC ${rule}`))
  expect(report.checks.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(40)
})

const userBuilder = async () => ({ isAuthenticated: true, userName: 'alice' })

it('an agent of @a2a-js/sdk 0.3.14 breaks the rules that it does not check', async () => {
  const origin = await startExpressServer((app, at) => {
    const members = { url: `${at}/rpc`, additionalInterfaces: [{ url: `${at}/rest`, transport: 'HTTP+JSON' }] }
    const push = new sdk0_3.InMemoryPushNotificationStore()
    const card = legacySdkCard(at, members)
    const requestHandler = new sdk0_3.DefaultRequestHandler(
      card,
      new sdk0_3.InMemoryTaskStore(),
      legacySdkAgent(),
      undefined,
      push,
    )
    const options = { requestHandler, userBuilder: userBuilder }
    app.use('/.well-known/agent-card.json', express0_3.agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', express0_3.jsonRpcHandler(options))
    app.use('/rest', express0_3.restHandler(options))
  })
  const report = await conformance(origin, { texts })
  reports.set('`@a2a-js/sdk` 0.3.14', report)
  expect(failures(report, 'MUST')).toEqual(['0.3 CARD card/preferred-transport', '0.3 JSONRPC send/no-message'])
})

function startLegacyAgent(): Promise<string> {
  return startExpressServer((app, at) => {
    const { securitySchemes: _, ...card } = legacySdkCard(at, { protocolVersion: '0.2.5' })
    const handler = new Handler0_2(card, new Tasks0_2(), legacySdkAgent())
    // This version has the types of an older Express.
    new A2AExpressApp(handler).setupRoutes(app as never)
  })
}

it('an agent of @a2a-js/sdk 0.2.5 breaks the rules that it does not check', async () => {
  const origin = await startLegacyAgent()
  const report = await conformance(origin, { texts })
  reports.set('`@a2a-js/sdk` 0.2.5', report)
  expect(failures(report, 'MUST')).toEqual(['0.2 JSONRPC jsonrpc/parse-error', '0.2 JSONRPC send/no-message'])
})

it('parley conformance prints a table, JSON and JUnit', async () => {
  const { server } = await startTestServer(count, { profile })
  const run = (...args: readonly string[]) => cli.run(['conformance', server.url, ...flags, ...args])
  const table = await run('--transport', 'JSONRPC')
  expect([table.code, table.field('Conformant')]).toEqual([0, 'yes'])
  expect(table.field('Summary')).toMatch(/^A2A 1\.0: /)
  expect(table.stdout).toMatch(/^1\.0 +JSONRPC +\d+\/\d+/m)
  const rule = ['--rule', 'send/answer']
  const [json, junit, wrong] = await Promise.all([
    run('-o', 'json', '--legacy', ...rule),
    run('-o', 'junit', ...rule),
    run('--rule', 'no/such-rule'),
  ])
  expect([json.code, junit.code, wrong.code]).toEqual([0, 0, 2])
  expect(json.json()).toMatchObject({
    isConformant: true,
    summary: 'A2A 1.0, 0.3, 0.2, 0.1: 6/6 MUST, 0/0 SHOULD, 0/0 MAY, 0 not measured',
    badge: { schemaVersion: 1, label: 'A2A 1.0, 0.3, 0.2, 0.1', color: 'brightgreen' },
  })
  expect(junit.stdout).toMatch(/^<\?xml/)
  expect(junit.stdout).toContain('<testsuite name="A2A 1.0 JSONRPC" tests="1" failures="0" skipped="0">')
  expect(wrong.stderr).toContain('There is no rule "no/such-rule"')
})

it('an agent that wants credentials is not measured, with one message', async () => {
  const { server } = await startTestServer(count, {
    profile,
    auth: { schemes: { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('secret-of-ada-0123456789') }] }) } },
  })
  const { code, stdout, stderr, field } = await cli.run(['conformance', server.url, ...flags])
  expect([code, field('Conformant')]).toEqual([4, 'not measured'])
  expect(stdout).not.toContain('FAIL')
  expect(stdout.match(/The agent requires credentials/g)).toHaveLength(1)
  expect(stderr.match(/requires credentials/g)).toHaveLength(1)
})

it('the table comes first, and each reason why rules were not measured once', async () => {
  const { server } = await startTestServer(count, { profile })
  const { stdout } = await cli.run(['conformance', server.url, '--task-text', 'count', '--no-probe'])
  const positions = ['Version  Binding', 'Summary:', 'Notes:', 'Not measured:'].map((text) => stdout.indexOf(text))
  expect(positions.every((position, index) => position > (positions[index - 1] ?? -1))).toBe(true)
  expect(stdout.match(/--long-running-text/g)).toHaveLength(1)
})

it('an interface without a version is judged, and breaks a rule of cards', async () => {
  const { server } = await startTestServer(count, { profile })
  const withoutVersion = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init)
    if (!url.endsWith('.json')) return response
    const { supportedInterfaces, ...card } = (await response.json()) as Record<string, object[]>
    const [first] = supportedInterfaces ?? []
    const only = { ...first, protocolVersion: undefined }
    return Response.json({ ...card, supportedInterfaces: [only] })
  }
  const rules = ['card/interfaces', 'get/unknown']
  const { checks } = await conformance(server.url, { fetch: withoutVersion, versions: ['1.0'], rules, probe: false })
  expect(checks.map(({ rule, outcome }) => [rule, outcome])).toEqual([
    ['card/interfaces', 'failed'],
    ['get/unknown', 'passed'],
  ])
})

it('parley conformance exits with 1 if the agent breaks a MUST, and shows the evidence', async () => {
  const origin = await startLegacyAgent()
  const run = (...args: readonly string[]) => cli.run(['conformance', origin, '--no-probe', ...args])
  const rule = ['--a2a-version', '0.2', '--rule', 'send/no-message']
  const [table, junit, none] = await Promise.all([run(...rule, '--verbose'), run(...rule, '-o', 'junit'), run()])
  expect([table.code, junit.code]).toEqual([1, 1])
  expect(table.stdout).toContain('FAIL MUST   0.2 JSONRPC   send/no-message: Params without a message are refused.')
  expect(table.stdout).toContain(`> POST ${origin}/`)
  expect(junit.stdout).toContain('<failure type="MUST"')
  expect(none.stderr).toContain('declares no interface that can be judged')
})
