import { createServer as createTlsServer } from 'node:https'
import { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { selfSigned } from '../../../../test/support/auth/certificates.ts'
import {
  listenOnFreePort,
  rpcCard,
  startHttpServer,
  startScriptedPeer,
} from '../../../../test/support/servers/http-server.ts'
import type { JsonObject } from '../../base/json.ts'
import { connect as connectAnywhere } from '../../client/connect.ts'
import { certificateCredentials } from '../../client/credentials/static-credentials.ts'
import { A2AError } from '../../protocol/errors.ts'
import { connect, connectBy } from './connect.ts'
import { createGuardedFetch } from './guarded-fetch.ts'

function tlsCard(origin: string): object {
  return rpcCard(origin, {
    securitySchemes: { tls: { mtlsSecurityScheme: {} } },
    securityRequirements: [{ schemes: { tls: {} } }],
  })
}

async function failureOf(call: Promise<unknown>): Promise<A2AError> {
  const error = await call.catch((thrown) => thrown)
  if (!(error instanceof A2AError)) throw new Error('it did not fail', { cause: error })
  return error
}

describe('connect on Node', () => {
  it('the client presents a certificate to an agent that requires one', async () => {
    const pair = selfSigned()
    const tls = { ...pair, ca: pair.cert, requestCert: true, rejectUnauthorized: false }
    const server = createTlsServer(tls, (request, response) => {
      const isAuthenticated = request.socket instanceof TLSSocket && request.socket.authorized
      if (request.method === 'GET') response.end(JSON.stringify(tlsCard(origin)))
      else if (isAuthenticated)
        response.end(
          '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"Welcome"}]}}}',
        )
      else response.writeHead(401).end('{}')
    })
    onTestFinished(() => void server.close())
    const origin = `https://localhost:${await listenOnFreePort(server)}`
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const send = async (tls: { ca: string; cert?: string; key?: string }) => {
      const fetch = createGuardedFetch({ allow: ['localhost'], resolve, tls })
      onTestFinished(() => fetch.close())
      return await (await connect(origin, { fetch, auth: [certificateCredentials()] })).send('Hello')
    }
    expect((await send({ ca: pair.cert, ...pair })).text).toBe('Welcome')
    expect(await failureOf(send({ ca: pair.cert }))).toMatchObject({ code: 'unauthenticated' })
  })

  it('an endpoint on a private address is not called, and the error says why and what to do', async () => {
    const origin = await startScriptedPeer({ card: () => rpcCard('http://169.254.169.254') })
    const client = await connect(origin)
    const failure = await failureOf(client.send('Hello'))
    expect(failure).toMatchObject({ code: 'unavailable', reason: 'guarded', url: 'http://169.254.169.254/rpc' })
    expect(failure.message).toContain('is not called: 169.254.169.254 is a cloud metadata service')
    expect(failure.hint).toContain(`createGuardedFetch({ allow: ['169.254.169.254'] })`)
    expect(client.explain().lines.join()).toContain('is not called')
  })

  it('an agent on this machine is called if its URL is the target, but not if a card from elsewhere names it', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    let calls = 0
    const answer = '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"1","role":"ROLE_AGENT","parts":[]}}}'
    const origin = await startScriptedPeer({
      answer: (_, response) => {
        calls++
        response.end(answer)
      },
    })
    for (const mode of ['development', 'production']) {
      vi.stubEnv('NODE_ENV', mode)
      const card = rpcCard(origin) as JsonObject
      const failure = await failureOf((await connect(card)).send('Hello'))
      expect(failure, mode).toMatchObject({ reason: 'guarded' })
      expect(failure.message).toContain('is this machine')
      expect(failure.hint).toContain(`connect(url, { fetch: createGuardedFetch({ loopback: 'allow' }) })`)
      expect(await failureOf(connectBy('refuse')(origin)), mode).toMatchObject({ reason: 'guarded' })
      expect(calls, mode).toBe(0)
    }
    for (const target of [origin, new URL(origin), origin.replace('127.0.0.1', 'localhost')]) {
      await (await connect(target)).send('Hello')
    }
    expect(calls).toBe(3)
  })

  it('an address without a scheme is one of this machine by http, and of others by https', async () => {
    const origin = await startHttpServer((_, response) => response.end(JSON.stringify(rpcCard(origin))))
    const { port } = new URL(origin)
    expect((await connect(`127.0.0.1:${port}`)).card.name).toBe('Scripted')
    expect((await connect(`localhost:${port}/.well-known/agent-card.json`)).card.name).toBe('Scripted')
    const error = await failureOf(connect('agent.invalid', { retry: { tries: 1 } }))
    expect(error).toMatchObject({ reason: 'name-not-found', url: expect.stringMatching('^https://agent.invalid/') })
  })

  it('a card is not fetched from a private address after a redirect', async () => {
    const origin = await startHttpServer(
      (_, response) => void response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
    )
    expect(await failureOf(connect(origin))).toMatchObject({ reason: 'guarded' })
  })

  it('a fetch that is passed in replaces the guarded one', async () => {
    const urls: string[] = []
    const fetch = async (url: string) => {
      urls.push(url)
      return new Response('{}', { status: 404 })
    }
    await failureOf(connect('http://10.0.0.1', { fetch }))
    expect(urls[0]).toBe('http://10.0.0.1/.well-known/agent-card.json')
  })

  it('a call that the guard refuses is not retried', async () => {
    let lookups = 0
    const resolve = async () => {
      lookups++
      return [{ address: '10.0.0.1', family: 4 }]
    }
    const fetch = createGuardedFetch({ resolve })
    expect(await failureOf(connectAnywhere('https://inside.example', { fetch }))).toMatchObject({ reason: 'guarded' })
    expect(lookups).toBe(1)
    fetch.close()
  })
})

describe('the options of connect on Node', () => {
  it.each([
    [{ timout: 3 }, 'connect: timout is not an option. Did you mean timeout?'],
    [{ tries: 3 }, 'connect: tries is not an option. Did you mean retry.tries?'],
    [{ resume: { maxDealy: 3 } }, 'connect: resume.maxDealy is not an option. Did you mean maxDelay?'],
    [
      { timeout: '10s' },
      'connect: timeout: expected a number of milliseconds of at least 1, such as 30_000, got "10s".',
    ],
    [{ retry: { tries: 0 } }, 'connect: retry.tries: expected a number above 0, got 0.'],
    [
      { fileBytes: 'bas64' },
      'connect: fileBytes: expected one of "raw", "base64", got "bas64". Did you mean "base64"?',
    ],
    [{ bindings: ['GRPC'] }, "connect: bindings[0]: expected 'JSONRPC', 'HTTP+JSON' or a transport such as grpc()"],
    [{ auth: { bearer: 'x' } }, 'connect: auth: expected a list, got an object with bearer.'],
    [{ signal: true }, 'connect: signal: expected an AbortSignal, got true.'],
    ['https://agent.example.com', 'connect: expected an object of options, got "https://agent.example.com".'],
  ])('%j is refused with a sentence that names the option, before any request', async (options, message) => {
    await expect(connect('https://agent.example.com', options as never)).rejects.toThrow(message)
  })
})
