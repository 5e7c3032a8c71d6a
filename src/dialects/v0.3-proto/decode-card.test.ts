import { describe, expect, it } from 'vitest'
import * as strict from './card.ts'
import { v0_3ProtoClient } from './client.ts'

const { getExtendedCard } = v0_3ProtoClient.decodeResult
const decodeCard = (wire: unknown) => getExtendedCard(wire, {})

const wire = {
  name: 'Echo',
  description: 'Repeats',
  url: 'https://h/rest',
  preferredTransport: 'HTTP+JSON',
  additionalInterfaces: [
    { url: 'https://h/rest', transport: 'HTTP+JSON' },
    { url: 'h:443', transport: 'GRPC' },
  ],
  protocolVersion: '0.3.0',
  version: '1.2.3',
  capabilities: { streaming: true },
  supportsAuthenticatedExtendedCard: true,
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'S', description: 'Does it', tags: ['t'], security: [{ schemes: { key: {} } }] }],
  securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
  security: [{ schemes: { key: {} } }],
}

const card = decodeCard(wire)

describe('a card', () => {
  it('is read', () => {
    expect(strict.decodeCard(wire)).toEqual(card)
    const { carry: _, ...read } = card
    expect(read).toEqual({
      name: 'Echo',
      description: 'Repeats',
      version: '1.2.3',
      interfaces: [
        { url: 'https://h/rest', binding: 'HTTP+JSON', protocolVersion: '0.3' },
        { url: 'h:443', binding: 'GRPC', protocolVersion: '0.3' },
      ],
      capabilities: { streaming: true, extendedCard: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 's', name: 'S', description: 'Does it', tags: ['t'], security: [{ key: [] }] }],
      securitySchemes: { key: { type: 'api-key', location: 'header', name: 'X-Key' } },
      security: [{ key: [] }],
    })
  })

  it('is read from the form of JSON-RPC, which agents in Python answer', () => {
    const securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'X-Key' } }
    const skills = wire.skills.map((skill) => ({ ...skill, security: [{ key: [] }] }))
    expect(decodeCard({ ...wire, securitySchemes, security: [{ key: [] }], skills })).toEqual(card)
  })
})
