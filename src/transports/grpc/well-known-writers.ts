import type { Json, JsonObject } from '../../protocol/model.ts'
import type { WireWriter } from './wire-writer.ts'

/** Messages of `google.protobuf` that have a JSON form of their own. */

/** The first field of a message or an entry, and the second one, where they have a length. */
const first = 0x0a
const second = 0x12

export function writeStruct(json: Json, writer: WireWriter): void {
  const object = json as JsonObject
  for (const name in object) {
    writer.varint(first)
    const entry = writer.begin()
    writer.varint(first)
    writer.text(name)
    writer.varint(second)
    const value = writer.begin()
    writeValue(object[name] ?? null, writer)
    writer.end(value)
    writer.end(entry)
  }
}

/** One of null (1), number (2), text (3), truth (4), object (5) and list (6). */
export function writeValue(json: Json, writer: WireWriter): void {
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

function writeList(json: readonly Json[], writer: WireWriter): void {
  for (const item of json) {
    writer.varint(first)
    const mark = writer.begin()
    writeValue(item, writer)
    writer.end(mark)
  }
}

export function writeTimestamp(json: Json, writer: WireWriter): void {
  const milliseconds = Date.parse(json as string)
  if (Number.isNaN(milliseconds)) throw new Error(`${json} is no time`)
  const seconds = Math.floor(milliseconds / 1_000)
  writer.varint(0x08)
  writer.varint(seconds)
  writer.varint(0x10)
  writer.varint((milliseconds - seconds * 1_000) * 1_000_000)
}
