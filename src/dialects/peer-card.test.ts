import { describe, expect, it } from 'vitest'
import { clientDialects, readLegacyCard } from './client-dialects.ts'
import { readPeerCard } from './peer-card.ts'

const read = (wire: unknown) => readPeerCard(wire, clientDialects, readLegacyCard)
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

describe('a card', () => {
  it('is one of 1.0 if it names interfaces, whatever else it has', async () => {
    const supportedInterfaces = [
      { url: 'https://a.test/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://a.test/old', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ]
    expect(await versionsOf({ ...legacy, protocolVersion: '0.3.0', supportedInterfaces })).toEqual(['1.0', '0.3'])
  })

  it('of the release candidate has its versions elsewhere', async () => {
    const supportedInterfaces = [{ url: 'https://a.test/', transport: 'HTTP+JSON' }]
    const { card } = await read({ name: 'A', supportedInterfaces, protocolVersions: ['0.3', '1.0'] })
    expect(card.interfaces).toEqual([{ url: 'https://a.test/', binding: 'HTTP+JSON', protocolVersion: '1.0' }])
    expect(await versionsOf({ name: 'A', supportedInterfaces })).toEqual(['1.0'])
  })

  it('may claim 1.0 and be written like an older one', async () => {
    const { card } = await read({ ...legacy, protocolVersion: '1.0.0', preferredTransport: 'HTTP+JSON' })
    expect(card.interfaces).toMatchObject([{ binding: 'HTTP+JSON', protocolVersion: '1.0.0' }])
  })

  it('before 1.0 is told by its version, and before 0.2.5 by what it has', async () => {
    expect(await versionsOf({ ...legacy, protocolVersion: '0.3.0' })).toEqual(['0.3'])
    expect(await versionsOf({ ...legacy, protocolVersion: '0.2.9' })).toEqual(['0.3'])
    expect(await versionsOf({ ...legacy, protocolVersion: '0.2.6' })).toEqual(['0.2'])
    expect(await versionsOf({ ...legacy, iconUrl: 'https://a.test/i.png' })).toEqual(['0.2'])
    expect(await versionsOf({ ...legacy, capabilities: { extensions: [] } })).toEqual(['0.2'])
    expect(await versionsOf({ ...legacy, authentication: { schemes: ['bearer'] } })).toEqual(['0.1'])
  })

  it('may leave open whether it is of 0.2 or 0.1', async () => {
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

  it('is read as far as it can be', async () => {
    expect((await read({ name: 'A', url: 'https://a.test/', protocolVersion: '0.3.0' })).card).toMatchObject({
      name: 'A',
      skills: [],
      interfaces: [{ url: 'https://a.test/', binding: 'JSONRPC' }],
    })
  })

  it('is none if it is no object, or nobody could be reached by it', async () => {
    for (const wire of [null, [], 'card', {}, { name: 'A' }, { name: 'A', supportedInterfaces: [] }, { url: 1 }]) {
      await expect(read(wire)).rejects.toThrow(/^This is no agent card: /)
    }
  })

  it('may be one of the mesh, which is another matter', async () => {
    await expect(read({ agent_id: 'a', supported_protocols: [] })).rejects.toThrow('of a mesh agent')
  })
})
