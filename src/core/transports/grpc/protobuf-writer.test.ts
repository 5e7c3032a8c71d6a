import { type DescField, type DescMessage, fromJson, type JsonValue, ScalarType, toBinary } from '@bufbuild/protobuf'
import fc, { type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../base/json.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { messageNamed, registry } from './proto-registry.ts'

const names = [
  'lf.a2a.v1.SendMessageResponse',
  'lf.a2a.v1.StreamResponse',
  'lf.a2a.v1.ListTasksResponse',
  'lf.a2a.v1.AgentCard',
  'lf.a2a.v1.ListTaskPushNotificationConfigsResponse',
  'a2a.v1.StreamResponse',
  'a2a.v1.AgentCard',
  'grpc.health.v1.HealthCheckResponse',
  'grpc.reflection.v1.ServerReflectionResponse',
]

test.each(names)('the writer encodes %s like the library', { timeout: 30_000 }, (name) => {
  const type = messageNamed(name)
  fc.assert(
    fc.property(messages(type), (json) => {
      const expected = toBinary(type, fromJson(type, json as JsonValue, { registry }))
      expect(decodeMessage(type, encodeMessage(type, json))).toEqual(decodeMessage(type, expected))
    }),
    { numRuns: 200 },
  )
})

test('the writer encodes texts of every length like the library', () => {
  const type = messageNamed('lf.a2a.v1.Part')
  for (const length of [127, 128, 16_383, 16_384, 65_536, 65_537, 3_000_000]) {
    for (const character of ['x', 'ä', '😀']) {
      const json = { text: character.repeat(length) }
      expect(Buffer.from(encodeMessage(type, json)).equals(toBinary(type, fromJson(type, json)))).toBe(true)
    }
  }
})

/** Arbitrary ProtoJSON of a type. */
function messages(type: DescMessage): Arbitrary<Json> {
  switch (type.typeName) {
    case 'google.protobuf.Struct':
      return fc.dictionary(fc.string(), values()) as Arbitrary<Json>
    case 'google.protobuf.Value':
      return values()
    case 'google.protobuf.Timestamp':
      return fc
        .date({ min: new Date(-62_135_596_800_000), max: new Date(253_402_300_799_999), noInvalidDate: true })
        .map((date) => date.toISOString())
  }
  const single = type.fields.filter(({ oneof }) => !oneof).map((field) => [field.jsonName, members(field)] as const)
  const plain = fc.record(Object.fromEntries(single), { requiredKeys: [] }) as Arbitrary<object>
  const chosen = type.oneofs.map(({ fields }) =>
    fc.oneof(...fields.map((field) => members(field).map((value) => ({ [field.jsonName]: value })))),
  )
  return fc.tuple(plain, ...chosen).map((parts) => Object.assign({}, ...parts) as Json)
}

function members(field: DescField): Arbitrary<Json> {
  switch (field.fieldKind) {
    case 'list':
      return fc.array(contents(field), { maxLength: 3 })
    case 'map':
      return fc.dictionary(fc.string(), contents(field), { maxKeys: 3, noNullPrototype: true })
    case 'message':
    case 'enum':
    case 'scalar':
      return contents(field)
  }
}

function contents({ message, enum: names, scalar }: DescField): Arbitrary<Json> {
  if (message) return messages(message)
  if (names) return fc.constantFrom(...names.values.map(({ name }) => name))
  switch (scalar) {
    case ScalarType.STRING:
      return fc.string({ unit: 'binary' })
    case ScalarType.BYTES:
      return fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64'))
    case ScalarType.BOOL:
      return fc.boolean()
    case ScalarType.INT32:
      return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
    case ScalarType.INT64:
      return fc.maxSafeInteger().map(String)
  }
  throw new Error(`no arbitrary for a field of type ${scalar}`)
}

function values(): Arbitrary<Json> {
  return fc.jsonValue({ maxDepth: 3 }) as Arbitrary<Json>
}
