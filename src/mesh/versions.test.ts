import { describe, expect, it } from 'vitest'
import { cardFor, negotiateVersions, schemaVersionsOf } from './versions.ts'

const card = (protocols: readonly string[], more = {}) => ({
  agent_id: 'an-agent',
  name: 'An agent',
  version: '1.0.0',
  description: '',
  capabilities: ['x'],
  supported_protocols: protocols,
  ...more,
})

describe('two agents', () => {
  it.each([
    [['A2A/1.0'], ['A2A/1.0'], 'A2A/1.0'],
    [['A2A/1.0', 'A2A/1.1'], ['A2A/1.1', 'A2A/1.0'], 'A2A/1.1'],
    [['A2A/1.9', 'A2A/1.10'], ['A2A/1.10', 'A2A/1.9'], 'A2A/1.10'],
    [['A2A/1.0', 'house/7.0'], ['house/7.0', 'A2A/1.0'], 'A2A/1.0'],
  ])('with the protocols %j and %j agree on %s', (own, peer, protocol) => {
    expect(negotiateVersions(card(own), card(peer)).protocol).toBe(protocol)
  })

  it.each([
    [undefined, undefined, '1.0.0'],
    [['1.0.0', '1.1.0'], undefined, '1.1.0'],
    [undefined, ['1.0.0', '1.1.0', '2.0.0'], '1.1.0'],
    [['1.0.0'], ['1.1.0'], '1.0.0'],
  ])('with schema versions %j in the card and %j in its metadata agree on %s', (own, inMetadata, version) => {
    const peer = card(['A2A/1.0'], {
      ...(own && { schema_versions: own }),
      ...(inMetadata && { metadata: { schema_versions: inMetadata } }),
    })
    expect(negotiateVersions(card(['A2A/1.0']), peer).schemaVersion).toBe(version)
  })

  it.each([
    [['A2A/2.0'], undefined, 'There is no protocol that both agents support.'],
    [['house/7.0'], undefined, 'There is no protocol that both agents support.'],
    [['A2A/1.0'], ['2.0.0'], 'There is no schema version that both agents support.'],
  ])(
    'without a common version, such as %j with schemas %j, get an error that lists the versions',
    (protocols, schema_versions, message) => {
      const peer = card(protocols, schema_versions && { schema_versions })
      expect(() => negotiateVersions(card(['A2A/1.0', 'house/6.0']), peer)).toThrow(
        expect.objectContaining({
          code: 'VALIDATION_FAILED',
          message,
          details: { supported_protocols: ['A2A/1.0', 'house/6.0'], schema_versions: ['1.0.0', '1.1.0'] },
        }),
      )
    },
  )
})

it('a card lists its schema versions where peers of either version read them', () => {
  const own = card(['A2A/1.0'], { metadata: { endpoint: 'https://example.com' } })
  expect(cardFor(own)).toMatchObject({
    metadata: { endpoint: 'https://example.com', schema_versions: ['1.0.0', '1.1.0'] },
  })
  expect(cardFor(own)).not.toHaveProperty('schema_versions')
  expect(cardFor(own, '1.1.0')).toMatchObject({ schema_versions: ['1.0.0', '1.1.0'] })
  for (const version of ['1.0.0', '1.1.0'] as const) {
    expect(schemaVersionsOf(cardFor(own, version))).toEqual(['1.0.0', '1.1.0'])
  }
})
