import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import type { Json } from '../../base/json.ts'

/**
 * Reads a protobuf message as ProtoJSON, without the message object that the library builds in between: a short text message
 * takes 0.7 µs instead of 2.8. It reads only plain messages. Undefined for every other one, also for an invalid one:
 * the library reads it, or says what is wrong with it.
 */
export function readPlain(type: DescMessage, bytes: Uint8Array): Json | undefined {
  return new PlainReader(bytes).message(plainType(type), bytes.length, 0)
}

/** Longer texts are read faster by the library. In bytes. */
const maxTextLength = 200

/** Deeper messages are left to the library, which has a limit of its own. */
const maxDepth = 10

type Kind = 'text' | 'boolean' | 'number' | 'enum' | 'message'

interface PlainField {
  readonly name: string
  readonly kind: Kind
  readonly isList: boolean
  /** Whether a default value is different from no value. */
  readonly hasPresence: boolean
  /** The fields of which at most one is set, itself included. */
  readonly alternatives: readonly string[]
  readonly type: PlainType | undefined
  /** Names of enum values by their numbers. */
  readonly names: readonly (string | undefined)[]
}

/** The plain fields of a message by their tags, which take one byte. */
type PlainType = (PlainField | undefined)[]

const types = new Map<DescMessage, PlainType>()

function plainType(message: DescMessage): PlainType {
  const existing = types.get(message)
  if (existing) return existing
  const fields: PlainType = []
  // Before its fields are read: a message may contain itself.
  types.set(message, fields)
  // These have forms of their own in ProtoJSON.
  if (message.typeName.startsWith('google.protobuf.')) return fields
  for (const field of message.fields) {
    const kind = kindOf(field)
    if (kind === undefined || field.number > 15) continue
    fields[(field.number << 3) | (kind === 'text' || kind === 'message' ? 2 : 0)] = {
      name: field.jsonName,
      kind,
      isList: field.fieldKind === 'list',
      hasPresence: field.presence !== implicitPresence,
      alternatives: (field.oneof?.fields ?? [field]).map(({ jsonName }) => jsonName),
      type: field.message && plainType(field.message),
      names: (field.enum?.values ?? []).reduce<string[]>((names, { name, number }) => {
        if (number >= 0 && number <= 127) names[number] = name
        return names
      }, []),
    }
  }
  return fields
}

/** `google.protobuf.FeatureSet.FieldPresence.IMPLICIT` */
const implicitPresence = 2

/** Undefined for fields that are not plain. */
function kindOf(field: DescField): Kind | undefined {
  const isMessage = field.message !== undefined && !field.message.typeName.startsWith('google.protobuf.')
  switch (field.fieldKind) {
    case 'map':
      return undefined
    case 'list':
      if (field.scalar === ScalarType.STRING) return 'text'
      return isMessage && !field.delimitedEncoding ? 'message' : undefined
    case 'message':
      return isMessage && !field.delimitedEncoding ? 'message' : undefined
    case 'enum':
      return field.enum.open && !field.enum.typeName.startsWith('google.protobuf.') ? 'enum' : undefined
    case 'scalar':
      return scalarKinds.get(field.scalar)
  }
}

const scalarKinds: ReadonlyMap<ScalarType, Kind> = new Map([
  [ScalarType.STRING, 'text'],
  [ScalarType.BOOL, 'boolean'],
  [ScalarType.INT32, 'number'],
])

/** Every method returns undefined where the message is not plain. */
class PlainReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  message(type: PlainType, end: number, depth: number): Json | undefined {
    if (depth > maxDepth) return undefined
    const json: Record<string, Json> = {}
    while (this.#at < end) {
      const field = type[this.#byte()]
      if (field === undefined) return undefined
      const value = this.#value(field, end, depth)
      if (value === undefined || !add(json, field, value)) return undefined
    }
    return this.#at === end ? json : undefined
  }

  #value({ kind, type, names }: PlainField, end: number, depth: number): Json | undefined {
    const number = this.#varint()
    switch (kind) {
      case 'number':
        return number
      case 'boolean':
        return number === 0 ? false : number === 1 ? true : undefined
      case 'enum':
        return number === undefined ? undefined : names[number]
    }
    if (number === undefined || this.#at + number > end) return undefined
    if (kind === 'text') return this.#text(number)
    return type && this.message(type, this.#at + number, depth + 1)
  }

  /** A number of at most two bytes. */
  #varint(): number | undefined {
    const low = this.#byte()
    if (low < 128) return low
    const high = this.#byte()
    return high < 128 ? (low & 127) | (high << 7) : undefined
  }

  /** A short text in ASCII. */
  #text(length: number): string | undefined {
    if (length > maxTextLength) return undefined
    const codes = new Array<number>(length)
    for (let n = 0; n < length; n++) {
      const code = this.#byte()
      if (code > 127) return undefined
      codes[n] = code
    }
    return String.fromCharCode.apply(String, codes)
  }

  /** Beyond the end, a byte that no plain message has. */
  #byte(): number {
    return this.#bytes[this.#at++] ?? 255
  }
}

/** False if the library would merge or replace a value. */
function add(json: Record<string, Json>, field: PlainField, value: Json): boolean {
  const { name, isList, hasPresence, alternatives } = field
  if (isList) {
    const list = json[name]
    if (Array.isArray(list)) list.push(value)
    else json[name] = [value]
    return true
  }
  for (const alternative of alternatives) if (json[alternative] !== undefined) return false
  if (hasPresence || (value !== '' && value !== false && value !== 0 && !isZero(field, value))) json[name] = value
  return true
}

/** The first value of an enum is its default. */
function isZero({ kind, names }: PlainField, value: Json): boolean {
  return kind === 'enum' && value === names[0]
}
