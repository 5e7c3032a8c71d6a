import { describe, expect, it } from 'vitest'
import { type Cors, withCors } from './cors.ts'
import type { Exchange } from './exchange.ts'
import { toFetch } from './fetch.ts'

const page = 'https://app.example.com'
const hello: Exchange = async () => ({ status: 200, headers: { vary: 'A2A-Version' }, body: 'hello' })

function ask(cors: Cors, headers: Record<string, string>, method = 'GET', exchange = hello): Promise<Response> {
  return toFetch(withCors(exchange, cors, () => {}))(new Request('http://agent.example.com/', { method, headers }))
}

function preflight(cors: Cors, origin = page, asked = 'content-type,x-api-key'): Promise<Response> {
  const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked }
  return ask(cors, headers, 'OPTIONS')
}

const origin = 'access-control-allow-origin'

describe('pages of other origins', () => {
  it('may read answers if all may', async () => {
    const { headers } = await ask(true, { origin: page })
    expect(headers.get(origin)).toBe('*')
    expect(headers.get('vary')).toBe('A2A-Version')
    expect(headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  it.each<[string, Cors]>([
    ['by its name', page],
    ['among others', ['http://localhost:3000', `${page}/`]],
    ['with more said of it', { origins: [page] }],
    ['as one of an extension', ['chrome-extension://abc', page]],
  ])('may read answers if theirs is named %s', async (_, cors) => {
    const { headers } = await ask(cors, { origin: page })
    expect(headers.get(origin)).toBe(page)
    expect(headers.get('vary')).toBe('A2A-Version, Origin')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })

  it('may not if theirs is not named, and caches are told that it matters', async () => {
    for (const other of ['https://evil.example.com', 'http://app.example.com', `${page}.evil.com`, 'null']) {
      const response = await ask(page, { origin: other })
      expect(response.headers.get(origin)).toBeNull()
      expect(response.headers.get('vary')).toContain('Origin')
    }
    expect((await ask(page, {})).headers.get('vary')).toContain('Origin')
  })

  it('may send cookies only where they are named', async () => {
    const { headers } = await ask({ origins: page, credentials: true }, { origin: page })
    expect(headers.get('access-control-allow-credentials')).toBe('true')
    expect(() => withCors(hello, { origins: '*', credentials: true }, () => {})).toThrow('credentials')
  })

  it('may also read failures that nobody foresaw', async () => {
    const failing: Exchange = () => Promise.reject(new Error('secret'))
    const response = await ask(true, { origin: page }, 'POST', failing)
    expect(response.status).toBe(500)
    expect(response.headers.get(origin)).toBe('*')
    expect(await response.text()).not.toContain('secret')
  })
})

describe('a preflight', () => {
  it('allows what is asked for, for some time', async () => {
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

  it('is refused for other origins', async () => {
    const response = await preflight(page, 'https://evil.example.com')
    expect(response.status).toBe(403)
    expect(response.headers.get(origin)).toBeNull()
    expect(await response.text()).toContain('may not call')
  })

  it('gives back no more than names', async () => {
    for (const asked of ['a: b', `${'x'.repeat(3_000)}`]) {
      const response = await preflight(true, page, asked)
      expect(response.headers.get('access-control-allow-headers')).toBeNull()
    }
  })

  it('is none without an origin, or without a method', async () => {
    expect((await ask(true, { origin: page }, 'OPTIONS')).status).toBe(200)
    expect((await ask(true, { 'access-control-request-method': 'POST' }, 'OPTIONS')).status).toBe(200)
  })
})

describe('what is said of origins', () => {
  it.each(['app.example.com', 'https://app.example.com/path', 'https://*.example.com', ''])(
    'must be origins: %j is none',
    (wrong) => {
      expect(() => withCors(hello, [wrong], () => {})).toThrow('expected an origin such as')
    },
  )
})
