import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { demoAgent } from '../../../src/cli/serve/demo-agent.ts'
import type { JsonObject } from '../../../src/core/base/json.ts'
import { selfSigned } from '../../support/auth/certificates.ts'
import { presentsToken, startOAuthServer } from '../../support/auth/oauth-server.ts'
import { shareCli } from '../../support/processes/cli.ts'
import { startAuthenticatingAgent } from '../../support/servers/authenticating-agent.ts'
import { listenOnFreePort, rpcCard } from '../../support/servers/http-server.ts'
import { message, startRecordingPeer, validMembers } from '../../support/servers/recording-peer.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile })
const secret = 'planted-secret-7f1c'

const schemes = {
  bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
  header: { apiKeySecurityScheme: { location: 'header', name: 'X-Own-Key' } },
  query: { apiKeySecurityScheme: { location: 'query', name: 'own_key' } },
  cookie: { apiKeySecurityScheme: { location: 'cookie', name: 'own' } },
}

function requiring(name: keyof typeof schemes) {
  return (origin: string) =>
    rpcCard(origin, {
      ...validMembers,
      securitySchemes: { own: schemes[name] },
      securityRequirements: [{ schemes: { own: { list: [] } } }],
    })
}

describe('credentials', () => {
  it('AUTH_001: credentials go where the card says, and service parameters are headers of their own', async () => {
    const peers = {
      bearer: await startRecordingPeer({ card: requiring('bearer') }),
      header: await startRecordingPeer({ card: requiring('header') }),
      query: await startRecordingPeer({ card: requiring('query') }),
      cookie: await startRecordingPeer({ card: requiring('cookie') }),
    }
    const results = await Promise.all([
      cli.run(['send', '-a', peers.bearer.origin, 'x', '--bearer', secret, '--svc-param', 'X-Trace: 7']),
      cli.run(['send', '-a', peers.header.origin, 'x', '--api-key', secret]),
      cli.run(['send', '-a', peers.query.origin, 'x', '--api-key', secret]),
      cli.run(['send', '-a', peers.cookie.origin, 'x', '--api-key', secret]),
    ])
    for (const { code } of results) expect(code).toBe(0)
    expect(peers.bearer.calls()[0]?.headers).toMatchObject({ authorization: `Bearer ${secret}`, 'x-trace': '7' })
    expect(peers.header.calls()[0]?.headers).toMatchObject({ 'x-own-key': secret })
    expect(peers.query.calls()[0]?.url).toContain(`own_key=${secret}`)
    expect(peers.cookie.calls()[0]?.headers.cookie).toBe(`own=${secret}`)
    for (const { requests } of Object.values(peers)) expect(JSON.stringify(requests[0])).not.toContain(secret)
    const refused = await cli.run(['send', '-a', peers.bearer.origin, 'x', '--svc-param', `Authorization: ${secret}`])
    expect(refused.code).toBe(2)
    const { stdout } = await cli.run(['send', '--help'])
    expect(/--svc-param <key:value>\s+(.*)/.exec(stdout)?.[1]).not.toMatch(/auth|credential/i)
  })

  it('AUTH_002: credentials can be variables, and the help says who can read them in options', async () => {
    const [bearer, key] = [
      await startRecordingPeer({ card: requiring('bearer') }),
      await startRecordingPeer({ card: requiring('header') }),
    ]
    const results = await Promise.all([
      cli.run(['send', '-a', bearer.origin, 'x'], { env: { A2ACLI_BEARER: secret } }),
      cli.run(['send', '-a', key.origin, 'x'], { env: { A2ACLI_API_KEY: secret, A2ACLI_SVC_PARAM: 'x-trace:7' } }),
    ])
    for (const { code } of results) expect(code).toBe(0)
    expect(bearer.calls()[0]?.headers).toMatchObject({ authorization: `Bearer ${secret}` })
    expect(key.calls()[0]?.headers).toMatchObject({ 'x-own-key': secret, 'x-trace': '7' })
    const { stdout } = await cli.run(['send', '--help'])
    expect(stdout.replace(/\s+/g, ' ')).toContain('visible to other processes of this machine and stay in the history')
  })

  it('a credential of a variable goes to no agent that the .env of a folder names', async () => {
    const peer = await startRecordingPeer({ card: requiring('bearer') })
    const folder = await temporaryDirectory()
    await writeFile(join(folder, '.env'), `A2ACLI_AGENT_CARD=${peer.origin}\n`, { mode: 0o600 })
    const env = { A2ACLI_BEARER: secret }
    const refused = await cli.run(['send', 'x'], { cwd: folder, env })
    expect(refused.stderr).toContain('A2ACLI_BEARER is not used')
    expect(JSON.stringify(peer.requests)).not.toContain(secret)
    const named = await Promise.all([
      cli.run(['send', 'x', '-a', peer.origin], { cwd: folder, env }),
      cli.run(['send', 'x'], { cwd: folder, env: { ...env, A2ACLI_AGENT_CARD: peer.origin } }),
      cli.run(['send', 'x', '--config', join(folder, '.env')], { env }),
    ])
    for (const { code, stderr } of named) expect([code, stderr]).toEqual([0, ''])
    expect(peer.calls().filter(({ headers }) => headers.authorization === `Bearer ${secret}`)).toHaveLength(3)
  })

  it('a credential of a variable does not follow a card to another origin', async () => {
    const other = await startRecordingPeer()
    const peer = await startRecordingPeer({ card: () => requiring('bearer')(other.origin) })
    const args = ['send', '-a', peer.origin, 'x']
    const refused = await cli.run(args, { env: { A2ACLI_BEARER: secret } })
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain(`names an endpoint at ${other.origin}`)
    expect(refused.stderr).toContain('--allow-host')
    expect(JSON.stringify(other.requests)).not.toContain(secret)
    const decided = await Promise.all([
      cli.run([...args, '--allow-host', '127.0.0.1', '--allow-host', 'localhost'], { env: { A2ACLI_BEARER: secret } }),
      cli.run([...args, '--bearer', secret]),
    ])
    for (const { code } of decided) expect(code).toBe(0)
    expect(other.calls()).toHaveLength(2)
  })

  it('the .env of a folder cannot switch off the verification of certificates', async () => {
    const peer = await startRecordingPeer()
    const folder = await temporaryDirectory()
    await writeFile(join(folder, '.env'), 'A2ACLI_INSECURE=1\n')
    const { code, stderr } = await cli.run(['send', '-a', peer.origin, 'x'], { cwd: folder })
    expect(code).toBe(2)
    expect(stderr).toContain('a folder cannot switch off the verification of certificates')
    expect(peer.requests).toEqual([])
    const chosen = await cli.run(['send', '-a', peer.origin, 'x'], { env: { A2ACLI_INSECURE: '1' } })
    expect([chosen.code, chosen.stderr]).toEqual([0, expect.stringContaining('certificates are not verified')])
  })

  it('AUTH_003: credentials over an unverified connection are warned about, and TLS is never switched off silently', async () => {
    const peer = await startRecordingPeer({ card: requiring('bearer') })
    const args = ['send', '-a', peer.origin, 'x', '--bearer', secret]
    const [flag, variable, plain] = await Promise.all([
      cli.run([...args, '--insecure']),
      cli.run(args, { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }),
      cli.run(args),
    ])
    for (const { code, stderr } of [flag, variable]) {
      expect(code).toBe(0)
      expect(stderr).toContain('warning: TLS certificates are not verified')
      expect(stderr).toContain('warning: Credentials are sent over a connection that is not verified')
    }
    expect(plain.stderr).toBe('')
  })

  it('AUTH_004: credentials are shown nowhere, also with --debug and if the agent repeats them', async () => {
    const echo = await startRecordingPeer({
      card: requiring('bearer'),
      result: ({ headers }) => ({ message: message(`You sent ${headers.authorization}`) }),
    })
    const failing = await startRecordingPeer({
      card: requiring('bearer'),
      result: ({ headers }) => ({ error: { code: -32603, message: `bad ${headers.authorization}` } }),
    })
    const query = await startRecordingPeer({ card: requiring('query') })
    const cookie = await startRecordingPeer({ card: requiring('cookie') })
    const results = await Promise.all([
      cli.run(['send', '-a', echo.origin, 'x', '--bearer', secret, '--debug', '--verbose']),
      cli.run(['send', '-a', failing.origin, 'x', '--bearer', secret, '-o', 'json', '--debug']),
      cli.run(['send', '-a', query.origin, 'x', '--api-key', secret, '--debug', '-o', 'json']),
      cli.run(['send', '-a', cookie.origin, 'x', '--debug'], { env: { A2ACLI_API_KEY: secret } }),
      cli.run(['config', 'show', '-o', 'json', '--debug'], { env: { A2ACLI_BEARER: secret } }),
      cli.run(['send', '-a', echo.origin, '--bearer', secret, '--no-such-option']),
    ])
    expect(results.map(({ code }) => code)).toEqual([0, 1, 0, 0, 0, 2])
    expect(results[0]?.field('Message')).toBe('You sent Bearer [redacted]')
    for (const { stdout, stderr } of results) expect(stdout + stderr).not.toContain(secret)
  })

  it('AUTH_008: no credential goes to an endpoint that declares no scheme for it', async () => {
    const open = await startRecordingPeer({
      card: (origin) => rpcCard(origin, { ...validMembers, capabilities: { extendedAgentCard: true } }),
      handle({ method }, response) {
        if (method !== 'POST') return false
        response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('{}')
        return true
      },
    })
    const [sent, extended] = await Promise.all([
      cli.run(['send', '-a', open.origin, 'x', '--bearer', secret, '-o', 'json']),
      cli.run(['card', 'get', '--extended', '-a', open.origin, '--bearer', secret, '-o', 'json']),
    ])
    expect([sent.code, extended.code]).toEqual([4, 4])
    expect(sent.stderr).toContain('declares no scheme for a bearer token')
    expect(extended.json().error.code).toBe('A2ACLI_ERR_AUTH_FAILED')
    expect(JSON.stringify(open.requests)).not.toContain(secret)
  })

  it('AUTH_009: a client certificate is presented to an agent that requires mutual TLS', async () => {
    const pair = selfSigned()
    const folder = await temporaryDirectory()
    await Promise.all([writeFile(join(folder, 'cert.pem'), pair.cert), writeFile(join(folder, 'key.pem'), pair.key)])
    const server = createTlsServer(
      { ...pair, ca: pair.cert, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const card = rpcCard(origin, {
          ...validMembers,
          securitySchemes: { tls: { mtlsSecurityScheme: {} } },
          securityRequirements: [{ schemes: { tls: { list: [] } } }],
        })
        const result = { jsonrpc: '2.0', id: 1, result: { message: message('Welcome') } }
        if (request.method === 'GET') response.end(JSON.stringify(card))
        else if ((request.socket as TLSSocket).authorized) response.end(JSON.stringify(result))
        else response.writeHead(401).end('{}')
      },
    )
    onTestFinished(() => void server.close())
    const origin = `https://localhost:${await listenOnFreePort(server)}`
    const base = ['send', '-a', origin, 'x', '--ca-cert', 'cert.pem']
    const [certified, without] = await Promise.all([
      cli.run([...base, '--cert', 'cert.pem', '--key', 'key.pem'], { cwd: folder }),
      cli.run(base, { cwd: folder }),
    ])
    expect(certified.field('Message')).toBe('Welcome')
    expect(without.code).toBe(4)
  })

  it('AUTH_011: a task that needs authorization says so, and gets it within a chat, unseen', async () => {
    const sent = await cli.run(['send', '-a', demo().server.url, 'auth'])
    expect([sent.code, sent.field('State')]).toEqual([0, 'TASK_STATE_AUTH_REQUIRED'])
    expect(sent.field('Message')).toBe('Please send a token for your calendar.')
    expect(sent.stderr).toContain('needs authorization')
    expect(sent.stderr).toContain(`--task-id ${sent.field('Task')}`)
    const { code, stdout, stderr } = await cli.run(['chat', demo().server.url], { input: 'auth\nchat-secret-token\n' })
    expect(code).toBe(0)
    expect(stdout).toContain('access is granted')
    expect(stdout + stderr).not.toContain('chat-secret-token')
  })
})

describe('auth', () => {
  async function startOAuthAgent(flow: 'device' | 'client' | 'openid') {
    const server = await startOAuthServer()
    const { tokenUrl, origin } = server
    const flows = {
      device: { deviceCode: { tokenUrl, deviceAuthorizationUrl: `${origin}/device`, scopes: {} } },
      client: { clientCredentials: { tokenUrl, scopes: {} } },
    }
    const scheme: JsonObject =
      flow === 'openid'
        ? { openIdConnectSecurityScheme: { openIdConnectUrl: `${origin}/.well-known/openid-configuration` } }
        : { oauth2SecurityScheme: { flows: flows[flow] } }
    const agent = await startAuthenticatingAgent({
      card: () => ({
        securitySchemes: { oauth: scheme },
        securityRequirements: [{ schemes: { oauth: { list: ['read'] } } }],
      }),
      accepts: ({ headers }) => presentsToken(server, headers),
    })
    return { server, agent }
  }
  const hidden = (text: string, tokens: Iterable<string>) => {
    for (const token of tokens) expect(text).not.toContain(token)
  }

  it('AUTH_005: a login by device code shows the address and the code, and later commands use it', async () => {
    const { server, agent } = await startOAuthAgent('device')
    const before = await cli.run(['send', '-a', agent.origin, 'x', '-o', 'json'])
    expect(before.json().error.code).toBe('A2ACLI_ERR_CREDENTIALS_MISSING')
    const login = await cli.run(['auth', 'login', '-a', agent.origin, '--client-id', 'me'])
    expect(login).toMatchObject({ code: 0 })
    expect(login.stderr).toContain(`Open ${server.origin}/go`)
    expect(login.stderr).toContain('Code: ABCD')
    const sent = await cli.run(['send', '-a', agent.origin, 'x', '--debug'])
    expect(sent.code).toBe(0)
    const status = await cli.run(['auth', 'status', '-o', 'json'])
    expect(status.json().logins).toMatchObject([{ agent: agent.origin, flow: 'device-code', isExpired: false }])
    hidden(login.stdout + login.stderr + sent.stdout + sent.stderr + status.stdout, server.validTokens)
    const logout = await cli.run(['auth', 'logout', '-a', agent.origin])
    expect(logout.field('Logged out')).toBe(agent.origin)
    const after = await cli.run(['send', '-a', agent.origin, 'x'])
    expect(after.code).toBe(4)
  })

  it('AUTH_006: client credentials are exchanged for a token, and the secret goes only to a trusted server', async () => {
    const { server, agent } = await startOAuthAgent('client')
    const env = { A2ACLI_CLIENT_SECRET: secret }
    const base = ['auth', 'login', '-a', agent.origin, '--client-id', 'program']
    const untrusted = await cli.run(base, { env })
    expect(untrusted).toMatchObject({ code: 2, stderr: expect.stringContaining('--trust-card') })
    expect(server.tokenRequests).toHaveLength(0)
    const login = await cli.run([...base, '--token-url', server.tokenUrl], { env })
    expect(login.code).toBe(0)
    expect(server.tokenRequests).toMatchObject([{ grant_type: 'client_credentials', scope: 'read' }])
    const sent = await cli.run(['send', '-a', agent.origin, 'x'])
    expect(sent.code).toBe(0)
    expect(login.stdout + login.stderr + sent.stdout + sent.stderr).not.toContain(secret)
    hidden(login.stdout + login.stderr + sent.stdout + sent.stderr, server.validTokens)
    await cli.run(['auth', 'logout', '--all'])
  })

  it('AUTH_007: a login is stored for its owner only, attached to calls of its agent only, and forgotten', async () => {
    const [mine, other] = [
      await startRecordingPeer({ card: requiring('bearer') }),
      await startRecordingPeer({ card: requiring('bearer') }),
    ]
    const login = await cli.run(['auth', 'login', '-a', mine.origin], { input: `${secret}\n` })
    expect(login.code).toBe(0)
    const file = join(cli.home(), '.config', 'a2a-cli', 'credentials.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).toContain(secret)
    await Promise.all([cli.run(['send', '-a', mine.origin, 'x']), cli.run(['send', '-a', other.origin, 'x'])])
    expect(mine.calls()[0]?.headers.authorization).toBe(`Bearer ${secret}`)
    expect(other.calls()[0]?.headers.authorization).toBeUndefined()
    const status = await cli.run(['auth', 'status'])
    expect(status.field('Agent')).toBe(mine.origin)
    expect(login.stdout + login.stderr + status.stdout + status.stderr).not.toContain(secret)
    expect((await cli.run(['auth', 'logout', '--all'])).field('Logged out')).toBe(mine.origin)
    await expect(stat(file)).rejects.toThrow('ENOENT')
  })

  it('AUTH_010: a login with OpenID Connect discovers the server and returns from the browser', async () => {
    const { server, agent } = await startOAuthAgent('openid')
    const args = [
      'auth',
      'login',
      '-a',
      agent.origin,
      '--client-id',
      'me',
      '--flow',
      'authorization-code',
      '--no-browser',
    ]
    const process = cli.start(args, { input: '' })
    const [, address = ''] = await process.until(/^Open (http\S+)$/m)
    const { searchParams } = new URL(address)
    expect(searchParams.get('code_challenge_method')).toBe('S256')
    const callback = new URL(searchParams.get('redirect_uri') ?? '')
    callback.searchParams.set('code', 'granted')
    callback.searchParams.set('state', searchParams.get('state') ?? '')
    callback.searchParams.set('iss', server.origin)
    await fetch(callback)
    const { code, stderr } = await process.result
    expect(stderr).toContain('Stored in')
    expect(code).toBe(0)
    expect((await cli.run(['send', '-a', agent.origin, 'x'])).code).toBe(0)
    await cli.run(['auth', 'logout', '--all'])
  })
})
