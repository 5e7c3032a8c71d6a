import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import { decodeCard, encodeCard } from './card.ts'

const theirs = {
  name: 'Echo',
  description: 'Says it back',
  version: '2.1.0',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  url: 'https://a.test/rpc',
  protocolVersion: '0.3.0',
  capabilities: { streaming: true, stateTransitionHistory: true },
  skills: [],
}

describe('a card that is read', () => {
  it('has its interfaces in order and each once', () => {
    const interfacesOf = (addresses: JsonObject) => decodeCard({ ...theirs, ...addresses }).interfaces
    const rpc = { url: 'https://a.test/rpc', binding: 'JSONRPC', protocolVersion: '0.3' }
    const additionalInterfaces = [
      { url: 'https://a.test/rpc', transport: 'JSONRPC' },
      { url: 'https://a.test/rest', transport: 'REST' },
    ]
    expect(interfacesOf({})).toEqual([rpc])
    expect(interfacesOf({ additionalInterfaces })).toEqual([
      rpc,
      { url: 'https://a.test/rest', binding: 'HTTP+JSON', protocolVersion: '0.3' },
    ])
    expect(interfacesOf({ preferredTransport: 'GRPC' })).toEqual([{ ...rpc, binding: 'GRPC' }])
  })

  it('tells its version, or is one of 0.3', () => {
    const versions = { '0.3.0': '0.3', '0.2.6': '0.2', '0.2.9': '0.3', '1.0': '1.0', latest: '0.3' }
    for (const [protocolVersion, version] of Object.entries(versions)) {
      expect(decodeCard({ ...theirs, protocolVersion }).interfaces[0]?.protocolVersion).toBe(version)
    }
    const { protocolVersion: _, ...silent } = theirs
    expect(decodeCard(silent).interfaces[0]?.protocolVersion).toBe('0.3')
  })

  it('has a scheme for each flow, and requires one of them', () => {
    const flow = { tokenUrl: 'https://t', scopes: { r: 'Read' } }
    const card = decodeCard({
      ...theirs,
      securitySchemes: {
        oauth: { type: 'oauth2', flows: { clientCredentials: flow, password: flow }, description: 'Ours' },
        tls: { type: 'mutualTLS' },
      },
      security: [{ oauth: ['r'], tls: [] }],
    })
    expect(card.securitySchemes).toMatchObject({
      oauth: { type: 'oauth2', description: 'Ours', flow: { type: 'client-credentials', ...flow } },
      'oauth.password': { type: 'oauth2', description: 'Ours', flow: { type: 'password', ...flow } },
      tls: { type: 'mutual-tls' },
    })
    expect(card.security).toEqual([
      { oauth: ['r'], tls: [] },
      { 'oauth.password': ['r'], tls: [] },
    ])
  })

  it('keeps schemes that nobody here can use, and shows them again', () => {
    const securitySchemes = {
      jwt: { type: 'http', scheme: 'bearer' },
      quantum: { type: 'entanglement', pairs: 7 },
      none: { type: 'oauth2', flows: { telepathy: {} } },
    }
    const card = decodeCard({ ...theirs, securitySchemes })
    expect(Object.keys(card.securitySchemes ?? {})).toEqual(['jwt'])
    expect(encodeCard(card).securitySchemes).toEqual(securitySchemes)
  })

  it('tells new interfaces if it gets some, and the rest as it was', () => {
    const interfaces = [{ url: 'https://gateway', binding: 'JSONRPC', protocolVersion: '0.3' }]
    const told = encodeCard({ ...decodeCard(theirs), interfaces })
    expect(told).toMatchObject({ url: 'https://gateway', capabilities: { stateTransitionHistory: true } })
    expect(JSON.stringify(told)).not.toContain('a.test')
  })

  it('must be one', () => {
    expect(() => decodeCard({ ...theirs, url: undefined })).toThrow('url: expected a string, got nothing')
    expect(() => decodeCard({ ...theirs, securitySchemes: { a: { type: 'http' } } })).toThrow(
      'securitySchemes["a"].scheme: expected a string, got nothing',
    )
    expect(() => decodeCard('<html>')).toThrow('result: expected an object, got a string')
  })
})
