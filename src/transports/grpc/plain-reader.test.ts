import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../base/json.ts'
import { decodeAny, encodeMessage } from './codec.ts'
import { readPlain } from './plain-reader.ts'
import { messageNamed } from './proto-registry.ts'

const SendMessageRequest = messageNamed('lf.a2a.v1.SendMessageRequest')
const Part = messageNamed('lf.a2a.v1.Part')

const message = { messageId: 'm-1', contextId: 'c', role: 'ROLE_USER', parts: [{ text: 'Hello' }, { text: '' }] }
const requests: readonly Json[] = [
  { message },
  { tenant: 't', message: { ...message, extensions: ['a', 'b'], referenceTaskIds: ['x'] } },
  { message, configuration: { acceptedOutputModes: ['text/plain'], historyLength: 0, returnImmediately: true } },
  { message: { ...message, parts: [{ url: 'https://example.com/', filename: 'f', mediaType: 'text/plain' }] } },
]

test.each(requests)('the reader reads plain message %# like the library', (request) => {
  const bytes = encodeMessage(SendMessageRequest, request)
  expect(readPlain(SendMessageRequest, bytes)).toEqual(request)
  expect(decodeAny(SendMessageRequest, bytes)).toEqual(request)
})

test.each([
  ['text beyond ASCII', { text: 'ä' }],
  ['a long text', { text: 'x'.repeat(300) }],
  ['data', { data: { a: 1 } }],
  ['bytes', { raw: 'AAEC' }],
  ['metadata', { text: 'a', metadata: { a: 1 } }],
])('the reader leaves a part with %s to the library', (_, part) => {
  expect(readPlain(Part, encodeMessage(Part, part))).toBeUndefined()
})

test.each([
  ['two alternatives', Uint8Array.of(0x0a, 1, 65, 0x1a, 1, 66)],
  ['the same field twice', Uint8Array.of(0x0a, 1, 65, 0x0a, 1, 66)],
  ['an unknown field', Uint8Array.of(0x78, 1)],
  ['a length beyond its end', Uint8Array.of(0x0a, 9, 65)],
  ['a length without bytes', Uint8Array.of(0x0a)],
  ['another wire type', Uint8Array.of(0x08, 1)],
])('the reader leaves a part with %s to the library', (_, bytes) => {
  expect(readPlain(Part, bytes)).toBeUndefined()
})

test('whatever the reader reads, the library reads in the same way', () => {
  const samples = requests.map((request) => [...encodeMessage(SendMessageRequest, request)])
  const change = fc.record({ at: fc.nat(200), remove: fc.nat(4), insert: fc.array(fc.nat(255), { maxLength: 4 }) })
  let plain = 0
  fc.assert(
    fc.property(fc.constantFrom(...samples), fc.array(change, { maxLength: 3 }), (sample, changes) => {
      const bytes = [...sample]
      for (const { at, remove, insert } of changes) bytes.splice(at % bytes.length, remove, ...insert)
      const mutated = Uint8Array.from(bytes)
      const read = readPlain(SendMessageRequest, mutated)
      if (read === undefined) return
      plain++
      expect(read).toEqual(decodeAny(SendMessageRequest, mutated))
    }),
    { numRuns: 5_000 },
  )
  expect(plain).toBeGreaterThan(500)
})
