import { describe, expect, it } from 'vitest'
import { agree, cardFor, schemaVersionsOf } from './versions.ts'

const card = (protocols: readonly string[], more = {}) => ({
  agent_id: 'an-agent',
  name: 'An agent',
  version: '1.0.0',
  description: '',
  capabilities: ['x'],
  supported_protocols: protocols,
  ...more,
})

describe('two agents agree', () => {
  it.each([
    [['A2A/1.0'], ['A2A/1.0'], 'A2A/1.0'],
    [['A2A/1.0', 'A2A/1.1'], ['A2A/1.1', 'A2A/1.0'], 'A2A/1.1'],
    [['A2A/1.9', 'A2A/1.10'], ['A2A/1.10', 'A2A/1.9'], 'A2A/1.10'],
    [['A2A/1.0', 'house/7.0'], ['house/7.0', 'A2A/1.0'], 'A2A/1.0'],
  ])('of %j and %j, on %s', (ours, theirs, protocol) => {
    expect(agree(card(ours), card(theirs)).protocol).toBe(protocol)
  })

  it.each([
    [undefined, undefined, '1.0.0'],
    [['1.0.0', '1.1.0'], undefined, '1.1.0'],
    [undefined, ['1.0.0', '1.1.0', '2.0.0'], '1.1.0'],
    [['1.0.0'], ['1.1.0'], '1.0.0'],
  ])('with schemas %j in the card and %j in its metadata, on schemas %s', (own, inMetadata, version) => {
    const theirs = card(['A2A/1.0'], {
      ...(own && { schema_versions: own }),
      ...(inMetadata && { metadata: { schema_versions: inMetadata } }),
    })
    expect(agree(card(['A2A/1.0']), theirs).schemaVersion).toBe(version)
  })

  it.each([
    [['A2A/2.0'], undefined, 'There is no protocol that both of us speak.'],
    [['house/7.0'], undefined, 'There is no protocol that both of us speak.'],
    [['A2A/1.0'], ['2.0.0'], 'There is no version of the schemas that both of us speak.'],
  ])('on nothing, of %j with schemas %j, and say what would do', (protocols, schema_versions, message) => {
    const theirs = card(protocols, schema_versions && { schema_versions })
    expect(() => agree(card(['A2A/1.0', 'house/6.0']), theirs)).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_FAILED',
        message,
        details: { supported_protocols: ['A2A/1.0', 'house/6.0'], schema_versions: ['1.0.0', '1.1.0'] },
      }),
    )
  })
})

it('a card says its schemas where the other one can read them', () => {
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
