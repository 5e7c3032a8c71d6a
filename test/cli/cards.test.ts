import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { demoAgent } from '../../src/cli/serve/demo-agent.ts'
import { newSigningKey, signCard } from '../../src/entries/auth.ts'
import { createCertificate } from '../support/auth/certificates.ts'
import { shareCli } from '../support/processes/cli.ts'
import { listenOnFreePort, respondWith, rpcCard, startHttpServer } from '../support/servers/http-server.ts'
import { message, startRecordingPeer, task, validMembers } from '../support/servers/recording-peer.ts'
import { shareTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, grpc: true })
const cardOf = async (url: string) => await (await fetch(`${url}/.well-known/agent-card.json`)).json()

describe('card get', () => {
  it('CARD_GET_001: a host, an origin, a URL, a file URL and a path lead to the card', async () => {
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
  })

  it('CARD_GET_001: a card with an ETag is cached, and revalidated by the next command', async () => {
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
    expect(broken.code).toBe(1)
    expect(broken.stderr).toMatch(/error: The card breaks the schema: .*(version|skills)/)
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

  it('TX_001, TX_002, TX_003, VER_001: the order of the card counts unless --transport names another, with tenant and version', async () => {
    const peer = await startRecordingPeer({
      card: interfaces,
      handle({ url }, response) {
        if (!url.startsWith('/rest')) return false
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ message: message('REST') }))
        return true
      },
    })
    const base = ['send', '-a', peer.origin, 'x']
    const first = await cli.run(base)
    const second = await cli.run([...base, '--transport', 'grpc', '--transport', 'jsonrpc'])
    const fallback = await cli.run([...base, '--transport', 'GRPC'])
    const wrong = await cli.run([...base, '--transport', 'SOAP'])
    expect([first.field('Message'), second.field('Message'), fallback.field('Message')]).toEqual(['REST', 'Hi', 'REST'])
    expect(wrong.code).toBe(2)
    const [rest, rpc] = peer.calls()
    expect(rest?.url).toBe('/rest/acme/message:send')
    expect(rest?.body.tenant ?? 'acme').toBe('acme')
    expect(rpc?.body.params).not.toHaveProperty('tenant')
    for (const { headers } of peer.requests) expect(headers['a2a-version']).toBe('1.0')
  })

  it('TX_004, TX_005: JSON-RPC, REST and gRPC are selectable and give the same answer', async () => {
    const run = (transport: string) =>
      cli.run(['send', '-a', demo().server.url, 'count', '--transport', transport, '--debug', '-o', 'json'])
    const results = await Promise.all(['JSONRPC', 'HTTP+JSON', 'GRPC'].map(run))
    for (const { code, json } of results) {
      expect(code).toBe(0)
      expect(json().task.status.state).toBe('TASK_STATE_COMPLETED')
    }
    const [rpc, rest, grpc] = results.map(({ stderr }) => stderr)
    expect(rpc).toContain('"method":"SendMessage"')
    expect(rest).toContain('/message:send')
    expect(grpc).toContain('/lf.a2a.v1.A2AService/SendMessage')
    const missing = await Promise.all(
      ['JSONRPC', 'HTTP+JSON', 'GRPC'].map((transport) =>
        cli.run(['task', 'get', 'nothing', '-a', demo().server.url, '--transport', transport, '-o', 'json']),
      ),
    )
    for (const { json } of missing) expect(json().error).toMatchObject({ code: 'TaskNotFoundError', a2aCode: -32001 })
  })

  it('VER_001: an agent below 1.0 is called only after an explicit opt-in', async () => {
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

describe('bad servers', () => {
  it('a web page, a wrong certificate and a stream that stalls are one-line errors with a hint', async () => {
    const page = await startHttpServer(
      respondWith(200, '<html><body>Welcome</body></html>', { 'content-type': 'text/html' }),
    )
    const expired = createCertificate({ commonName: 'localhost', dns: ['localhost'], validUntil: '200101' })
    const tls = createTlsServer(expired, (_, response) =>
      response.end(JSON.stringify(rpcCard('https://localhost', validMembers))),
    )
    onTestFinished(() => void tls.close())
    const port = await listenOnFreePort(tls)
    const stalling = await startRecordingPeer({
      handle({ body }, response) {
        if (body?.method !== 'SendStreamingMessage') return false
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        return true
      },
    })
    const [html, certificate, insecure, stall] = await Promise.all([
      cli.run(['card', 'get', '-a', page, '-o', 'json']),
      cli.run(['card', 'get', '-a', `https://127.0.0.1:${port}`, '-o', 'json']),
      cli.run(['card', 'get', '-a', `https://127.0.0.1:${port}`, '--insecure', '-o', 'json']),
      cli.run(['send', '-a', stalling.origin, 'x', '--stream', '-o', 'json', '--timeout', '3s']),
    ])
    expect([html.code, certificate.code, insecure.code, stall.code]).toEqual([3, 3, 0, 5])
    expect(html.json().error.code).toBe('A2ACLI_ERR_CARD_NOT_FOUND')
    expect(html.json().error.message).toContain('web page')
    expect(certificate.json().error).toMatchObject({
      code: 'A2ACLI_ERR_UNREACHABLE',
      hint: expect.stringContaining('--ca-cert'),
    })
    expect(insecure.stderr).toContain('warning: TLS certificates are not verified')
    expect(stall.lines().at(-1)).toMatchObject({ error: { code: 'A2ACLI_ERR_TIMEOUT' } })
    for (const { stderr } of [html, certificate, stall]) {
      expect(stderr).toMatch(/^error: .+\nhint: .+\n$/m)
      expect(stderr).not.toMatch(/^\s+at /m)
    }
  })

  it('a reader of the output that leaves early ends the command quietly', async () => {
    const big = { text: 'x'.repeat(200_000) }
    const peer = await startRecordingPeer({
      result: () => ({ task: task('COMPLETED', { artifacts: [{ artifactId: 'a', parts: [big] }] }) }),
    })
    const process = cli.start(['send', '-a', peer.origin, 'x'], { input: '' })
    process.child.stdout.destroy()
    const [code] = await once(process.child, 'exit')
    expect(code).toBe(0)
    expect(process.stderr()).toBe('')
  })

  it('CONFIG_001: what persists is in the conventional folders', async () => {
    await cli.run(['card', 'get', '-a', demo().server.url])
    const cache = join(cli.home(), '.cache', 'a2a-cli', 'cards.json')
    expect(JSON.parse(await readFile(cache, 'utf8'))).toHaveProperty([
      `${demo().server.url}/.well-known/agent-card.json`,
    ])
    expect((await stat(cache)).mode & 0o077).toBe(0)
  })
})
