import { expect, it } from 'vitest'
import type { AgentCard } from '../../protocol/card.ts'
import { encodeCard } from './card.ts'

const smallest: AgentCard = {
  name: 'Echo',
  description: '',
  version: '1.2.3',
  interfaces: [{ url: 'https://echo.example.com/a2a', binding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}

it('a card always has its required members, even if they are empty', () => {
  expect(encodeCard(smallest)).toStrictEqual({
    name: 'Echo',
    description: '',
    supportedInterfaces: [{ url: 'https://echo.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    version: '1.2.3',
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  })
})

it('a card shows all else that is known, and says no as well as yes of what the agent can', () => {
  const skill = { id: 's', name: 'S', description: 'Does it', tags: ['t'] }
  const card: AgentCard = {
    ...smallest,
    interfaces: [{ url: 'https://h/a', binding: 'JSONRPC', protocolVersion: '1.0', tenant: 'acme' }],
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedCard: false,
      extensions: [
        { uri: 'https://e/1', required: false },
        { uri: 'https://e/2', description: 'Two', required: true, params: { a: 1 } },
      ],
    },
    skills: [
      { ...skill, examples: [], inputModes: [] },
      { ...skill, examples: ['Do it'], inputModes: ['text/plain'], outputModes: ['image/png'] },
    ],
    provider: { organization: 'Acme', url: 'https://acme.example.com' },
    documentationUrl: 'https://docs',
    iconUrl: '',
  }
  expect(encodeCard(card)).toMatchObject({
    supportedInterfaces: [{ url: 'https://h/a', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'acme' }],
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: false,
      extensions: [
        { uri: 'https://e/1' },
        { uri: 'https://e/2', description: 'Two', required: true, params: { a: 1 } },
      ],
    },
    skills: [skill, { ...skill, examples: ['Do it'], inputModes: ['text/plain'], outputModes: ['image/png'] }],
    provider: { organization: 'Acme', url: 'https://acme.example.com' },
    documentationUrl: 'https://docs',
    iconUrl: '',
  })
})

it('a card says who may call, in the form of the proto', () => {
  const flow = { type: 'device-code', deviceAuthorizationUrl: 'https://d', tokenUrl: 'https://t', scopes: {} } as const
  const security = [{ device: ['read'], mtls: [] }]
  const card: AgentCard = {
    ...smallest,
    securitySchemes: { device: { type: 'oauth2', flow, description: 'By hand' }, mtls: { type: 'mutual-tls' } },
    security,
    skills: [{ id: 's', name: 'S', description: 'Does it', tags: [], security }],
    signatures: [{ protected: 'e30', signature: 'c2ln', header: { kid: '1' } }],
  }
  const { type, ...deviceCode } = flow
  const securityRequirements = [{ schemes: { device: { list: ['read'] }, mtls: {} } }]
  expect(encodeCard(card)).toMatchObject({
    securitySchemes: {
      device: { oauth2SecurityScheme: { description: 'By hand', flows: { deviceCode } } },
      mtls: { mtlsSecurityScheme: {} },
    },
    securityRequirements,
    skills: [{ id: 's', securityRequirements }],
    signatures: [{ protected: 'e30', signature: 'c2ln', header: { kid: '1' } }],
  })
})
