import { expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import { hintFor, hints } from './hints.ts'

const error = new A2AError('unavailable', 'No.', { url: 'https://a.test/x', dialect: 'v0.3-proto', retryAfter: 5 })
const card = {
  name: 'Echo',
  description: '',
  version: '1',
  interfaces: [{ url: 'https://a.test/x', binding: 'JSONRPC', protocolVersion: '0.3' }],
  capabilities: { extensions: [{ uri: 'urn:a', required: true }, { uri: 'urn:b' }] },
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
  securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
} as const

it('every fact that a hint refers to is known', () => {
  for (const reason of Object.keys(hints)) {
    expect(hintFor(reason, error, { card, cardUrl: 'https://a.test', hasCredentials: false })).not.toMatch(/[{}]/)
    expect(hintFor(reason, new A2AError('internal', 'No.'), { hasCredentials: false })).not.toMatch(/[{}]/)
  }
})

it('a hint names the facts of its error and of the card', () => {
  const hintOf = (reason: string) => hintFor(reason, error, { card, hasCredentials: false })
  expect(hintOf('html')).toContain('https://a.test/x is a web page')
  expect(hintOf('gateway')).toContain('A proxy answers for a.test,')
  expect(hintOf('version-skew')).toBe('The card names A2A 0.3, but the agent does not speak 0.3: update the card.')
  expect(hintOf('extension-missing')).toContain('extensions: ["urn:a"]')
  expect(hintOf('credentials-missing')).toContain('for key.')
  expect(hintOf('too-many-calls')).toBe('Wait 5 seconds.')
  expect(hintOf('no-common-interface')).toBe('The agent offers JSONRPC 0.3 at https://a.test/x.')
  expect(hintOf('toString')).toBeUndefined()
})
