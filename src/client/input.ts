import { invalidParams } from '../protocol/errors.ts'
import type { Json, Part } from '../protocol/model.ts'
import type { InputFile, PathFile } from './read-input.ts'

/** What is said to an agent: text, parts, files and data, or several of them. */
export type Input = InputItem | readonly InputItem[]

export type InputItem = string | Part | Blob | Uint8Array | InputFile | PathFile

/** Text and parts are what they are; what has to be read first is read by code that is loaded for it. */
export async function toParts(input: Input): Promise<readonly Part[]> {
  const items: readonly InputItem[] = isList(input) ? input : [input]
  if (items.length === 0) throw invalidParams('input', 'expected something to say')
  return await Promise.all(items.map(toPart))
}

function isList(input: Input): input is readonly InputItem[] {
  return Array.isArray(input)
}

async function toPart(item: InputItem): Promise<Part> {
  if (typeof item === 'string') return { text: item }
  if (isPart(item)) return item
  const { readInput } = await import('./read-input.ts')
  return await readInput(item)
}

/** A file may have a `text()`, which is none. */
function isPart(item: Exclude<InputItem, string>): item is Part {
  return typeof item === 'object' && item !== null && !(item instanceof Blob) && members.some((name) => name in item)
}

const members = ['text', 'url', 'raw', 'data']

/** JSON as a part. */
export function data(value: Json): Part {
  return { data: value, mediaType: 'application/json' }
}
