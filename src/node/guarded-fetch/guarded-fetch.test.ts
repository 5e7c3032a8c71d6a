import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { selfSigned } from '../../../test/support/auth/certificates.ts'
import { closedPort, listenOnFreePort, startHttpServer } from '../../../test/support/servers/http-server.ts'
import { hostileUrls } from '../../../test/support/wire/hostile-urls.ts'
import { RequestRefused } from '../../http/address-guard.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'

function guarded(options: GuardedFetchOptions = {}) {
  const fetch = createGuardedFetch({ loopback: 'refuse', ...options })
  onTestFinished(() => fetch.close())
  return fetch
}

const local = { allow: ['127.0.0.1'] }

async function refusalOf(asked: Promise<unknown>): Promise<string> {
  const error = await asked.catch((thrown) => thrown)
  if (!(error instanceof RequestRefused)) throw new Error('it was not refused', { cause: error })
  return error.reason
}

describe('what is hostile is refused, for its reason', () => {
  it.each(hostileUrls)('$reason: $url', async ({ url, reason, leadsTo }) => {
    const resolve = async () => (leadsTo ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    expect(await refusalOf(guarded({ resolve })(url))).toBe(reason)
  })

  it('has more than sixty of them', () => {
    expect(new Set(hostileUrls.map(({ url }) => url)).size).toBeGreaterThanOrEqual(60)
  })

  it('does not show what is in the address of a refused request', async () => {
    const error = await guarded()('https://user:planted-secret@example.com/').catch((thrown) => thrown)
    expect(String(error)).not.toContain('planted-secret')
  })
})

describe('what is allowed', () => {
  it('is an address, a range, a host, and all hosts below one', async () => {
    const origin = await startHttpServer((_, response) => void response.end('here'))
    const named = origin.replace('127.0.0.1', 'one.agents.example')
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    for (const entry of ['127.0.0.1', '127.0.0.0/8']) {
      expect(await (await guarded({ allow: [entry] })(origin)).text()).toBe('here')
    }
    for (const entry of ['one.agents.example', '*.agents.example', '127.0.0.1/32']) {
      expect(await (await guarded({ allow: [entry], resolve })(named)).text()).toBe('here')
    }
    for (const entry of ['agents.example', '*.one.agents.example', '127.0.0.2', '10.0.0.0/8']) {
      expect(await refusalOf(guarded({ allow: [entry], resolve })(named))).toBe('loopback')
    }
  })

  it('does not include the keys of the machine, unless they are named', async () => {
    expect(await refusalOf(guarded({ allow: ['169.254.0.0/16'] })('http://169.254.169.254/'))).toBe('metadata')
  })

  it('is told apart from what is no host', () => {
    expect(() => guarded({ allow: ['http://example.com/'] })).toThrow(
      /allow: "http:\/\/example.com\/" is none of a host/,
    )
  })

  it('is this machine in development, with one warning', async () => {
    const origin = await startHttpServer((_, response) => void response.end())
    const warnings: string[] = []
    const logger = { warn: (_: object, message: string) => void warnings.push(message) }
    const fetch = guarded({ loopback: 'warn', logger })
    await fetch(origin)
    await fetch(origin)
    expect(warnings).toEqual([expect.stringContaining('only in development')])
  })

  it('is one scheme if only that is listed', async () => {
    expect(await refusalOf(guarded({ schemes: ['https'], ...local })('http://127.0.0.1/'))).toBe('scheme')
  })
})

describe('names', () => {
  it('are looked up once for each connection, so that a second answer leads nowhere', async () => {
    const origin = await startHttpServer((_, response) => void response.setHeader('connection', 'close').end('here'))
    const answers = ['127.0.0.1', '127.0.0.2']
    let lookups = 0
    const resolve = async () => [{ address: answers[lookups++] ?? '', family: 4 }]
    const fetch = guarded({ ...local, resolve })
    const named = origin.replace('127.0.0.1', 'rebinding.example')
    expect(await (await fetch(named)).text()).toBe('here')
    expect(lookups).toBe(1)
    expect(await refusalOf(fetch(named))).toBe('loopback')
    expect(lookups).toBe(2)
  })

  it('that lead nowhere are told so', async () => {
    await expect(guarded({ resolve: async () => [] })('http://gone.example/')).rejects.toMatchObject({
      code: 'ENOTFOUND',
    })
  })
})

describe('requests', () => {
  it('arrive as they are, with text, bytes and forms', async () => {
    const origin = await startHttpServer((request, response) => {
      response.setHeader('content-type', `${request.headers['content-type']}`)
      response.writeHead(201, { 'x-asked': `${request.method} ${request.url} ${request.headers.host}` })
      request.pipe(response)
    })
    const fetch = guarded(local)
    const headers = { 'content-type': 'application/json', host: 'elsewhere', 'transfer-encoding': 'chunked' }
    const response = await fetch(`${origin}/a?b=c`, { method: 'POST', body: '{"ä":1}', headers })
    expect(response.status).toBe(201)
    expect(response.url).toBe(`${origin}/a?b=c`)
    expect(response.redirected).toBe(false)
    expect(response.headers.get('x-asked')).toBe(`POST /a?b=c ${new URL(origin).host}`)
    expect(await response.json()).toEqual({ ä: 1 })
    const bytes = await fetch(origin, { method: 'PUT', body: Uint8Array.of(1, 2, 3) })
    expect(new Uint8Array(await bytes.arrayBuffer())).toEqual(Uint8Array.of(1, 2, 3))
    const form = await fetch(origin, { method: 'POST', body: new URLSearchParams({ a: '1' }) })
    expect(form.headers.get('content-type')).toMatch(/^application\/x-www-form-urlencoded/)
    expect(await form.text()).toBe('a=1')
  })

  it('share connections', async () => {
    const sockets = new Set()
    const origin = await startHttpServer((request, response) => {
      sockets.add(request.socket)
      response.end('x')
    })
    const fetch = guarded(local)
    for (let n = 0; n < 3; n++) await (await fetch(origin)).text()
    expect(sockets.size).toBe(1)
  })

  it('are given up with the reason of their signal, before and while the answer comes', async () => {
    const origin = await startHttpServer((_, response) => void response.write('begun'))
    const fetch = guarded(local)
    const gone = AbortSignal.abort(new Error('gone'))
    await expect(fetch(origin, { signal: gone })).rejects.toThrow('gone')
    const leaving = new AbortController()
    const response = await fetch(origin, { signal: leaving.signal })
    leaving.abort(new Error('left'))
    await expect(response.text()).rejects.toThrow('left')
  })

  it('fail with the code of the socket', async () => {
    const port = await closedPort()
    await expect(guarded(local)(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('redirects', () => {
  async function redirecting(status: number, location: string) {
    const seen: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = []
    const origin = await startHttpServer(async (request, response) => {
      const { method = '', url = '', headers } = request
      seen.push({ method, url, headers, body: Buffer.concat(await request.toArray()).toString() })
      if (url === '/end') response.end('end')
      else response.writeHead(status, { location }).end()
    })
    return { origin, seen }
  }

  it.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'body'],
    [308, 'POST', 'body'],
  ])('of status %i make %s of a POST', async (status, method, body) => {
    const { origin, seen } = await redirecting(status, '/end')
    const response = await guarded(local)(`${origin}/start`, { method: 'POST', body: 'body' })
    expect(await response.text()).toBe('end')
    expect(response.redirected).toBe(true)
    expect(response.url).toBe(`${origin}/end`)
    expect(seen[1]).toMatchObject({ method, url: '/end', body })
  })

  it('are checked like the first address', async () => {
    for (const [location, reason] of [
      ['http://169.254.169.254/', 'metadata'],
      ['http://10.0.0.1/', 'private'],
      ['file:///etc/passwd', 'scheme'],
      ['http://u:p@127.0.0.1/', 'userinfo'],
      ['http://[', 'bad-url'],
    ] as const) {
      const { origin } = await redirecting(302, location)
      expect(await refusalOf(guarded(local)(origin))).toBe(reason)
    }
  })

  it('take no credentials to another origin, whatever they are called', async () => {
    const other = await redirecting(302, '/end')
    const { origin, seen } = await redirecting(307, `${other.origin}/end`)
    const secret = { authorization: 'Bearer s', cookie: 's=1', 'x-api-key': 's', 'my-own-name': 's' }
    const plain = { accept: 'application/json', 'a2a-version': '1.0', 'content-type': 'text/plain' }
    await guarded(local)(origin, { method: 'POST', body: 'b', headers: { ...secret, ...plain } })
    expect(seen[0]?.headers).toMatchObject({ ...secret, ...plain })
    expect(other.seen[0]?.headers).toMatchObject(plain)
    for (const name of Object.keys(secret)) expect(other.seen[0]?.headers).not.toHaveProperty(name)
  })

  it('keep credentials within an origin', async () => {
    const { origin, seen } = await redirecting(302, '/end')
    await guarded(local)(origin, { headers: { authorization: 'Bearer s' } })
    expect(seen[1]?.headers).toMatchObject({ authorization: 'Bearer s' })
  })

  it('end somewhere', async () => {
    const { origin, seen } = await redirecting(302, '/again')
    await expect(guarded({ ...local, redirects: 3 })(origin)).rejects.toThrow(/too many redirects: more than 3/)
    expect(seen).toHaveLength(4)
  })

  it('are refused if none are wanted, and handed over if asked for', async () => {
    const { origin, seen } = await redirecting(302, '/end')
    expect(await refusalOf(guarded({ ...local, redirects: 0 })(origin))).toBe('redirect')
    expect(await refusalOf(guarded(local)(origin, { redirect: 'error' }))).toBe('redirect')
    expect((await guarded(local)(origin, { redirect: 'manual' })).status).toBe(302)
    expect(seen.map(({ url }) => url)).toEqual(['/', '/', '/'])
  })

  it('do not lead away from TLS', async () => {
    const pair = selfSigned()
    const server = createTlsServer(pair, (_, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1/' }).end()
    })
    onTestFinished(() => void server.close())
    const port = await listenOnFreePort(server)
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const fetch = guarded({ allow: ['localhost'], resolve, tls: { ca: pair.cert } })
    expect(await refusalOf(fetch(`https://localhost:${port}/`))).toBe('downgrade')
  })
})

describe('limits', () => {
  it('end a body that is too long, also if it is packed', async () => {
    const origin = await startHttpServer((request, response) => {
      if (request.url === '/packed')
        response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(1_000_000)))
      else response.end(Buffer.alloc(2_000))
    })
    const fetch = guarded({ ...local, maxBytes: 1_000 })
    await expect((await fetch(origin)).text()).rejects.toThrow(BodyTooLarge)
    await expect((await fetch(`${origin}/packed`)).text()).rejects.toThrow(BodyTooLarge)
    const whole = await guarded(local)(`${origin}/packed`)
    expect((await whole.arrayBuffer()).byteLength).toBe(1_000_000)
  })

  it('end a body that is too slow, and one that never ends', async () => {
    const origin = await startHttpServer((request, response) => {
      response.write('x')
      if (request.url !== '/drip') return
      const drip = setInterval(() => response.write('x'), 5)
      response.once('close', () => clearInterval(drip))
    })
    const idle = await guarded({ ...local, idleTimeout: 50 })(origin)
    await expect(idle.text()).rejects.toMatchObject({ code: 'ERR_BODY_TIMEOUT' })
    const endless = await guarded({ ...local, totalTimeout: 100 })(`${origin}/drip`)
    await expect(endless.text()).rejects.toMatchObject({ code: 'ERR_TOTAL_TIMEOUT' })
  })

  it('do not end a stream of events that was asked for', async () => {
    const origin = await startHttpServer((_, response) => {
      response.write('data: 1\n\n')
      setTimeout(() => response.end('data: 2\n\n'), 150)
    })
    const fetch = guarded({ ...local, totalTimeout: 50, maxBytes: 10 })
    const response = await fetch(origin, { headers: { accept: 'text/event-stream' } })
    expect(await response.text()).toBe('data: 1\n\ndata: 2\n\n')
  })

  it('end a wait for the head, and for the connection', async () => {
    const origin = await startHttpServer(() => {})
    await expect(guarded({ ...local, headersTimeout: 50 })(origin)).rejects.toMatchObject({
      code: 'ERR_HEADERS_TIMEOUT',
    })
    // Nothing speaks TLS here, so that the connection never comes about.
    const silent = createNetServer()
    onTestFinished(() => void silent.close())
    const port = await listenOnFreePort(silent)
    const asked = guarded({ ...local, connectTimeout: 50 })(`https://127.0.0.1:${port}/`)
    await expect(asked).rejects.toMatchObject({ code: 'ERR_CONNECT_TIMEOUT' })
  })

  it('end an answer that is none of HTTP', async () => {
    const server = createNetServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n'))
    })
    onTestFinished(() => void server.close())
    const port = await listenOnFreePort(server)
    await expect(guarded(local)(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'HPE_HEAD' })
  })
})

describe('mutual TLS', () => {
  it('shows the certificate that it was given', async () => {
    const pair = selfSigned()
    const options = { ...pair, ca: pair.cert, requestCert: true, rejectUnauthorized: false }
    const server = createTlsServer(options, (request, response) => {
      const { subject } = (request.socket as import('node:tls').TLSSocket).getPeerCertificate()
      response.end(subject?.CN ?? 'nobody')
    })
    onTestFinished(() => void server.close())
    const port = await listenOnFreePort(server)
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const trusting = { allow: ['localhost'], resolve }
    const ask = async (tls: GuardedFetchOptions['tls']) =>
      await (await guarded({ ...trusting, tls })(`https://localhost:${port}/`)).text()
    expect(await ask({ ca: pair.cert, ...pair })).toBe('localhost')
    expect(await ask({ ca: pair.cert })).toBe('nobody')
    await expect(ask({})).rejects.toThrow(/self.signed/)
  })
})
