import { describe, expect, it } from 'vitest'
import { readPeerCard } from './peer-card.ts'

const read = readPeerCard
const skill = { id: 's', name: 'S', description: 'Does', tags: ['x'] }
const legacy = {
  name: 'A',
  description: 'B',
  version: '1',
  url: 'https://a.test/',
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [skill],
}
const versionsOf = async (wire: object) =>
  (await read(wire)).card.interfaces.map(({ protocolVersion }) => protocolVersion)

describe('readPeerCard', () => {
  it('a card with interfaces is read as 1.0, whatever other members it has', async () => {
    const supportedInterfaces = [
      { url: 'https://a.test/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://a.test/old', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ]
    expect(await versionsOf({ ...legacy, protocolVersion: '0.3.0', supportedInterfaces })).toEqual(['1.0', '0.3'])
  })

  it('a card of the release candidate is read with the versions beside its interfaces', async () => {
    const supportedInterfaces = [{ url: 'https://a.test/', transport: 'HTTP+JSON' }]
    const { card } = await read({ name: 'A', supportedInterfaces, protocolVersions: ['0.3', '1.0'] })
    expect(card.interfaces).toEqual([{ url: 'https://a.test/', binding: 'HTTP+JSON', protocolVersion: '1.0' }])
    expect(await versionsOf({ name: 'A', supportedInterfaces })).toEqual(['1.0'])
  })

  it('a card that claims 1.0 but is written like an older one is read', async () => {
    const { card } = await read({ ...legacy, protocolVersion: '1.0.0', preferredTransport: 'HTTP+JSON' })
    expect(card.interfaces).toMatchObject([{ binding: 'HTTP+JSON', protocolVersion: '1.0.0' }])
  })

  it('a card before 1.0 is identified by its version, and before 0.2.5 by its members', async () => {
    expect(await versionsOf({ ...legacy, protocolVersion: '0.3.0' })).toEqual(['0.3'])
    expect(await versionsOf({ ...legacy, protocolVersion: '0.2.9' })).toEqual(['0.3'])
    expect(await versionsOf({ ...legacy, protocolVersion: '0.2.6' })).toEqual(['0.2'])
    expect(await versionsOf({ ...legacy, iconUrl: 'https://a.test/i.png' })).toEqual(['0.2'])
    expect(await versionsOf({ ...legacy, capabilities: { extensions: [] } })).toEqual(['0.2'])
    expect(await versionsOf({ ...legacy, authentication: { schemes: ['bearer'] } })).toEqual(['0.1'])
  })

  it('an ambiguous card is read with the other version as an alternative', async () => {
    expect(await read(legacy)).toMatchObject({
      card: { interfaces: [{ protocolVersion: '0.2' }] },
      alternativeVersion: '0.1',
    })
    const { description: _, ...bare } = legacy
    expect(await read(bare)).toMatchObject({
      card: { interfaces: [{ protocolVersion: '0.1' }] },
      alternativeVersion: '0.2',
    })
    const skills = [{ id: 's', name: 'S' }]
    expect(await read({ ...legacy, skills })).toMatchObject({
      alternativeVersion: '0.2',
      evidence: 'there is no description of a skill',
    })
  })

  it('an incomplete card is read as far as possible', async () => {
    expect((await read({ name: 'A', url: 'https://a.test/', protocolVersion: '0.3.0' })).card).toMatchObject({
      name: 'A',
      skills: [],
      interfaces: [{ url: 'https://a.test/', binding: 'JSONRPC' }],
    })
  })

  it('a value that is not an object, or has no address, is no card', async () => {
    for (const wire of [null, [], 'card', {}, { name: 'A' }, { name: 'A', supportedInterfaces: [] }, { url: 1 }]) {
      await expect(read(wire)).rejects.toThrow(/^This is no agent card: /)
    }
  })

  it('the card of a mesh agent is rejected', async () => {
    await expect(read({ agent_id: 'a', supported_protocols: [] })).rejects.toThrow('of a mesh agent')
  })
})
