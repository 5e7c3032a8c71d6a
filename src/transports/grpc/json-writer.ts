import { type DescEnum, type DescField, type DescMessage, fromJson, ScalarType, toBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import type { Json, JsonObject } from '../../protocol/model.ts'
import { registry } from './registry.ts'
import { writeStruct, writeTimestamp, writeValue } from './well-known-writers.ts'
import type { WireWriter } from './wire-writer.ts'

/**
 * Writes ProtoJSON in its binary form. The library goes by way of a message object and takes five times as long; it also
 * checks every type, of which there is no need where the JSON is of our own making.
 */
export type Write = (json: Json, writer: WireWriter) => void

const writers = new Map<DescMessage, Write>()

/** Compiled on first use. */
export function messageWriter(type: DescMessage): Write {
  const write = writers.get(type) ?? compile(type)
  writers.set(type, write)
  return write
}

function compile(type: DescMessage): Write {
  switch (type.typeName) {
    case 'google.protobuf.Struct':
      return writeStruct
    case 'google.protobuf.Value':
      return writeValue
    case 'google.protobuf.Timestamp':
      return writeTimestamp
    case 'google.protobuf.Any':
    case 'google.protobuf.Duration':
      // Only errors have them.
      return (json, writer) => writer.raw(toBinary(type, fromJson(type, json as never, { registry })))
  }
  const fields = type.fields.map((field) => ({
    name: field.jsonName,
    write: fieldWriter(field),
    takesNull: field.message?.typeName === 'google.protobuf.Value',
  }))
  return (json, writer) => {
    const object = json as JsonObject
    for (const { name, write, takesNull } of fields) {
      const value = object[name]
      if (value !== undefined && (value !== null || takesNull)) write(value, writer)
    }
  }
}

function fieldWriter(field: DescField): Write {
  switch (field.fieldKind) {
    case 'list': {
      const write = valueWriter(field.number, field)
      return (json, writer) => {
        for (const item of json as readonly Json[]) write(item, writer)
      }
    }
    case 'map': {
      const tag = lengthTag(field.number)
      const writeKey = valueWriter(1, { scalar: field.mapKey })
      const write = valueWriter(2, field)
      return (json, writer) => {
        for (const [key, value] of Object.entries(json as JsonObject)) {
          writer.varint(tag)
          const mark = writer.begin()
          writeKey(key, writer)
          write(value, writer)
          writer.end(mark)
        }
      }
    }
    case 'message':
    case 'enum':
    case 'scalar':
      return valueWriter(field.number, field)
  }
}

/** Exactly one of these is there. */
interface Content {
  readonly message?: DescMessage | undefined
  readonly enum?: DescEnum | undefined
  readonly scalar?: ScalarType | undefined
}

/** Writes a value with its tag. */
function valueWriter(number: number, { message, enum: names, scalar }: Content): Write {
  if (message) return lengthWriter(number, messageWriter(message))
  if (names) return enumWriter(number, names)
  const tag = scalar === ScalarType.STRING || scalar === ScalarType.BYTES ? lengthTag(number) : varintTag(number)
  switch (scalar) {
    case ScalarType.STRING:
      return (json, writer) => {
        writer.varint(tag)
        writer.text(json as string)
      }
    case ScalarType.BYTES:
      return (json, writer) => {
        writer.varint(tag)
        writer.bytes(base64Decode(json as string))
      }
    case ScalarType.BOOL:
    case ScalarType.INT32:
      return (json, writer) => {
        writer.varint(tag)
        writer.varint(Number(json))
      }
  }
  throw new Error(`nothing in proto/ had a field of type ${scalar && ScalarType[scalar]} yet`)
}

function lengthWriter(number: number, write: Write): Write {
  const tag = lengthTag(number)
  return (json, writer) => {
    writer.varint(tag)
    const mark = writer.begin()
    write(json, writer)
    writer.end(mark)
  }
}

function enumWriter(number: number, { values }: DescEnum): Write {
  const tag = varintTag(number)
  const numbers: ReadonlyMap<Json, number> = new Map(values.map((value) => [value.name, value.number]))
  return (json, writer) => {
    writer.varint(tag)
    writer.varint(numbers.get(json) ?? Number(json))
  }
}

function varintTag(number: number): number {
  return number << 3
}

function lengthTag(number: number): number {
  return (number << 3) | 2
}
