import { createServer as createTlsServer } from 'node:https'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCertificate } from '../support/auth/certificates.ts'
import { shareCli } from '../support/processes/cli.ts'
import { listenOnFreePort, rpcCard } from '../support/servers/http-server.ts'
import { startRecordingPeer, task, validMembers } from '../support/servers/recording-peer.ts'
import { createExaminer, startPeer, workingResult } from './doctor-support.ts'

const examine = createExaminer(shareCli())

describe('probes', () => {
  it('the answers to preflight requests of web pages are examined', async () => {
    const preflight = (headers: Record<string, string>) =>
      startRecordingPeer({
        result: workingResult,
        handle({ method }, response) {
          if (method !== 'OPTIONS') return false
          response.writeHead(204, headers).end()
          return true
        },
      })
    const origin = 'access-control-allow-origin'
    const [none, torn, open, right] = await Promise.all([
      preflight({}),
      preflight({ [origin]: '*', 'access-control-allow-headers': 'content-type' }),
      preflight({ [origin]: 'https://doctor.example', 'access-control-allow-credentials': 'true' }),
      preflight({ [origin]: '*', 'access-control-allow-headers': 'content-type, a2a-version' }),
    ])
    const reports = await Promise.all([none, torn, open, right].map((peer) => examine(peer?.origin ?? '')))
    const ids = reports.map(({ findings }) => findings.map(({ id }) => id).filter((id) => id.includes('cors')))
    expect(ids).toEqual([['no-cors'], ['cors-headers'], ['cors-credentials'], []])
    expect(reports[1]?.find('cors-headers')?.problem).toContain('a2a-version')
  })

  it('a certificate that ends soon and an old TLS version are warnings', async () => {
    const soon = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(2, 10).replaceAll('-', '')
    const start = async (options: object, validUntil?: string) => {
      const pair = createCertificate({ commonName: 'localhost', dns: ['localhost'], ...(validUntil && { validUntil }) })
      const server = createTlsServer({ ...pair, ...options }, (_, response) =>
        response.setHeader('content-type', 'application/json').end(JSON.stringify(rpcCard(origin, validMembers))),
      )
      onTestFinished(() => void server.close())
      const origin = `https://localhost:${await listenOnFreePort(server)}`
      return origin
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
    const [ending, outdated] = await Promise.all([
      start({}, soon).then((origin) => examine(origin, '--insecure')),
      // Clients of today do not speak it, so the card comes from elsewhere.
      start(old).then(async (origin) => {
        const peer = await startPeer({ card: () => rpcCard(origin, validMembers) })
        return await examine(peer.origin, '--insecure')
      }),
    ])
    expect(ending.find('certificate-ends')?.problem).toMatch(/ends in [345] days/)
    expect(outdated.find('old-tls')?.problem).toContain('TLSv1.1')
  })

  it('broken JSON, a task for any id and another error than TaskNotFound are found', async () => {
    const [broken, invented, wrong, silent] = await Promise.all([
      startPeer({
        handle({ method }, response) {
          if (method !== 'POST') return false
          response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":')
          return true
        },
      }),
      startPeer({
        result: (request) => (request.body.method === 'GetTask' ? task('COMPLETED') : workingResult(request)),
      }),
      startPeer({
        result: (request) =>
          request.body.method === 'GetTask' && request.headers['a2a-version'] === '1.0'
            ? { error: { code: -32603, message: 'Internal error' } }
            : workingResult(request),
      }),
      startPeer({ card: (origin) => rpcCard(origin, { ...validMembers, capabilities: { streaming: false } }) }),
    ])
    const reports = await Promise.all([broken, invented, wrong, silent].map((peer) => examine(peer?.origin ?? '')))
    const severe = reports.map(({ findings }) => findings.find(({ severity }) => severity !== 'info')?.id)
    expect(severe).toEqual(['not-json', 'unknown-task-found', 'wrong-error', undefined])
    expect(reports.map(({ code }) => code)).toEqual([1, 0, 0, 0])
    expect(reports[3]?.find('streaming-undeclared')).toMatchObject({ severity: 'info' })
  })

  it('a signature that does not fit the card is found over the wire', async () => {
    const signatures = [{ protected: btoa('{"alg":"ES256","kid":"k"}'), signature: 'AAAA' }]
    const peer = await startPeer({ card: (origin) => rpcCard(origin, { ...validMembers, signatures }) })
    const { find, code } = await examine(peer.origin)
    expect(find('signature-unverifiable')).toMatchObject({ severity: 'warning', fix: expect.stringMatching(/./) })
    expect(code).toBe(0)
  })
})
