import { createServer as createTlsServer } from 'node:https'
import { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { selfSigned } from '../../test/support/auth/certificates.ts'
import {
  listenOnFreePort,
  rpcCard,
  startHttpServer,
  startScriptedPeer,
} from '../../test/support/servers/http-server.ts'
import { certificateCredentials } from '../client/credentials/static-credentials.ts'
import { createGuardedFetch } from '../node/guarded-fetch/guarded-fetch.ts'
import { connect } from './client.node.ts'
import { A2AError, connect as connectAnywhere } from './client.ts'

function tlsCard(origin: string): object {
  return rpcCard(origin, {
    securitySchemes: { tls: { mtlsSecurityScheme: {} } },
    securityRequirements: [{ schemes: { tls: {} } }],
  })
}

async function failureOf(asked: Promise<unknown>): Promise<A2AError> {
  const error = await asked.catch((thrown) => thrown)
  if (!(error instanceof A2AError)) throw new Error('it did not fail', { cause: error })
  return error
}

describe('the client of Node', () => {
  it('shows a certificate to an agent that asks for one', async () => {
    const pair = selfSigned()
    const asking = { ...pair, ca: pair.cert, requestCert: true, rejectUnauthorized: false }
    const server = createTlsServer(asking, (request, response) => {
      const isKnown = request.socket instanceof TLSSocket && request.socket.authorized
      if (request.method === 'GET') response.end(JSON.stringify(tlsCard(origin)))
      else if (isKnown)
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

  it('does not ask what a card should not name, and says why and what to do', async () => {
    const origin = await startScriptedPeer({ card: () => rpcCard('http://169.254.169.254') })
    const client = await connect(origin)
    const failure = await failureOf(client.send('Hello'))
    expect(failure).toMatchObject({ code: 'unavailable', reason: 'guarded', url: 'http://169.254.169.254/rpc' })
    expect(failure.message).toContain('is not asked: 169.254.169.254 is a cloud metadata service')
    expect(failure.hint).toContain(`createGuardedFetch({ allow: ['169.254.169.254'] })`)
    expect(client.explain().lines.join()).toContain('is not asked')
  })

  it('does not follow a card to where it should not go', async () => {
    const origin = await startHttpServer(
      (_, response) => void response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
    )
    expect(await failureOf(connect(origin))).toMatchObject({ reason: 'guarded' })
  })

  it('asks by what it is given instead', async () => {
    const asked: string[] = []
    const fetch = async (url: string) => {
      asked.push(url)
      return new Response('{}', { status: 404 })
    }
    await failureOf(connect('http://10.0.0.1', { fetch }))
    expect(asked[0]).toBe('http://10.0.0.1/.well-known/agent-card.json')
  })

  it('hands a refusal of the guard on at once, without a second try', async () => {
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
