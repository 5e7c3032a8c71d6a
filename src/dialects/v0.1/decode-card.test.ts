import { describe, expect, it } from 'vitest'
import type { OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import { decodeCard, encodeCard } from './card.ts'

const smallest = {
  name: 'Echo',
  url: 'https://h/a2a',
  version: '1',
  capabilities: {},
  skills: [{ id: 's', name: 'S' }],
}

it('a card is read from its smallest form', () => {
  expect(decodeCard({ ...smallest, description: null })).toStrictEqual({
    name: 'Echo',
    description: '',
    version: '1',
    interfaces: [{ url: 'https://h/a2a', binding: 'JSONRPC', protocolVersion: '0.1' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: '', tags: [] }],
    carry: { 'v0.1': { anyInput: true, anyOutput: true } },
  })
})

it('a card that is none is the fault of the agent', () => {
  expect(() => decodeCard({ ...smallest, url: 5 })).toThrow(
    expect.objectContaining({ code: 'invalid-agent-response', message: expect.stringMatching(/^url: /) }),
  )
})

describe('the authentication of a card', () => {
  function schemesFor(schemes: readonly string[], credentials?: string) {
    return decodeCard({ ...smallest, authentication: { schemes, credentials } }).securitySchemes
  }

  it('names the schemes of which one will do', () => {
    const { security, securitySchemes } = decodeCard({ ...smallest, authentication: { schemes: ['Bearer', 'Digest'] } })
    expect(security).toStrictEqual([{ Bearer: [] }, { Digest: [] }])
    expect(securitySchemes).toStrictEqual({
      Bearer: { type: 'http', scheme: 'bearer' },
      Digest: { type: 'http', scheme: 'Digest' },
    })
  })

  it('tells of the one scheme that needs it what else callers must know', () => {
    const flows: readonly OAuthFlow[] = [
      { type: 'authorization-code', authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: { read: 'Reads' } },
      { type: 'client-credentials', tokenUrl: 'https://t', scopes: {} },
      { type: 'implicit', authorizationUrl: 'https://a', scopes: {} },
    ]
    const schemes: readonly SecurityScheme[] = [
      { type: 'api-key', name: 'X-Key', location: 'query' },
      { type: 'openid', url: 'https://o' },
      ...flows.map((flow): SecurityScheme => ({ type: 'oauth2', flow })),
    ]
    for (const scheme of schemes) {
      const card = { ...decodeCard(smallest), securitySchemes: { a: scheme }, security: [{ a: [] }] }
      expect(Object.values(decodeCard(encodeCard(card)).securitySchemes ?? {})).toStrictEqual([scheme])
    }
  })

  it('may be told in any case, and sloppily', () => {
    expect(schemesFor(['apikey'])).toStrictEqual({ apikey: { type: 'api-key', name: 'X-API-Key', location: 'header' } })
    expect(schemesFor(['OPENIDCONNECT'], 'https://o')).toStrictEqual({
      OPENIDCONNECT: { type: 'openid', url: 'https://o' },
    })
    for (const credentials of [undefined, 'a secret?', '[]', '{"scopes":["a"]}']) {
      expect(schemesFor(['OAuth2'], credentials)).toStrictEqual({ OAuth2: { type: 'http', scheme: 'OAuth2' } })
    }
  })
})
