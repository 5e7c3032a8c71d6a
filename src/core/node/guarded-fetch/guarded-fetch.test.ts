import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { selfSigned } from '../../../../test/support/auth/certificates.ts'
import { closedPort, listenOnFreePort, startHttpServer } from '../../../../test/support/servers/http-server.ts'
import { hostileUrls } from '../../../../test/support/wire/hostile-urls.ts'
import { RequestRefused } from '../../http/address-guard.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'

function createFetch(options: GuardedFetchOptions = {}) {
  const fetch = createGuardedFetch(options)
  onTestFinished(() => fetch.close())
  return fetch
}

const local = { allow: ['127.0.0.1'] }

async function refusalOf(request: Promise<unknown>): Promise<string> {
  const error = await request.catch((thrown) => thrown)
  if (!(error instanceof RequestRefused)) throw new Error('it was not refused', { cause: error })
  return error.reason
}

describe('a hostile URL', () => {
  it.each(hostileUrls)('the URL $url is rejected as $reason', async ({ url, reason, resolvesTo }) => {
    const resolve = async () =>
      (resolvesTo ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    expect(await refusalOf(createFetch({ resolve })(url))).toBe(reason)
  })

  it('the list has more than sixty URLs', () => {
    expect(new Set(hostileUrls.map(({ url }) => url)).size).toBeGreaterThanOrEqual(60)
  })

  it('the error of a rejected request does not contain its URL', async () => {
    const error = await createFetch()('https://user:planted-secret@example.com/').catch((thrown) => thrown)
    expect(String(error)).not.toContain('planted-secret')
  })
})

describe('the allow list', () => {
  it('an entry is an address, a range, a host, or all subdomains of a host', async () => {
    const origin = await startHttpServer((_, response) => void response.end('here'))
    const named = origin.replace('127.0.0.1', 'one.agents.example')
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    for (const entry of ['127.0.0.1', '127.0.0.0/8']) {
      expect(await (await createFetch({ allow: [entry] })(origin)).text()).toBe('here')
    }
    for (const entry of ['one.agents.example', '*.agents.example', '127.0.0.1/32']) {
      expect(await (await createFetch({ allow: [entry], resolve })(named)).text()).toBe('here')
    }
    for (const entry of ['agents.example', '*.one.agents.example', '127.0.0.2', '10.0.0.0/8']) {
      expect(await refusalOf(createFetch({ allow: [entry], resolve })(named))).toBe('loopback')
    }
  })

  it('a range does not include the metadata address of the machine', async () => {
    expect(await refusalOf(createFetch({ allow: ['169.254.0.0/16'] })('http://169.254.169.254/'))).toBe('metadata')
  })

  it('an entry that is no host is an error', () => {
    expect(() => createFetch({ allow: ['http://example.com/'] })).toThrow(
      /allow: "http:\/\/example.com\/" is none of a host/,
    )
  })

  it('this machine is refused by default, and the error names the option that allows it', async () => {
    const origin = await startHttpServer((_, response) => void response.end())
    for (const mode of ['production', 'development']) {
      vi.stubEnv('NODE_ENV', mode)
      onTestFinished(() => void vi.unstubAllEnvs())
      const text =
        "127.0.0.1 is this machine, which is called only if it is allowed: by loopback: 'allow', an option of"
      await expect(createFetch()(origin), mode).rejects.toThrow(text)
      expect((await createFetch({ loopback: 'allow' })(origin)).status).toBe(200)
    }
    // @ts-expect-error: an option of earlier versions.
    expect(() => createFetch({ loopback: 'warn' })).toThrow('loopback: expected one of "allow", "refuse", got "warn"')
  })

  it('a scheme that is not listed is rejected', async () => {
    expect(await refusalOf(createFetch({ schemes: ['https'], ...local })('http://127.0.0.1/'))).toBe('scheme')
  })
})

describe('a host name', () => {
  it('a name is looked up once per connection, so that DNS rebinding fails', async () => {
    const origin = await startHttpServer((_, response) => void response.setHeader('connection', 'close').end('here'))
    const answers = ['127.0.0.1', '127.0.0.2']
    let lookups = 0
    const resolve = async () => [{ address: answers[lookups++] ?? '', family: 4 }]
    const fetch = createFetch({ ...local, resolve })
    const named = origin.replace('127.0.0.1', 'rebinding.example')
    expect(await (await fetch(named)).text()).toBe('here')
    expect(lookups).toBe(1)
    expect(await refusalOf(fetch(named))).toBe('loopback')
    expect(lookups).toBe(2)
  })

  it('a name without addresses fails with ENOTFOUND', async () => {
    await expect(createFetch({ resolve: async () => [] })('http://gone.example/')).rejects.toMatchObject({
      code: 'ENOTFOUND',
    })
  })
})

describe('a request', () => {
  it('text, bytes and forms arrive unchanged', async () => {
    const origin = await startHttpServer((request, response) => {
      response.setHeader('content-type', `${request.headers['content-type']}`)
      response.writeHead(201, { 'x-request': `${request.method} ${request.url} ${request.headers.host}` })
      request.pipe(response)
    })
    const fetch = createFetch(local)
    const headers = { 'content-type': 'application/json', host: 'elsewhere', 'transfer-encoding': 'chunked' }
    const response = await fetch(`${origin}/a?b=c`, { method: 'POST', body: '{"ä":1}', headers })
    expect(response.status).toBe(201)
    expect(response.url).toBe(`${origin}/a?b=c`)
    expect(response.redirected).toBe(false)
    expect(response.headers.get('x-request')).toBe(`POST /a?b=c ${new URL(origin).host}`)
    expect(await response.json()).toEqual({ ä: 1 })
    const text = await fetch(origin, { method: 'POST', body: 'ä' })
    expect(text.headers.get('content-type')).toBe('text/plain;charset=UTF-8')
    const bytes = await fetch(origin, { method: 'PUT', body: Uint8Array.of(1, 2, 3) })
    expect(new Uint8Array(await bytes.arrayBuffer())).toEqual(Uint8Array.of(1, 2, 3))
    const form = await fetch(origin, { method: 'POST', body: new URLSearchParams({ a: '1' }) })
    expect(form.headers.get('content-type')).toMatch(/^application\/x-www-form-urlencoded/)
    expect(await form.text()).toBe('a=1')
  })

  it('requests share connections', async () => {
    const sockets = new Set()
    const origin = await startHttpServer((request, response) => {
      sockets.add(request.socket)
      response.end('x')
    })
    const fetch = createFetch(local)
    for (let n = 0; n < 3; n++) await (await fetch(origin)).text()
    expect(sockets.size).toBe(1)
  })

  it('an aborted request fails with the reason of its signal, before and during the response', async () => {
    const origin = await startHttpServer((_, response) => void response.write('begun'))
    const fetch = createFetch(local)
    const gone = AbortSignal.abort(new Error('gone'))
    await expect(fetch(origin, { signal: gone })).rejects.toThrow('gone')
    const aborter = new AbortController()
    const response = await fetch(origin, { signal: aborter.signal })
    aborter.abort(new Error('left'))
    await expect(response.text()).rejects.toThrow('left')
  })

  it('a failed connection rejects with the code of the socket', async () => {
    const port = await closedPort()
    await expect(createFetch(local)(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('a redirect', () => {
  async function redirecting(status: number, location: string) {
    const requests: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = []
    const origin = await startHttpServer(async (request, response) => {
      const { method = '', url = '', headers } = request
      requests.push({ method, url, headers, body: Buffer.concat(await request.toArray()).toString() })
      if (url === '/end') response.end('end')
      else response.writeHead(status, { location }).end()
    })
    return { origin, requests }
  }

  it.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'body'],
    [308, 'POST', 'body'],
  ])('a redirect with status %i turns a POST into a %s', async (status, method, body) => {
    const { origin, requests } = await redirecting(status, '/end')
    const response = await createFetch(local)(`${origin}/start`, { method: 'POST', body: 'body' })
    expect(await response.text()).toBe('end')
    expect(response.redirected).toBe(true)
    expect(response.url).toBe(`${origin}/end`)
    expect(requests[1]).toMatchObject({ method, url: '/end', body })
  })

  it('a redirect target is checked like the first URL', async () => {
    for (const [location, reason] of [
      ['http://169.254.169.254/', 'metadata'],
      ['http://10.0.0.1/', 'private'],
      ['file:///etc/passwd', 'scheme'],
      ['http://u:p@127.0.0.1/', 'userinfo'],
      ['http://[', 'bad-url'],
    ] as const) {
      const { origin } = await redirecting(302, location)
      expect(await refusalOf(createFetch(local)(origin))).toBe(reason)
    }
  })

  it('a redirect to another origin drops all credentials, whatever their names', async () => {
    const other = await redirecting(302, '/end')
    const { origin, requests } = await redirecting(307, `${other.origin}/end`)
    const secret = { authorization: 'Bearer s', cookie: 's=1', 'x-api-key': 's', 'my-own-name': 's' }
    const plain = { accept: 'application/json', 'a2a-version': '1.0', 'content-type': 'text/plain' }
    await createFetch(local)(origin, { method: 'POST', body: 'b', headers: { ...secret, ...plain } })
    expect(requests[0]?.headers).toMatchObject({ ...secret, ...plain })
    expect(other.requests[0]?.headers).toMatchObject(plain)
    for (const name of Object.keys(secret)) expect(other.requests[0]?.headers).not.toHaveProperty(name)
  })

  it('a redirect within an origin keeps credentials', async () => {
    const { origin, requests } = await redirecting(302, '/end')
    await createFetch(local)(origin, { headers: { authorization: 'Bearer s' } })
    expect(requests[1]?.headers).toMatchObject({ authorization: 'Bearer s' })
  })

  it('a redirect loop ends with an error', async () => {
    const { origin, requests } = await redirecting(302, '/again')
    await expect(createFetch({ ...local, redirects: 3 })(origin)).rejects.toThrow(/too many redirects: more than 3/)
    expect(requests).toHaveLength(4)
  })

  it('a redirect is rejected if none are allowed, and returned if it is handled manually', async () => {
    const { origin, requests } = await redirecting(302, '/end')
    expect(await refusalOf(createFetch({ ...local, redirects: 0 })(origin))).toBe('redirect')
    expect(await refusalOf(createFetch(local)(origin, { redirect: 'error' }))).toBe('redirect')
    expect((await createFetch(local)(origin, { redirect: 'manual' })).status).toBe(302)
    expect(requests.map(({ url }) => url)).toEqual(['/', '/', '/'])
  })

  it('a redirect from https to http is rejected', async () => {
    const pair = selfSigned()
    const server = createTlsServer(pair, (_, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1/' }).end()
    })
    onTestFinished(() => void server.close())
    const port = await listenOnFreePort(server)
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const fetch = createFetch({ allow: ['localhost'], resolve, tls: { ca: pair.cert } })
    expect(await refusalOf(fetch(`https://localhost:${port}/`))).toBe('downgrade')
  })
})

describe('a limit', () => {
  it('a body over maxBytes fails, even when it is compressed', async () => {
    const origin = await startHttpServer((request, response) => {
      if (request.url === '/packed')
        response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(1_000_000)))
      else response.end(Buffer.alloc(2_000))
    })
    const fetch = createFetch({ ...local, maxBytes: 1_000 })
    await expect((await fetch(origin)).text()).rejects.toThrow(BodyTooLarge)
    await expect((await fetch(`${origin}/packed`)).text()).rejects.toThrow(BodyTooLarge)
    const unlimited = await createFetch(local)(`${origin}/packed`)
    expect((await unlimited.arrayBuffer()).byteLength).toBe(1_000_000)
  })

  it('a body that stalls or never ends fails', async () => {
    const origin = await startHttpServer((request, response) => {
      response.write('x')
      if (request.url !== '/drip') return
      const drip = setInterval(() => response.write('x'), 5)
      response.once('close', () => clearInterval(drip))
    })
    const idle = await createFetch({ ...local, idleTimeout: 50 })(origin)
    await expect(idle.text()).rejects.toMatchObject({ code: 'ERR_BODY_TIMEOUT' })
    const endless = await createFetch({ ...local, totalTimeout: 100 })(`${origin}/drip`)
    await expect(endless.text()).rejects.toMatchObject({ code: 'ERR_TOTAL_TIMEOUT' })
  })

  it('a requested event stream has no total limit', async () => {
    const origin = await startHttpServer((_, response) => {
      response.write('data: 1\n\n')
      setTimeout(() => response.end('data: 2\n\n'), 150)
    })
    const fetch = createFetch({ ...local, totalTimeout: 50, maxBytes: 10 })
    const response = await fetch(origin, { headers: { accept: 'text/event-stream' } })
    expect(await response.text()).toBe('data: 1\n\ndata: 2\n\n')
  })

  it('waiting for headers or a connection ends with an error', async () => {
    const origin = await startHttpServer(() => {})
    await expect(createFetch({ ...local, headersTimeout: 50 })(origin)).rejects.toMatchObject({
      code: 'ERR_HEADERS_TIMEOUT',
    })
    // The server never answers the TLS handshake.
    const silent = createNetServer()
    onTestFinished(() => void silent.close())
    const port = await listenOnFreePort(silent)
    const connecting = createFetch({ ...local, connectTimeout: 50 })(`https://127.0.0.1:${port}/`)
    await expect(connecting).rejects.toMatchObject({ code: 'ERR_CONNECT_TIMEOUT' })
  })

  it('a response that is not HTTP fails', async () => {
    const server = createNetServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n'))
    })
    onTestFinished(() => void server.close())
    const port = await listenOnFreePort(server)
    await expect(createFetch(local)(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'HPE_HEAD' })
  })
})

describe('mutual TLS', () => {
  it('the client presents its certificate', async () => {
    const pair = selfSigned()
    const options = { ...pair, ca: pair.cert, requestCert: true, rejectUnauthorized: false }
    const server = createTlsServer(options, (request, response) => {
      const { subject } = (request.socket as import('node:tls').TLSSocket).getPeerCertificate()
      response.end(subject?.CN ?? 'none')
    })
    onTestFinished(() => void server.close())
    const port = await listenOnFreePort(server)
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const trusting = { allow: ['localhost'], resolve }
    const ask = async (tls: GuardedFetchOptions['tls']) =>
      await (await createFetch({ ...trusting, tls })(`https://localhost:${port}/`)).text()
    expect(await ask({ ca: pair.cert, ...pair })).toBe('localhost')
    expect(await ask({ ca: pair.cert })).toBe('none')
    await expect(ask({})).rejects.toThrow(/self.signed/)
  })
})
