import { describe, expect, it } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { apiKey, hashApiKey } from '../../../src/core/auth/schemes/api-key.ts'
import { custom } from '../../../src/core/auth/schemes/custom.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import type { HandlerOptions } from '../../../src/core/server/options.ts'
import { silentLogger } from '../../support/logger.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

const hello = async () => 'hello'
const origin = 'http://ada.test'
const cardPath = '/.well-known/agent-card.json'
const oldCardPath = '/.well-known/agent.json'

const key = 'k'.repeat(32)
const auth = { schemes: { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey(key) }] }) } }

// biome-ignore lint/suspicious/noExplicitAny: each test checks the shape
type Card = any

type Headers = Readonly<Record<string, string>>

function createEndpoint(options: Partial<HandlerOptions> = {}, profile = {}) {
  const ada = agent({ name: 'Ada', description: 'Counts', ...profile }, hello)
  const { fetch } = createHandler(ada, { auth: 'none', logger: silentLogger, ...options })
  const get = (path: string, headers: Headers = {}) => fetch(new Request(`${origin}${path}`, { headers }))
  return {
    get,
    card: async (headers: Headers = {}, path = cardPath): Promise<Card> => await (await get(path, headers)).json(),
  }
}

describe('the version of a card', () => {
  const memberNames = (card: object) => Object.keys(card).toSorted()
  const shared = ['capabilities', 'defaultInputModes', 'defaultOutputModes', 'description', 'name', 'skills', 'version']
  const legacy = ['additionalInterfaces', 'preferredTransport', 'protocolVersion', 'url']

  it('a caller that names 1.0 gets a pure 1.0 card with every member that strict readers need', async () => {
    const { card } = createEndpoint()
    for (const path of [cardPath, oldCardPath]) {
      const pure = await card({ 'a2a-version': '1.0' }, path)
      expect(memberNames(pure)).toEqual([...shared, 'supportedInterfaces'].toSorted())
      expect(pure.supportedInterfaces[0]).toEqual({
        url: `${origin}/`,
        protocolBinding: 'JSONRPC',
        protocolVersion: '1.0',
        tenant: '',
      })
    }
    expect(await card({}, `${cardPath}?A2A-Version=1.0`)).toEqual(await card({ 'a2a-version': '1.0.1' }))
  })

  it('a caller that names no version, or an unknown one, gets the hybrid card', async () => {
    const { card } = createEndpoint()
    const hybrid = await card()
    expect(memberNames(hybrid)).toEqual([...shared, ...legacy, 'supportedInterfaces'].toSorted())
    expect(hybrid).toMatchObject({ protocolVersion: '0.3.0', url: `${origin}/` })
    expect(await card({ 'a2a-version': '99.0' })).toEqual(hybrid)
    expect(await card({ 'a2a-version': '' })).toEqual(hybrid)
  })

  it('a caller that names an older version gets the card of that version alone', async () => {
    const { card } = createEndpoint()
    const v0_3 = await card({ 'a2a-version': '0.3' })
    expect(memberNames(v0_3)).toEqual([...shared, ...legacy].toSorted())
    expect(v0_3.protocolVersion).toBe('0.3.0')
    expect(await card({ 'a2a-version': '0.2' })).toMatchObject({ protocolVersion: '0.2.6', url: `${origin}/` })
    expect(memberNames(await card({ 'a2a-version': '0.1' }))).toEqual([...shared, 'url'].toSorted())
  })

  it('a server of one old version serves the card of that version', async () => {
    const v0_1 = createEndpoint({ dialects: ['v0.1'] })
    const v0_2 = createEndpoint({ dialects: ['v0.2'] })
    for (const path of [cardPath, oldCardPath]) {
      const card0_1 = await v0_1.card({}, path)
      expect(memberNames(card0_1)).toEqual([...shared, 'url'].toSorted())
      expect(card0_1.url).toBe(`${origin}/`)
      const card0_2 = await v0_2.card({}, path)
      expect(memberNames(card0_2)).toEqual([...shared, ...legacy].toSorted())
      expect(card0_2).toMatchObject({ url: `${origin}/`, protocolVersion: '0.2.6' })
    }
    expect(await createEndpoint({ dialects: ['v0.2', 'v1.0'] }).card()).toMatchObject({
      protocolVersion: '0.2.6',
      supportedInterfaces: [{ protocolVersion: '1.0' }, { protocolVersion: '1.0' }, { protocolVersion: '0.2' }],
    })
    expect(await createEndpoint({ dialects: ['v0.1', 'v1.0'] }).card({}, oldCardPath)).toMatchObject({
      url: `${origin}/`,
      supportedInterfaces: [{}, {}, { protocolVersion: '0.1' }],
    })
  })

  it('an operator can pin the card to one version that the server speaks', async () => {
    for (const version of ['1.0', '0.3', '0.2', '0.1'] as const) {
      const { card } = createEndpoint({ dialects: { cards: version } })
      const pinned = await card()
      expect(pinned).toEqual(await card({ 'a2a-version': '1.0' }))
      expect(pinned).toEqual(await createEndpoint().card({ 'a2a-version': version }))
    }
    expect(() => createEndpoint({ dialects: { speak: ['v1.0'], cards: '0.3' } })).toThrow(
      'dialects.cards: expected a version that is served (1.0), got "0.3"',
    )
  })
})

describe('the headers of a card', () => {
  it('Vary names A2A-Version and the headers of a trusted proxy', async () => {
    const varyOf = async (options: Partial<HandlerOptions>) =>
      (await createEndpoint(options).get(cardPath)).headers.get('vary')
    expect(await varyOf({})).toBe('A2A-Version')
    expect(await varyOf({ grpc: true })).toBe('A2A-Version')
    expect(await varyOf({ dialects: { cards: '1.0' } })).toBeNull()
    expect(await varyOf({ trustProxy: true })).toBe(
      'A2A-Version, Forwarded, X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Prefix',
    )
    expect(await varyOf({ trustProxy: true, publicUrl: 'https://a.test' })).toBe('A2A-Version')
  })

  it('each form of the card has its own ETag', async () => {
    const { get } = createEndpoint()
    const etags = await Promise.all(
      ['', '1.0', '0.3'].map(async (version) => {
        const headers = { 'a2a-version': version }
        const etag = (await get(cardPath, headers)).headers.get('etag') ?? ''
        expect((await get(cardPath, { ...headers, 'if-none-match': etag })).status).toBe(304)
        return etag
      }),
    )
    expect(new Set(etags).size).toBe(3)
    expect((await get(cardPath, { 'a2a-version': '1.0', 'if-none-match': etags[0] ?? '' })).status).toBe(200)
  })

  it('Last-Modified is a date in the past, and If-Modified-Since saves sending the card again', async () => {
    const { get } = createEndpoint()
    const { headers } = await get(cardPath)
    const lastModified = headers.get('last-modified') ?? ''
    expect(lastModified).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/)
    expect(Date.parse(lastModified)).toBeLessThanOrEqual(Date.now())
    const since = { 'if-modified-since': lastModified }
    const again = await get(cardPath, since)
    expect({ status: again.status, lastModified: again.headers.get('last-modified') }).toEqual({
      status: 304,
      lastModified,
    })
    expect((await get(cardPath, { 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' })).status).toBe(200)
    expect((await get(cardPath, { 'if-modified-since': 'yesterday' })).status).toBe(200)
    // If-None-Match takes precedence (RFC 9110 §13.1.3).
    expect((await get(cardPath, { ...since, 'if-none-match': '"other"' })).status).toBe(200)
  })
})

describe('the members of older cards', () => {
  const profile = {
    skills: [
      { id: 'count', name: 'Counting', security: [{ key: [] }] },
      { id: 'draw', name: 'Drawing', inputModes: ['text/plain'], outputModes: ['image/png'] },
    ],
    inputModes: ['text/plain', 'application/json'],
  }

  it.each(['', '1.0', '0.3', '0.2', '0.1'])('skills of a card of version %j have their modes', async (version) => {
    const { card } = createEndpoint({}, { skills: [profile.skills[1], { id: 'count', name: 'Counting' }] })
    const { skills, defaultInputModes, defaultOutputModes } = await card({ 'a2a-version': version })
    expect(skills).toMatchObject([
      { inputModes: ['text/plain'], outputModes: ['image/png'] },
      { inputModes: defaultInputModes, outputModes: defaultOutputModes },
    ])
  })

  it('a 0.2 card has no members that came with 0.3', async () => {
    const { card } = createEndpoint({ auth }, profile)
    expect((await card({ 'a2a-version': '0.3' })).skills[0].security).toEqual([{ key: [] }])
    const v0_2 = await card({ 'a2a-version': '0.2' })
    expect(v0_2.skills[0].security).toBeUndefined()
    expect(v0_2.security).toEqual([{ key: [] }])
  })

  it('every scheme of the hybrid card has the type that 0.3 requires', async () => {
    const urls = { deviceAuthorizationUrl: 'https://a.test/device', tokenUrl: 'https://a.test/token' }
    const device = custom({
      card: { type: 'oauth2', flow: { type: 'device-code', ...urls, scopes: {} } },
      authenticate: () => undefined,
    })
    const { card } = createEndpoint({ auth: { schemes: { ...auth.schemes, device } } })
    const { securitySchemes, security } = await card()
    expect(securitySchemes.device).toMatchObject({ type: 'oauth2', flows: {}, oauth2SecurityScheme: {} })
    expect(security).toEqual([{ key: [] }])
    expect((await card({ 'a2a-version': '0.3' })).securitySchemes.device).toBeUndefined()
    expect((await card({ 'a2a-version': '1.0' })).securitySchemes.device.type).toBeUndefined()
  })
})

describe('the address of gRPC', () => {
  const grpcOf = ({ supportedInterfaces = [], additionalInterfaces = [] }: Card) => ({
    '1.0': supportedInterfaces.find(
      ({ protocolBinding, protocolVersion }: Card) => protocolBinding === 'GRPC' && protocolVersion === '1.0',
    )?.url,
    '0.3': additionalInterfaces.find(({ transport }: Card) => transport === 'GRPC')?.url,
  })
  const httpx = { 'user-agent': 'python-httpx/0.28.1' }

  it.each([
    {},
    httpx,
    { ...httpx, 'a2a-version': '1.0' },
    { ...httpx, 'a2a-version': '0.3' },
    { 'user-agent': 'python-requests/2.32' },
    { 'user-agent': 'Go-http-client/1.1' },
  ])('the card names gRPC by host and port to a reader with the headers %j', async (headers) => {
    const { get, card } = createEndpoint({ grpc: true })
    const { '1.0': current, '0.3': legacy } = grpcOf(await card(headers as Headers))
    for (const address of [current, legacy]) expect([undefined, 'ada.test:80']).toContain(address)
    expect([current, legacy]).toContain('ada.test:80')
    expect((await get('/.well-known/agent-card.json', headers as Headers)).headers.get('vary')).toBe('A2A-Version')
  })

  it('a card at a path of its own has no gRPC, and only URLs of its origin, as Google ADK requires', async () => {
    const { get } = createEndpoint({ grpc: true })
    for (const headers of [httpx, { ...httpx, 'a2a-version': '1.0' }, {}]) {
      const response = await get('/.well-known/agent-card-http.json', headers as Headers)
      expect(response.status).toBe(200)
      const served = (await response.json()) as Card
      const { url, additionalInterfaces = [], supportedInterfaces = [] } = served
      const urls = [url, ...[...additionalInterfaces, ...supportedInterfaces].map(({ url: each }: Card) => each)]
      for (const address of urls.filter((each) => each !== undefined)) expect(new URL(address).origin).toBe(origin)
      expect(urls.length).toBeGreaterThan(2)
    }
  })

  it('grpc.onCard: false leaves gRPC off the card', async () => {
    const { card } = createEndpoint({ grpc: { onCard: false } })
    expect(grpcOf(await card())).toEqual({ '1.0': undefined, '0.3': undefined })
  })

  it('an operator can choose one form for all readers', async () => {
    const bare = createEndpoint({ grpc: { address: 'bare' } })
    expect(grpcOf(await bare.card(httpx))).toEqual({ '1.0': 'ada.test:80', '0.3': 'ada.test:80' })
    const url = createEndpoint({ grpc: { address: 'url' } })
    expect(grpcOf(await url.card())).toEqual({ '1.0': origin, '0.3': origin })
    expect(() => createEndpoint({ grpc: { address: 'short' } as never })).toThrow(
      'grpc.address: expected one of "bare", "url", got "short"',
    )
  })
})

describe('the extended card', () => {
  const extendedCard = { description: 'Counts for you' }
  const extendedPath = 'agent/authenticatedExtendedCard'

  it.each(['/', '/rpc', '/rpc/', '/api/v2/rpc'])(
    'the extended card is at its 0.2 path beside the JSON-RPC path %s',
    async (path) => {
      const { get, card } = createEndpoint({ path, extendedCard })
      const { url } = await card({ 'a2a-version': '0.2' })
      const beside = [
        `${url}/../${extendedPath}`,
        `${url.replace(/\/$/, '')}/../${extendedPath}`,
        `${url.replace(/\/$/, '')}/${extendedPath}`,
      ]
      for (const address of [...beside, `${origin}/${extendedPath}`]) {
        const response = await get(new URL(address).pathname)
        expect({ address, status: response.status }).toEqual({ address, status: 200 })
        expect(await response.json()).toMatchObject({ description: 'Counts for you' })
      }
    },
  )

  it('the extended card has the version that the caller names', async () => {
    const { card } = createEndpoint({ extendedCard })
    expect(await card({ 'a2a-version': '0.2' }, `/${extendedPath}`)).toMatchObject({ protocolVersion: '0.2.6' })
    expect((await card({ 'a2a-version': '1.0' }, `/${extendedPath}`)).url).toBeUndefined()
  })
})

describe('a card that requires credentials', () => {
  it('a protected card is sent only to callers that are identified', async () => {
    const { get } = createEndpoint({ auth, card: { auth: true } })
    for (const path of [cardPath, oldCardPath]) {
      const refused = await get(path)
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toBeTruthy()
      expect(await refused.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } })
      const sent = await get(path, { 'x-api-key': key })
      expect({ status: sent.status, caching: sent.headers.get('cache-control') }).toEqual({
        status: 200,
        caching: 'private, max-age=300',
      })
      expect(await sent.json()).toMatchObject({ name: 'Ada' })
    }
  })

  it('a protected card without any scheme is refused when the server starts', async () => {
    expect(() => createEndpoint({ card: { auth: true } })).toThrow(
      'card.auth: the card cannot require credentials, because auth accepts every caller',
    )
  })

  it('the client finds a protected card with its credentials', async () => {
    const { connect } = await import('../../../src/core/client/connect.ts')
    const { apiKeyCredentials } = await import('../../../src/core/client/credentials/static-credentials.ts')
    const { server } = await startTestServer(hello, { auth, card: { auth: true } })
    await expect(connect(server.url)).rejects.toMatchObject({ code: 'unauthenticated' })
    const client = await connect(server.url, { auth: [apiKeyCredentials(key, { name: 'X-API-Key' })] })
    expect((await client.send('hi')).text).toBe('hello')
  })
})
