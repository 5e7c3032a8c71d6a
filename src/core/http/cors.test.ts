import { describe, expect, it } from 'vitest'
import { type Cors, withCors } from './cors.ts'
import type { Exchange } from './exchange.ts'
import { toFetch } from './fetch.ts'

const page = 'https://app.example.com'
const hello: Exchange = async () => ({ status: 200, headers: { vary: 'A2A-Version' }, body: 'hello' })

function send(cors: Cors, headers: Record<string, string>, method = 'GET', exchange = hello): Promise<Response> {
  return toFetch(withCors(exchange, cors, () => {}))(new Request('http://agent.example.com/', { method, headers }))
}

function preflight(cors: Cors, origin = page, requested = 'content-type,x-api-key'): Promise<Response> {
  const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': requested }
  return send(cors, headers, 'OPTIONS')
}

const origin = 'access-control-allow-origin'

describe('pages of other origins', () => {
  it('pages of other origins may read responses if all origins are allowed', async () => {
    const { headers } = await send(true, { origin: page })
    expect(headers.get(origin)).toBe('*')
    expect(headers.get('vary')).toBe('A2A-Version')
    expect(headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  it.each<[string, Cors]>([
    ['alone', page],
    ['among others', ['http://localhost:3000', `${page}/`]],
    ['in options', { origins: [page] }],
    ['beside an extension', ['chrome-extension://abc', page]],
  ])('pages of other origins may read responses if their origin is listed %s', async (_, cors) => {
    const { headers } = await send(cors, { origin: page })
    expect(headers.get(origin)).toBe(page)
    expect(headers.get('vary')).toBe('A2A-Version, Origin')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })

  it('pages of other origins may not read responses if their origin is not listed, and responses vary by origin', async () => {
    for (const other of ['https://evil.example.com', 'http://app.example.com', `${page}.evil.com`, 'null']) {
      const response = await send(page, { origin: other })
      expect(response.headers.get(origin)).toBeNull()
      expect(response.headers.get('vary')).toContain('Origin')
    }
    expect((await send(page, {})).headers.get('vary')).toContain('Origin')
  })

  it('pages of other origins may send cookies only if their origin is listed', async () => {
    const { headers } = await send({ origins: page, credentials: true }, { origin: page })
    expect(headers.get('access-control-allow-credentials')).toBe('true')
    expect(() => withCors(hello, { origins: '*', credentials: true }, () => {})).toThrow('credentials')
  })

  it('pages of other origins may also read unexpected failures', async () => {
    const failing: Exchange = () => Promise.reject(new Error('secret'))
    const response = await send(true, { origin: page }, 'POST', failing)
    expect(response.status).toBe(500)
    expect(response.headers.get(origin)).toBe('*')
    expect(await response.text()).not.toContain('secret')
  })
})

describe('a preflight', () => {
  it('a preflight allows the requested headers for some time', async () => {
    const response = await preflight({ origins: page, maxAge: 60 })
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      [origin]: page,
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-allow-headers': 'content-type,x-api-key',
      'access-control-max-age': '60',
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    })
  })

  it('a preflight is rejected for other origins', async () => {
    const response = await preflight(page, 'https://evil.example.com')
    expect(response.status).toBe(403)
    expect(response.headers.get(origin)).toBeNull()
    expect(await response.text()).toContain('may not call')
  })

  it('echoes only header names', async () => {
    for (const requested of ['a: b', `${'x'.repeat(3_000)}`]) {
      const response = await preflight(true, page, requested)
      expect(response.headers.get('access-control-allow-headers')).toBeNull()
    }
  })

  it('a preflight requires an origin and a method', async () => {
    expect((await send(true, { origin: page }, 'OPTIONS')).status).toBe(200)
    expect((await send(true, { 'access-control-request-method': 'POST' }, 'OPTIONS')).status).toBe(200)
  })
})

describe('the origins option', () => {
  it.each(['app.example.com', 'https://app.example.com/path', 'https://*.example.com', ''])(
    'the origins option rejects %j, which is not an origin',
    (text) => {
      expect(() => withCors(hello, [text], () => {})).toThrow('expected an origin such as')
    },
  )
})
