import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../support/async.ts'
import { createCertificate } from '../support/auth/certificates.ts'
import { shareCli } from '../support/processes/cli.ts'
import { closedPort, listenOnFreePort, respondWith, rpcCard, startHttpServer } from '../support/servers/http-server.ts'
import { startRecordingPeer, task, validMembers } from '../support/servers/recording-peer.ts'

const cli = shareCli()

describe('wrong usage', () => {
  it('a wrong command, option or address is one line with a hint', async () => {
    const port = await closedPort()
    const [unknown, option, value, command, unreachable] = await Promise.all([
      cli.run(['crad', 'get']),
      cli.run(['card', 'get', '--agent-crad', 'x', '-o', 'json']),
      cli.run(['card', 'get', '--agent-card']),
      cli.run(['card']),
      cli.run(['card', 'get', '-a', `http://127.0.0.1:${port}`, '-o', 'json']),
    ])
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toMatch(/no command "crad"\.\n.*Did you mean parley card/)
    expect(option.code).toBe(2)
    expect(option.json()).toMatchObject({ error: { code: 'A2ACLI_ERR_USAGE', hint: 'Did you mean --agent-card?' } })
    expect(value).toMatchObject({ code: 2, stderr: expect.stringContaining('--agent-card needs a value') })
    expect(command.code).toBe(2)
    expect(unreachable.code).toBe(3)
    expect(unreachable.json()).toMatchObject({ error: { code: 'A2ACLI_ERR_UNREACHABLE' } })
    for (const { stderr } of [unknown, option, value, command, unreachable]) expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('a value that no setting accepts is a usage error that names where it comes from', async () => {
    const [output, timeout, version, reference] = await Promise.all([
      cli.run(['config', 'show'], { env: { A2ACLI_OUTPUT: 'yaml' } }),
      cli.run(['card', 'get', '-a', 'x', '--timeout', 'soon']),
      cli.run(['card', 'get', '-a', 'x', '--a2a-version', '2.0']),
      cli.run(['card', 'get', '-a', 'ftp://x']),
    ])
    expect(output).toMatchObject({ code: 2, stderr: expect.stringContaining('A2ACLI_OUTPUT') })
    expect(timeout).toMatchObject({ code: 2, stderr: expect.stringContaining('--timeout: expected a time') })
    expect(version).toMatchObject({ code: 2, stderr: expect.stringContaining('expected one of 1.1') })
    expect(reference).toMatchObject({ code: 2, stderr: expect.stringContaining('expected http, https or file') })
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
      hint: expect.stringContaining('renew it'),
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
})

describe('interruptions', () => {
  it('Ctrl-C ends the command with 130 while it fetches the card, waits for the answer, and follows a stream', async () => {
    const silent = (method: string) =>
      startRecordingPeer({
        handle({ body }, response) {
          if ((body?.method ?? 'card') !== method) return false
          if (method === 'SendStreamingMessage') {
            response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
          }
          return true
        },
      })
    const interrupt = async (method: string, ...args: readonly string[]) => {
      const peer = await silent(method)
      const process = cli.start(['send', '-a', peer.origin, 'x', ...args], { input: '' })
      await until(() => peer.requests.some(({ body }) => (body?.method ?? 'card') === method), 30_000)
      process.child.kill('SIGINT')
      return await process.result
    }
    const results = await Promise.all([
      interrupt('card'),
      interrupt('SendMessage'),
      interrupt('SendStreamingMessage', '--stream'),
    ])
    for (const { code, stderr } of results) {
      expect(code).toBe(130)
      expect(stderr).toMatch(/^Interrupted\.$/m)
      expect(stderr).not.toMatch(/error:|^\s+at /m)
    }
  })
})
