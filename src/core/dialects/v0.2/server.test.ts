import { describe, expect, it } from 'vitest'
import type { AgentCard } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import { decodeError, decodeHttpError } from '../errors.ts'
import { v0_3 } from '../v0.3/server.ts'
import { v0_2Client } from './client.ts'
import { v0_2, v0_2Strict } from './server.ts'

const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }

it('0.2 has the methods of 0.3 except for lists, and another name for the extended card', () => {
  const missing = [...v0_3.operations.keys()].filter((method) => !v0_2.operations.has(method))
  expect(missing).toEqual(['tasks/list', 'agent/getAuthenticatedExtendedCard'])
  expect(v0_2.operations.get('agent/authenticatedExtendedCard')).toBe('getExtendedCard')
  expect(v0_2.methods.listTasks).toBeUndefined()
})

describe('a part with a type', () => {
  const params = { message: { ...message, parts: [{ type: 'text', text: 'hi' }] } }

  it('a part with a type identifies 0.2.0 and 0.2.1', () => {
    const features = { version: undefined, method: 'message/send', acceptsStream: false }
    expect(v0_2.recognises?.({ ...features, params })).toBe(true)
    expect(v0_2.recognises?.({ ...features, params: params.message })).toBe(true)
    for (const other of [{ message }, undefined, [], { message: 'hi' }, { message: { parts: [null] } }]) {
      expect(v0_2.recognises?.({ ...features, params: other })).toBe(false)
    }
  })

  it('a part with a type is accepted unless the dialect is strict', () => {
    expect(v0_2.decodeRequest.sendMessage(params).message.parts).toEqual([{ text: 'hi' }])
    expect(() => v0_2Strict.decodeRequest.sendMessage(params)).toThrow('expected "kind"')
  })
})

it('the client always sends the accepted output modes, which are required up to 0.2.5', () => {
  const request = v0_2.decodeRequest.sendMessage({ message })
  const { carry: _, ...fresh } = request
  expect(v0_2Client.encodeRequest.sendMessage(fresh).configuration).toEqual({ acceptedOutputModes: [], blocking: true })
  expect(v0_2Client.encodeRequest.streamMessage(fresh).configuration).toEqual({ acceptedOutputModes: [] })
  const configuration = { acceptedOutputModes: ['text/plain'] }
  expect(v0_2Client.encodeRequest.streamMessage({ ...fresh, configuration }).configuration).toEqual(configuration)
})

it('a missing extended card is an unsupported operation', () => {
  expect(v0_2.encodeError(new A2AError('extended-card-not-configured', 'No.')).code).toBe(-32004)
  expect(v0_2.encodeHttpError(new A2AError('extended-card-not-configured', 'No.')).body.code).toBe(-32004)
  // The number of 0.3 is accepted as well.
  expect(decodeError({ code: -32007, message: 'No.' }).code).toBe('extended-card-not-configured')
  const error = decodeHttpError({ status: 400, body: { code: -32007, message: 'No.' } })
  expect(error.code).toBe('extended-card-not-configured')
})

describe('a card', () => {
  const card: AgentCard = {
    name: 'Echo',
    description: '',
    version: '1.0.0',
    interfaces: [{ url: 'https://a.test', binding: 'JSONRPC', protocolVersion: '0.2' }],
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
    securitySchemes: { tls: { type: 'mutual-tls' }, jwt: { type: 'http', scheme: 'bearer' } },
    security: [{ tls: [] }, { jwt: [] }],
  }

  it('a card is encoded without members that 0.2 clients reject', () => {
    for (const wire of [v0_2.encodeCard(card), v0_2.encodeResult.getExtendedCard(card, {})]) {
      expect(wire).toMatchObject({ protocolVersion: '0.2.6', url: 'https://a.test', security: [{ jwt: [] }] })
      expect(JSON.stringify(wire)).not.toContain('mutualTLS')
    }
  })

  it('a card without a version is read as 0.2', () => {
    const { protocolVersion: _, ...wire } = v0_2.encodeCard(card)
    expect(v0_2Client.decodeCard(wire).interfaces).toEqual(card.interfaces)
    expect(v0_2Client.decodeResult.getExtendedCard(wire, {}).interfaces).toEqual(card.interfaces)
  })
})
