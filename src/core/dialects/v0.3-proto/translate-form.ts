import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import { tryRead } from '../../schema/schema.ts'
import { bytes } from '../../schema/values.ts'
import { withoutKeys } from '../codec.ts'
import type { PeerForm } from '../dialect.ts'

// Translates between the JSON that `encode.ts` and `decode.ts` know, which follows the newest proto of 0.3, and the form
// of one peer.

/** The metadata key of a message or artifact with the members of its parts that the first proto of 0.3 does not have. */
const partMembersKey = 'a2a.partMembers'

/** Returns a copy of an encoded request, result or event in the form of its reader. */
export function toPeerForm<T extends Json>(wire: T, form: PeerForm): T {
  const isPlain = form.fileBytes === 'raw' && form.hasNewMembers
  return isPlain ? wire : (changeHolders(wire, (holder, member) => writeHolder(holder, member, form)) as T)
}

/** Undoes `toPeerForm` for what a peer of this form has sent. `marks` are metadata keys to remove. */
export function fromPeerForm(wire: unknown, form: PeerForm, marks: readonly string[] = []): unknown {
  return changeHolders(wire, (holder, member) => readHolder(holder, member, form, marks))
}

/** A message or an artifact, and its parts. */
export interface PartHolder {
  readonly holder: JsonObject
  readonly parts: readonly unknown[]
}

/** Yields the messages and artifacts in a request, a result or an event. */
export function* partHolders(wire: unknown): Generator<PartHolder> {
  if (Array.isArray(wire)) for (const item of wire) yield* partHolders(item)
  if (!isObject(wire)) return
  for (const [member, value] of Object.entries(wire)) {
    if (isPartList(member, value)) yield { holder: wire, parts: value }
    else if (containers.has(member)) yield* partHolders(value)
  }
}

/** The bytes of a file as a text with one character per byte. Undefined if it has none, or none that can be read. */
export function bytesOf(file: JsonObject): string | undefined {
  const { fileWithBytes = file.file_with_bytes } = file
  const encoded = tryRead(base64, fileWithBytes)
  return encoded ? atob(encoded) : undefined
}

/** Whether a text is base64 as encoders write it: padded, and without unused bits. */
export function isBase64Text(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false
  const lastGroup = text.slice(-4)
  return btoa(atob(lastGroup)) === lastGroup
}

/** Whether a text is base64 in any alphabet, padded or not. */
export function isReadableBase64(text: string): boolean {
  return tryRead(base64, text) !== undefined
}

const base64 = bytes()

/** The members in which messages and artifacts can be. Metadata and data are not among them: they belong to callers. */
const containers: ReadonlySet<string> = new Set([
  ...['message', 'msg', 'request', 'task', 'tasks', 'history', 'artifacts', 'artifact', 'status', 'update'],
  ...['statusUpdate', 'status_update', 'artifactUpdate', 'artifact_update'],
])

function isPartList(member: string, value: unknown): value is readonly Json[] {
  return (member === 'content' || member === 'parts') && Array.isArray(value)
}

type ChangeHolder = (holder: JsonObject, member: string) => JsonObject

function changeHolders(wire: unknown, change: ChangeHolder): unknown {
  if (Array.isArray(wire)) return wire.map((item) => changeHolders(item, change))
  if (!isObject(wire)) return wire
  const result: Record<string, unknown> = {}
  let partsMember: string | undefined
  for (const [member, value] of Object.entries(wire)) {
    if (isPartList(member, value)) partsMember = member
    result[member] = containers.has(member) ? changeHolders(value, change) : value
  }
  return partsMember === undefined ? result : change(result as JsonObject, partsMember)
}

function writeHolder(holder: JsonObject, member: string, { fileBytes, hasNewMembers }: PeerForm): JsonObject {
  const members: Record<string, JsonObject> = {}
  const parts = partsOf(holder, member).map((part, index) => {
    if (!isObject(part)) return part
    const encoded = fileBytes === 'base64' ? changeFile(part, encodeBytes) : part
    if (hasNewMembers) return encoded
    const { rest, newMembers } = splitMembers(encoded)
    if (newMembers) members[index] = newMembers
    return rest
  })
  if (Object.keys(members).length === 0) return { ...holder, [member]: parts }
  const metadata = isObject(holder.metadata) ? holder.metadata : {}
  return { ...holder, [member]: parts, metadata: { ...metadata, [partMembersKey]: members } }
}

function readHolder(holder: JsonObject, member: string, { fileBytes }: PeerForm, marks: readonly string[]): JsonObject {
  const metadata = isObject(holder.metadata) ? holder.metadata : undefined
  const parts = partsOf(holder, member)
  const members = metadata?.[partMembersKey]
  // Any other value under the key belongs to another writer, and stays.
  const isOurs = isObject(members) && Object.entries(members).every((entry) => isMemberEntry(entry, parts))
  const keys = Object.fromEntries([...marks, ...(isOurs ? [partMembersKey] : [])].map((key) => [key, metadata?.[key]]))
  const kept = withoutKeys(metadata, keys)
  const { metadata: _, ...rest } = holder
  return {
    ...rest,
    ...defined({ metadata: metadata === undefined ? holder.metadata : kept }),
    [member]: parts.map((part, index) => {
      if (!isObject(part)) return part
      const decoded = fileBytes === 'base64' ? changeFile(part, decodeBytes) : part
      return isOurs ? joinMembers(decoded, members[index]) : decoded
    }),
  }
}

function partsOf(holder: JsonObject, member: string): readonly Json[] {
  return holder[member] as readonly Json[]
}

function changeFile(part: JsonObject, change: (file: JsonObject) => JsonObject): JsonObject {
  return isObject(part.file) ? { ...part, file: change(part.file) } : part
}

function encodeBytes(file: JsonObject): JsonObject {
  return typeof file.fileWithBytes === 'string' ? { ...file, fileWithBytes: btoa(file.fileWithBytes) } : file
}

/** Content that is no base64 text is left as it is: it cannot be what the form says. */
function decodeBytes(file: JsonObject): JsonObject {
  const text = bytesOf(file)
  if (text === undefined) return file
  const { file_with_bytes: _, ...rest } = file
  const fileWithBytes = tryRead(base64, text)
  return fileWithBytes === undefined ? file : { ...rest, fileWithBytes }
}

function splitMembers(part: JsonObject): { readonly rest: JsonObject; readonly newMembers?: JsonObject } {
  const { metadata, ...rest } = part
  const file = isObject(part.file) ? part.file : undefined
  const { name, ...fileRest } = file ?? {}
  if (metadata === undefined && name === undefined) return { rest }
  return {
    rest: file ? { ...rest, file: fileRest } : rest,
    newMembers: defined({ name, metadata }),
  }
}

function joinMembers(part: JsonObject, members: Json | undefined): JsonObject {
  if (!isObject(members)) return part
  const { name, metadata } = members
  const withName = name === undefined ? part : changeFile(part, (file) => ({ name, ...file }))
  return metadata === undefined ? withName : { metadata, ...withName }
}

function isMemberEntry([index, members]: [string, Json], parts: readonly Json[]): boolean {
  if (!/^\d{1,4}$/.test(index) || Number(index) >= parts.length || !isObject(members)) return false
  const { name, metadata, ...others } = members
  const isName = name === undefined || typeof name === 'string'
  return isName && (metadata === undefined || isObject(metadata)) && Object.keys(others).length === 0
}
