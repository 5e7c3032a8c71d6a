import { describe, expect, it } from 'vitest'
import type { AgentCard, AgentInterface } from '../protocol/card.ts'
import { clientDialects } from './client-dialects.ts'
import { cardRelativeEndpoints, type Endpoint, endpointsOf, otherVersionEndpoints } from './endpoints.ts'

const options = { dialects: clientDialects, bindings: ['JSONRPC', 'HTTP+JSON'] as const }

function cardOf(...interfaces: readonly AgentInterface[]): AgentCard {
  const modes = { defaultInputModes: [], defaultOutputModes: [] }
  return { name: 'A', description: '', version: '', interfaces, capabilities: {}, skills: [], ...modes }
}

const v1_0 = clientDialects.filter(({ name }) => name === 'v1.0')

const at = (url: string, binding = 'JSONRPC', protocolVersion = '1.0') => ({ url, binding, protocolVersion })
const describeAll = (endpoints: readonly Endpoint[]) =>
  endpoints.map(({ origin, binding, dialect, url }) => `${origin} ${binding} ${dialect.name} ${url}`)

describe('endpointsOf', () => {
  it('the endpoints are in the order of the card, followed by those of other versions', () => {
    const card = cardOf(at('https://a.test/rest', 'HTTP+JSON', '0.3'), at('https://a.test/rpc'))
    const cardEndpoints = endpointsOf(card, options)
    expect(describeAll([...cardEndpoints, ...otherVersionEndpoints(card, cardEndpoints, options)])).toEqual([
      'card HTTP+JSON v0.3-proto https://a.test/rest',
      'card HTTP+JSON v0.3 https://a.test/rest',
      'card JSONRPC v1.0 https://a.test/rpc',
      'other-version HTTP+JSON v1.0 https://a.test/rest',
      'other-version JSONRPC v0.3 https://a.test/rpc',
      'other-version JSONRPC v0.1 https://a.test/rpc',
    ])
  })

  it('0.2 over gRPC is the same as 0.3', () => {
    const card = cardOf(at('http://a.test:50051', 'GRPC', '0.2'))
    const endpoints = endpointsOf(card, { ...options, bindings: ['GRPC'] })
    expect(describeAll(endpoints)).toEqual(['card GRPC v0.3-proto http://a.test:50051'])
  })

  it('the endpoints include those of the alternative version', () => {
    const endpoints = endpointsOf(cardOf(at('https://a.test/', 'JSONRPC', '0.2')), {
      ...options,
      alternativeVersion: '0.1',
    })
    expect(describeAll(endpoints).slice(0, 2)).toEqual([
      'card JSONRPC v0.2 https://a.test/',
      'card JSONRPC v0.1 https://a.test/',
    ])
  })

  it('the endpoints accept other spellings of a binding', () => {
    const urls = ['json-rpc', 'JsonRpc', 'rest', 'HTTP_JSON', 'http+json'].map((name, n) =>
      at(`https://${n}.test/`, name),
    )
    const declared = endpointsOf(cardOf(...urls), options)
    expect(declared.map(({ binding }) => binding)).toEqual([
      'JSONRPC',
      'JSONRPC',
      'HTTP+JSON',
      'HTTP+JSON',
      'HTTP+JSON',
    ])
  })

  it('the endpoints leave out unusable interfaces', () => {
    const card = cardOf(at('a.test:443', 'GRPC'), at('nowhere'), at('https://a.test/', 'https://example.com/mine'))
    expect(endpointsOf(card, options)).toEqual([])
  })

  it('the endpoints have the tenant, and a later minor version counts as 1.0', () => {
    const [endpoint] = endpointsOf(cardOf({ ...at('https://a.test/', 'JSONRPC', '1.2.0'), tenant: 't' }), options)
    expect(endpoint).toMatchObject({ tenant: 't', dialect: { name: 'v1.0' } })
  })
})

describe('endpoints of a version that adds to another one', () => {
  const both = cardOf(at('https://a.test/'), at('https://a.test/', 'JSONRPC', '1.1'))

  it('it comes first where the card names it, and the other one is tried if the agent refuses it', () => {
    const endpoints = endpointsOf(both, options)
    expect(describeAll(endpoints)).toEqual(['card JSONRPC v1.1 https://a.test/', 'card JSONRPC v1.0 https://a.test/'])
  })

  it('it is not tried where the card does not name it', () => {
    const card = cardOf(at('https://a.test/'))
    const endpoints = endpointsOf(card, options)
    const all = describeAll([...endpoints, ...otherVersionEndpoints(card, endpoints, options)])
    expect(all.filter((text) => text.includes('v1.1'))).toEqual([])
  })

  it('a client that does not speak it calls its interface in the other one', () => {
    const endpoints = endpointsOf(cardOf(at('https://a.test/', 'JSONRPC', '1.1')), { ...options, dialects: v1_0 })
    expect(describeAll(endpoints)).toEqual(['card JSONRPC v1.0 https://a.test/'])
  })
})

describe('cardRelativeEndpoints', () => {
  it('card-relative endpoints have the path of the declared endpoint or of the card', () => {
    const endpoints = endpointsOf(cardOf(at('http://localhost:8080/rpc')), {
      ...options,
      dialects: v1_0,
    })
    expect(
      describeAll(cardRelativeEndpoints(endpoints, 'https://h.test/agents/a/.well-known/agent-card.json')),
    ).toEqual(['card-relative JSONRPC v1.0 https://h.test/rpc', 'card-relative JSONRPC v1.0 https://h.test/agents/a/'])
  })

  it('card-relative endpoints do not repeat known endpoints', () => {
    const endpoints = endpointsOf(cardOf(at('https://h.test/')), { ...options, dialects: v1_0 })
    expect(cardRelativeEndpoints(endpoints, 'https://h.test/.well-known/agent-card.json')).toEqual([])
  })
})
