import { expect, test } from 'vitest'
import { decodeMessage, decodeNumbered, encodeMessage } from './codec.ts'
import { messageNamed } from './proto-registry.ts'

const Part = messageNamed('lf.a2a.v1.Part')
const SendMessageRequest = messageNamed('lf.a2a.v1.SendMessageRequest')
const TaskStatus = messageNamed('lf.a2a.v1.TaskStatus')

test.each([
  ['text', { text: 'hello' }],
  ['an empty text', { text: '' }],
  ['bytes', { raw: 'AAECAw==' }],
  ['a URL', { url: 'https://example.com/a', filename: 'a', mediaType: 'text/plain' }],
  ['an object', { data: { list: [1, 'two', null, { deep: true }], n: 1.5 } }],
  ['null', { data: null }],
  ['metadata', { text: 'x', metadata: { a: { b: [] } } }],
  ['a dangerous name', { data: JSON.parse('{ "__proto__": { "x": 1 } }') }],
])('a part with %s survives encoding and decoding', (_, part) => {
  expect(decodeMessage(Part, encodeMessage(Part, part))).toEqual(part)
})

test('decoded messages lack unset fields and keep set fields with presence', () => {
  const nothing = decodeMessage(SendMessageRequest, new Uint8Array())
  expect(nothing).toEqual({})
  const configuration = { historyLength: 0 }
  expect(decodeMessage(SendMessageRequest, encodeMessage(SendMessageRequest, { configuration }))).toEqual({
    configuration,
  })
})

test('an unknown enum value decodes to its number, for the dialect to reject', () => {
  expect(decodeMessage(TaskStatus, Uint8Array.of(8, 99))).toEqual({ state: 99 })
})

test('a timestamp keeps its milliseconds', () => {
  const status = { state: 'TASK_STATE_WORKING', timestamp: '2026-05-01T08:00:00.120Z' }
  expect(decodeMessage(TaskStatus, encodeMessage(TaskStatus, status))).toEqual(status)
})

test('a lone surrogate becomes U+FFFD', () => {
  expect(decodeMessage(Part, encodeMessage(Part, { text: 'a\ud83d' }))).toEqual({ text: 'a\ufffd' })
  expect(decodeMessage(Part, encodeMessage(Part, { data: { text: '\ude00b' } }))).toEqual({
    data: { text: '\ufffdb' },
  })
})

test('members that the message does not declare are left out', () => {
  expect(decodeMessage(Part, encodeMessage(Part, { text: 'a', kind: 'text' }))).toEqual({ text: 'a' })
})

test.each([
  ['cut off', Uint8Array.of(0x0a, 9, 65)],
  ['not UTF-8', Uint8Array.of(0x0a, 2, 0xff, 0xfe)],
  ['an impossible number', Uint8Array.of(0x22, 9, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)],
  ['not a message', Uint8Array.of(0xff)],
  ['nested too deeply', nested(200)],
])('decoding bytes that are %s throws a parse-error', (_, bytes) => {
  expect(() => decodeMessage(Part, bytes)).toThrow(
    expect.objectContaining({
      code: 'parse-error',
      message: expect.stringMatching(/^The message is not a lf\.a2a\.v1\.Part: /),
    }),
  )
})

test('encoding an invalid timestamp throws', () => {
  expect(() => encodeMessage(TaskStatus, { timestamp: 'noon' })).toThrow('noon is not a timestamp')
})

/** A part with nested lists as its data. */
function nested(depth: number): Uint8Array {
  let value = Uint8Array.of()
  for (let level = 0; level < depth; level++) value = field(6, field(1, value))
  return field(4, value)
}

function field(number: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const length: number[] = []
  for (let rest = content.length; ; rest >>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest)
    if (rest <= 127) break
  }
  return Uint8Array.of((number << 3) | 2, ...length, ...content)
}

test('a decoder that does not know event numbers sees only the message', () => {
  for (const number of [2, 300, 2 ** 31]) {
    const bytes = encodeMessage(Part, { text: 'hello' }, 0, { number, follows: 1 })
    expect(decodeNumbered(Part, bytes)).toEqual({ json: { text: 'hello' }, number, follows: 1 })
    expect(decodeMessage(Part, bytes)).toEqual({ text: 'hello' })
  }
  expect(decodeNumbered(Part, encodeMessage(Part, { text: 'hello' }))).toEqual({ json: { text: 'hello' } })
})
