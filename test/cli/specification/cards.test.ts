import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../../src/cli/serve/demo-agent.ts'
import { newSigningKey, signCard } from '../../../src/entries/auth.ts'
import { shareCli } from '../../support/processes/cli.ts'
import { respondWith, rpcCard, startHttpServer } from '../../support/servers/http-server.ts'
import { message, startRecordingPeer, task, validMembers } from '../../support/servers/recording-peer.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, grpc: true })
const cardOf = async (url: string) => await (await fetch(`${url}/.well-known/agent-card.json`)).json()

describe('card get', () => {
  it('CARD_GET_001: a host, an origin, a URL, a file URL and a path lead to the card, which is cached as HTTP says', async () => {
    const { url } = demo().server
    const folder = await temporaryDirectory()
    const path = join(folder, 'card.json')
    const card = await cardOf(url)
    await writeFile(path, JSON.stringify(card))
    const references = [new URL(url).host, url, `${url}/.well-known/agent-card.json`, `${pathToFileURL(path)}`, path]
    const results = await Promise.all(references.map((ref) => cli.run(['card', 'get', '-a', ref, '-o', 'json'])))
    for (const { code, json, stderr } of results) {
      expect([code, stderr]).toEqual([0, ''])
      expect(json().name).toBe('Demo')
    }
    expect(results[4]?.json()).toEqual(card)
    const { stdout, field } = await cli.run(['card', 'get', '-a', url])
    expect(field('Name')).toBe('Demo')
    expect(field('Streaming')).toBe('yes')
    expect(field('Security scheme')).toBe('none')
    expect(field('Signature')).toBe('absent')
    expect(stdout).toMatch(/^Interface: JSONRPC 1\.0 http/m)
    expect(stdout).toMatch(/^Skill: hello/m)
    const sent = await cli.run(['send', '-a', path, 'hello'])
    expect(sent.field('Message')).toMatch(/^Hello/)

    const peer = await startRecordingPeer({
      handle({ headers }, response) {
        response.setHeader('etag', '"one"').setHeader('content-type', 'application/json')
        if (headers['if-none-match'] === '"one"') response.writeHead(304).end()
        else response.end(JSON.stringify(rpcCard('http://127.0.0.1', validMembers)))
        return true
      },
    })
    for (let round = 0; round < 2; round++) {
      const { code, json } = await cli.run(['card', 'get', '-a', peer.origin, '-o', 'json'])
      expect(code).toBe(0)
      expect(json().name).toBe('Scripted')
    }
    expect(peer.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"one"'])
  })

  it('CARD_GET_002: --validate names the members that break the schema, and ends with 1', async () => {
    const peer = await startRecordingPeer({
      card: (origin) => rpcCard(origin, { ...validMembers, skills: [{ id: 'x' }], version: 7 }),
    })
    const [valid, broken] = await Promise.all([
      cli.run(['card', 'get', '-a', demo().server.url, '--validate']),
      cli.run(['card', 'get', '-a', peer.origin, '--validate', '-o', 'json']),
    ])
    expect(valid).toMatchObject({ code: 0 })
    expect(valid.field('Schema')).toBe('valid')
    expect([broken.code, broken.json().error.code]).toEqual([1, 'A2ACLI_ERR_CARD_INVALID'])
    expect(broken.stderr).toMatch(/error: The card breaks the schema: .*(version|skills)/)
  })

  it('CARD_GET_003: the extended card is fetched only with a scheme that the card declares', async () => {
    const secret = 'planted-secret-7f1c'
    const declared = {
      ...validMembers,
      capabilities: { extendedAgentCard: true },
      securitySchemes: { own: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { own: { list: [] } } }],
    }
    const peer = await startRecordingPeer({
      card: (origin) => rpcCard(origin, declared),
      result: (_, origin) => rpcCard(origin, { ...validMembers, name: 'Extended' }),
    })
    const open = await startRecordingPeer({
      card: (origin) => rpcCard(origin, { ...validMembers, capabilities: { extendedAgentCard: true } }),
    })
    const run = (origin: string) =>
      cli.run(['card', 'get', '--extended', '-a', origin, '--bearer', secret, '-o', 'json'])
    const [extended, refused] = await Promise.all([run(peer.origin), run(open.origin)])
    expect([extended.code, extended.json().name]).toEqual([0, 'Extended'])
    expect(peer.calls()[0]?.headers.authorization).toBe(`Bearer ${secret}`)
    expect([refused.code, refused.json().error.code]).toEqual([4, 'A2ACLI_ERR_AUTH_FAILED'])
    expect(JSON.stringify(open.requests)).not.toContain(secret)
  })

  it('CARD_GET_004: signatures are verified, unverifiable or absent', async () => {
    const { key, kid, alg } = await newSigningKey('ES256')
    const { d: _, ...publicKey } = key
    const folder = await temporaryDirectory()
    const supportedInterfaces = [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    const base = { name: 'Signed', capabilities: {}, supportedInterfaces, ...validMembers }
    const signed = await signCard(base, { key, kid, alg })
    await writeFile(join(folder, 'card.json'), JSON.stringify(signed))
    await writeFile(join(folder, 'changed.json'), JSON.stringify({ ...signed, name: 'Changed' }))
    await writeFile(join(folder, 'jwks.json'), JSON.stringify({ keys: [{ ...publicKey, kid }] }))
    const run = (...args: readonly string[]) => cli.run(['card', 'get', ...args], { cwd: folder })
    const [verified, unknown, changed] = await Promise.all([
      run('-a', './card.json', '--jwks', 'jwks.json'),
      run('-a', './card.json'),
      run('-a', './changed.json', '--jwks', 'jwks.json'),
    ])
    expect(verified.field('Signature')).toBe('verified')
    expect(unknown.field('Signature')).toMatch(/^unverifiable \(no keys/)
    expect(changed.field('Signature')).toMatch(/^unverifiable /)
    for (const { code } of [verified, unknown, changed]) expect(code).toBe(0)
  })

  it('CARD_GET_005: an entry of a catalog or of a registry is a reference', async () => {
    const { url } = demo().server
    const inline = await cardOf(url)
    const origin = await startHttpServer((request, response) => {
      const catalog = {
        entries: [
          { identifier: 'urn:demo', displayName: 'Demo by URL', url: `${url}/.well-known/agent-card.json` },
          { identifier: 'urn:inline', displayName: 'Inline', data: inline },
        ],
      }
      const body = request.url === '/agents/7' ? { id: '7', card: inline } : catalog
      respondWith(200, body)(request, response)
    })
    const run = (ref: string) => cli.run(['card', 'get', '-a', ref, '-o', 'json'])
    const [byName, byId, entry, missing] = await Promise.all([
      run(`${origin}/ai-catalog.json#${encodeURIComponent('Demo by URL')}`),
      run(`${origin}/ai-catalog.json#urn:inline`),
      run(`${origin}/agents/7#card`),
      run(`${origin}/ai-catalog.json#nothing`),
    ])
    for (const { code, json } of [byName, byId, entry]) {
      expect(code).toBe(0)
      expect(json().name).toBe('Demo')
    }
    expect(missing.code).toBe(3)
    expect(missing.json().error).toMatchObject({
      code: 'A2ACLI_ERR_CARD_NOT_FOUND',
      message: expect.stringContaining('Inline'),
    })
  })
})

describe('transports and versions', () => {
  const interfaces = (origin: string) =>
    rpcCard(origin, {
      ...validMembers,
      supportedInterfaces: [
        { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'acme' },
        { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
    })

  const restPeer = () =>
    startRecordingPeer({
      card: interfaces,
      handle({ url }, response) {
        if (!url.startsWith('/rest')) return false
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ message: message('REST') }))
        return true
      },
    })

  it('TX_001: the first interface of the card that the command line speaks is used', async () => {
    const peer = await restPeer()
    const sent = await cli.run(['send', '-a', peer.origin, 'x'])
    expect(sent.field('Message')).toBe('REST')
    expect(peer.calls().map(({ url }) => url)).toEqual(['/rest/acme/message:send'])
  })

  it('TX_002: --transport is an order of its own, and falls back to the order of the card', async () => {
    const peer = await restPeer()
    const run = (...names: readonly string[]) =>
      cli.run(['send', '-a', peer.origin, 'x', ...names.flatMap((name) => ['--transport', name])])
    const [chosen, ordered, fallback, wrong] = await Promise.all([
      ...[run('JSONRPC'), run('grpc', 'jsonrpc', 'http+json'), run('GRPC'), run('SOAP')],
    ])
    expect([chosen, ordered, fallback].map((result) => result?.field('Message'))).toEqual(['Hi', 'Hi', 'REST'])
    expect(wrong?.code).toBe(2)
    const variable = await cli.run(['send', '-a', peer.origin, 'x'], { env: { A2ACLI_TRANSPORT: 'GRPC,JSONRPC' } })
    expect(variable.field('Message')).toBe('Hi')
  })

  it('TX_003: the tenant of the interface is in every request, and without one there is none', async () => {
    const withTenant = (tenant?: string) =>
      startRecordingPeer({
        card: (origin) =>
          rpcCard(origin, {
            ...validMembers,
            supportedInterfaces: [
              { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', ...(tenant && { tenant }) },
            ],
          }),
        result: ({ body }) => (body.method === 'ListTasks' ? { tasks: [], nextPageToken: '' } : task('CANCELED')),
      })
    const [own, none] = [await withTenant('acme'), await withTenant()]
    for (const { origin } of [own, none]) {
      for (const args of [
        ['task', 'get', 't-1'],
        ['task', 'cancel', 't-1'],
        ['task', 'list'],
      ]) {
        expect((await cli.run([...args, '-a', origin])).code).toBe(0)
      }
      await cli.run(['send', 'x', '-a', origin])
    }
    expect(own.calls().map(({ body }) => body.params.tenant)).toEqual(['acme', 'acme', 'acme', 'acme'])
    expect(none.calls().map(({ body }) => 'tenant' in body.params)).toEqual([false, false, false, false])
    const rest = await restPeer()
    await cli.run(['send', '-a', rest.origin, 'x'])
    expect(rest.calls()[0]?.url).toBe('/rest/acme/message:send')
  })

  it('TX_004: JSON-RPC and REST are selectable and give the same answer', async () => {
    const run = (transport: string) =>
      cli.run(['send', '-a', demo().server.url, 'count', '--transport', transport, '--debug', '-o', 'json'])
    const [rpc, rest] = [await run('JSONRPC'), await run('HTTP+JSON')]
    for (const { code, json } of [rpc, rest]) {
      expect([code, json().task.status.state]).toEqual([0, 'TASK_STATE_COMPLETED'])
      expect(json().task.artifacts[0]).toMatchObject({ name: 'numbers' })
    }
    expect(rpc.stderr).toContain('"method":"SendMessage"')
    expect(rest.stderr).toContain('/message:send')
  })

  it('TX_005: gRPC is selectable, also for streams', async () => {
    const run = (...args: readonly string[]) =>
      cli.run(['send', '-a', demo().server.url, 'count', '--transport', 'GRPC', '-o', 'json', ...args])
    const [sent, stream] = await Promise.all([run('--debug'), run('--stream')])
    expect([sent.code, sent.json().task.status.state]).toEqual([0, 'TASK_STATE_COMPLETED'])
    expect(sent.stderr).toContain('/lf.a2a.v1.A2AService/SendMessage')
    expect(stream.lines().filter(({ artifactUpdate }) => artifactUpdate)).toHaveLength(3)
    expect(stream.lines().at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  })

  it('VER_001: every request names its version, and versions below 1.0 are called only after an opt-in', async () => {
    const peer = await startRecordingPeer({
      card: (origin) => ({
        ...{ name: 'Old', description: 'Old', version: '1', url: `${origin}/rpc`, protocolVersion: '0.3.0' },
        ...{ capabilities: {}, skills: [], defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
      }),
      result: () => ({ kind: 'message', messageId: 'm', role: 'agent', parts: [{ kind: 'text', text: 'old' }] }),
    })
    const base = ['send', '-a', peer.origin, 'x', '-o', 'json']
    const refused = await cli.run(base)
    expect(refused.code).toBe(1)
    expect(refused.json().error).toMatchObject({ code: 'VersionNotSupportedError', a2aCode: -32009 })
    expect(refused.json().error.hint).toContain('--a2a-version 0.3')
    expect(peer.calls()).toHaveLength(0)
    const [named, legacy, other] = await Promise.all([
      cli.run([...base, '--a2a-version', '0.3']),
      cli.run([...base, '--legacy']),
      cli.run([...base, '--a2a-version', '0.1']),
    ])
    for (const { code, json } of [named, legacy]) {
      expect(code).toBe(0)
      expect(json().message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'old' }] })
    }
    expect(other.json().error.code).toBe('VersionNotSupportedError')
    for (const { headers } of peer.requests) expect(headers['a2a-version']).toMatch(/^(1\.0|0\.3)$/)
    const versions = async (...names: readonly string[]) => {
      const agent = await startRecordingPeer({
        card: (origin) =>
          rpcCard(origin, {
            ...validMembers,
            supportedInterfaces: names.map((protocolVersion) => ({
              ...{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
            })),
          }),
      })
      const { code } = await cli.run(['send', '-a', agent.origin, 'x'])
      return [code, ...new Set(agent.calls().map(({ headers }) => headers['a2a-version']))]
    }
    // An unknown 1.x agent is called as 1.0; a 2.0 agent and a 0.3 agent are not called.
    expect(
      await Promise.all([
        ...[versions('1.1', '0.3'), versions('1.2', '0.3'), versions('0.3', '1.0')],
        ...[versions('2.0'), versions('0.3')],
      ]),
    ).toEqual([[0, '1.1'], [0, '1.0'], [0, '1.0'], [1], [1]])
  })

  it('VER_002: an extension that the card requires must be declared, and is sent then', async () => {
    const uri = 'https://example.com/ext/v1'
    const peer = await startRecordingPeer({
      card: (origin) => rpcCard(origin, { ...validMembers, capabilities: { extensions: [{ uri, required: true }] } }),
    })
    const base = ['send', '-a', peer.origin, 'x', '-o', 'json']
    const refused = await cli.run(base)
    expect(refused.code).toBe(1)
    expect(refused.json().error).toMatchObject({ code: 'ExtensionSupportRequiredError', a2aCode: -32008 })
    expect(peer.calls()).toHaveLength(0)
    const declared = await cli.run([...base, '--extension', uri])
    expect(declared.code).toBe(0)
    expect(peer.calls()[0]?.headers['a2a-extensions']).toBe(uri)
  })

  it('VER_003: a capability that the card does not declare is not used', async () => {
    const peer = await startRecordingPeer()
    const [push, extended] = await Promise.all([
      cli.run(['task', 'push-config', 'list', 't-1', '-a', peer.origin, '-o', 'json']),
      cli.run(['card', 'get', '--extended', '-a', peer.origin, '-o', 'json']),
    ])
    expect(push.json().error.code).toBe('PushNotificationNotSupportedError')
    expect(extended.json().error.code).toBe('ExtendedAgentCardNotConfiguredError')
    expect(peer.calls()).toHaveLength(0)
  })
})
