import { type DescEnum, type DescField, type DescMessage, fromJson, ScalarType, toBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import type { Json, JsonObject } from '../../base/json.ts'
import { registry } from './proto-registry.ts'

/**
 * Writes ProtoJSON in the protobuf wire format. `toBinary(fromJson())` of the library builds a message object and checks
 * every type first: it needs 16 µs instead of 4 for a small task, and a quarter more CPU time for a blocking send. It
 * also rejects text with lone surrogates. Our own JSON needs none of these checks.
 */
export type WriteMessage = (json: Json, writer: ProtobufWriter) => void

/** Compiled on first use. */
export function messageWriter(type: DescMessage): WriteMessage {
  const write = writers.get(type) ?? compile(type)
  writers.set(type, write)
  return write
}

/**
 * Writes the protobuf wire format (https://protobuf.dev/programming-guides/encoding/) into one buffer, which it reuses
 * for every message.
 */
export class ProtobufWriter {
  #bytes = new Uint8Array(initialSize)
  #length = 0

  /** Writes any integer that a number can hold. */
  varint(value: number): void {
    this.#reserve(10)
    if (value < 0) {
      this.#negative(value)
      return
    }
    let rest = value
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes[this.#length++] = (rest % 128) | 128
    this.#bytes[this.#length++] = rest
  }

  double(value: number): void {
    this.#reserve(8)
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true)
    this.#length += 8
  }

  /** Writes the length and the UTF-8 bytes. A lone surrogate becomes U+FFFD. */
  text(value: string): void {
    if (value.length <= 40 && this.#isWrittenAsAscii(value)) return
    const mark = this.begin()
    if (value.length > 2 ** 16) this.raw(encoder.encode(value))
    else {
      this.#reserve(value.length * 3)
      this.#length += encoder.encodeInto(value, this.#bytes.subarray(this.#length)).written
    }
    this.end(mark)
  }

  /** Writes the length and the bytes. */
  bytes(value: Uint8Array): void {
    this.varint(value.length)
    this.raw(value)
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
  }

  /** Reserves a byte for the length of everything written until `end`. */
  begin(): number {
    this.#reserve(1)
    return this.#length++
  }

  end(mark: number): void {
    const length = this.#length - mark - 1
    if (length <= 127) {
      this.#bytes[mark] = length
      return
    }
    // The length needs more than the one reserved byte.
    const more = length < 2 ** 14 ? 1 : length < 2 ** 21 ? 2 : length < 2 ** 28 ? 3 : 4
    const end = this.#length + more
    this.#reserve(more)
    this.#bytes.copyWithin(mark + 1 + more, mark + 1, this.#length)
    this.#length = mark
    this.varint(length)
    this.#length = end
  }

  /** Returns everything written, after `head` empty bytes, and starts over. */
  take(head: number): Uint8Array {
    const taken = new Uint8Array(head + this.#length)
    taken.set(this.#bytes.subarray(0, this.#length), head)
    this.reset()
    return taken
  }

  reset(): void {
    this.#length = 0
    // One huge message must not hold its memory for good.
    if (this.#bytes.length > 2 ** 20) this.#bytes = new Uint8Array(initialSize)
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }

  /** Negative integers take 64 bits, whatever their type. */
  #negative(value: number): void {
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 127n; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 127n) | 128
    this.#bytes[this.#length++] = Number(rest)
  }

  /** Most texts are short ids and words, for which a loop is faster than a call of the encoder. */
  #isWrittenAsAscii(value: string): boolean {
    this.#reserve(1 + value.length)
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at)
      if (code > 127) return false
      this.#bytes[this.#length + 1 + at] = code
    }
    this.#bytes[this.#length] = value.length
    this.#length += 1 + value.length
    return true
  }
}

const encoder = new TextEncoder()

const initialSize = 1_024

const writers = new Map<DescMessage, WriteMessage>()

function compile(type: DescMessage): WriteMessage {
  switch (type.typeName) {
    case 'google.protobuf.Struct':
      return writeStruct
    case 'google.protobuf.Value':
      return writeValue
    case 'google.protobuf.Timestamp':
      return writeTimestamp
    case 'google.protobuf.Any':
    case 'google.protobuf.Duration':
      // Only error details contain these, so speed does not matter.
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

function fieldWriter(field: DescField): WriteMessage {
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

/** The type of a value: exactly one member is set. */
interface ValueType {
  readonly message?: DescMessage | undefined
  readonly enum?: DescEnum | undefined
  readonly scalar?: ScalarType | undefined
}

/** Writes a value after its tag. */
function valueWriter(number: number, { message, enum: names, scalar }: ValueType): WriteMessage {
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
    case ScalarType.INT64:
      return (json, writer) => {
        writer.varint(tag)
        writer.varint(Number(json))
      }
  }
  throw new Error(`cannot write a field of type ${scalar && ScalarType[scalar]}: no message in proto/ had one so far`)
}

function lengthWriter(number: number, write: WriteMessage): WriteMessage {
  const tag = lengthTag(number)
  return (json, writer) => {
    writer.varint(tag)
    const mark = writer.begin()
    write(json, writer)
    writer.end(mark)
  }
}

function enumWriter(number: number, { values }: DescEnum): WriteMessage {
  const tag = varintTag(number)
  const numbers: ReadonlyMap<Json, number> = new Map(values.map((value) => [value.name, value.number]))
  return (json, writer) => {
    writer.varint(tag)
    writer.varint(numbers.get(json) ?? Number(json))
  }
}

function lengthTag(number: number): number {
  return (number << 3) | 2
}

function varintTag(number: number): number {
  return number << 3
}

/** Tags of fields 1 and 2 with a length: items of a list, and the key and value of a map entry. */
const firstTag = lengthTag(1)

const secondTag = lengthTag(2)

function writeStruct(json: Json, writer: ProtobufWriter): void {
  const object = json as JsonObject
  for (const name in object) {
    writer.varint(firstTag)
    const entry = writer.begin()
    writer.varint(firstTag)
    writer.text(name)
    writer.varint(secondTag)
    const value = writer.begin()
    writeValue(object[name] ?? null, writer)
    writer.end(value)
    writer.end(entry)
  }
}

/** One of null (1), number (2), string (3), boolean (4), object (5) and list (6). */
function writeValue(json: Json, writer: ProtobufWriter): void {
  if (json === null) {
    writer.varint(0x08)
    writer.varint(0)
  } else if (typeof json === 'number') {
    writer.varint(0x11)
    writer.double(json)
  } else if (typeof json === 'string') {
    writer.varint(0x1a)
    writer.text(json)
  } else if (typeof json === 'boolean') {
    writer.varint(0x20)
    writer.varint(json ? 1 : 0)
  } else {
    const isList = Array.isArray(json)
    writer.varint(isList ? 0x32 : 0x2a)
    const mark = writer.begin()
    if (isList) writeList(json, writer)
    else writeStruct(json, writer)
    writer.end(mark)
  }
}

function writeList(json: readonly Json[], writer: ProtobufWriter): void {
  for (const item of json) {
    writer.varint(firstTag)
    const mark = writer.begin()
    writeValue(item, writer)
    writer.end(mark)
  }
}

function writeTimestamp(json: Json, writer: ProtobufWriter): void {
  const milliseconds = Date.parse(json as string)
  if (Number.isNaN(milliseconds)) throw new Error(`${json} is not a timestamp`)
  const seconds = Math.floor(milliseconds / 1_000)
  writer.varint(0x08)
  writer.varint(seconds)
  writer.varint(0x10)
  writer.varint((milliseconds - seconds * 1_000) * 1_000_000)
}
