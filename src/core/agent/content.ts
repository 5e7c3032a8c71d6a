import { toBase64 } from '../base/base64.ts'
import { defined, isList, type Json, type JsonObject, toJson } from '../base/json.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import {
  type Message,
  type Part,
  parseTimestamp,
  type TaskState,
  type TaskStatus,
  toTimestamp,
} from '../protocol/model.ts'

/** Readers limit the nesting of JSON to 64 levels. This many are left for data within a list of tasks. */
const maxDepth = 50

const contentNames = ['text', 'raw', 'url', 'data'] as const

const partNames: ReadonlySet<string> = new Set([...contentNames, 'filename', 'mediaType', 'metadata', 'carry'])

const fileNames: ReadonlySet<string> = new Set(['name', 'mediaType', 'content'])

const messageNames: ReadonlySet<string> = new Set([
  'messageId',
  'role',
  'parts',
  'contextId',
  'taskId',
  'referenceTaskIds',
  'extensions',
  'metadata',
  'carry',
])

const expected =
  'text, a part such as { text } or { data }, a file such as { name, content }, bytes, a list of these, a message such as { parts, metadata }, or a JSON object'

/** A file: its bytes, its text, or the address where it can be fetched. */
export interface File {
  readonly name: string
  readonly mediaType?: string
  readonly content: Uint8Array | string | URL
}

/** A piece of content. Bytes become a raw part. */
export type ContentItem = string | Part | File | Uint8Array

/** A message with more than its parts. The server sets its ids and its role. */
export interface MessageContent {
  readonly parts: readonly ContentItem[]
  readonly metadata?: JsonObject
  /** The URIs of the extensions that the message uses. */
  readonly extensions?: readonly string[]
  /** Other tasks that the message refers to. */
  readonly referenceTaskIds?: readonly string[]
}

/**
 * Content of a message or an artifact: text, parts, files and bytes, a list of these, or a message with metadata. Any
 * other plain object is sent as a data part. An object that has a member of a part (`text`, `raw`, `url`, `data`) beside
 * members that a part does not have is rejected: wrap it as `{ data: … }`.
 */
export type Content = ContentItem | readonly ContentItem[] | MessageContent | DataContent

/** An object that becomes a data part. Members that are undefined are left out. */
export interface DataContent {
  readonly [member: string]: Json | undefined
}

/** The members of a message that its author chooses. */
export type MessageFields = Pick<Message, 'parts' | 'metadata' | 'extensions' | 'referenceTaskIds'>

/** Converts content of an author to the members of a message. Throws `invalid-agent-response` for anything else. */
export function readContent(content: unknown): MessageFields {
  if (typeof content === 'string') return { parts: [{ text: content }] }
  if (isLegacyMessage(content)) return readContent(fromLegacyMessage(content))
  if (isMessage(content)) {
    const { metadata, extensions, referenceTaskIds } = content
    return defined({
      parts: readItems(content.parts),
      metadata: metadata === undefined ? undefined : readMetadata(metadata, 'metadata'),
      extensions: extensions === undefined ? undefined : readTexts(extensions, 'extensions'),
      referenceTaskIds: referenceTaskIds === undefined ? undefined : readTexts(referenceTaskIds, 'referenceTaskIds'),
    })
  }
  return { parts: isList(content) ? readItems(content) : [readItem(content) ?? dataPart(content)] }
}

/** The parts of content. */
export function toParts(content: unknown): readonly Part[] {
  return readContent(content).parts
}

/** A data part with a copy of the value, which the author may change while the event waits to be stored. */
export function dataPart(value: unknown): Part {
  return { data: readData(value, 'data'), mediaType: 'application/json' }
}

export function filePart({ name, mediaType, content }: File): Part {
  const members = defined({ filename: name, mediaType })
  if (content instanceof URL) return { url: content.href, ...members }
  return { raw: toBase64(typeof content === 'string' ? new TextEncoder().encode(content) : content), ...members }
}

export function isFile(value: unknown): value is File {
  if (!isPlainObject(value) || !hasOnly(value, fileNames)) return false
  const { name, mediaType, content } = value
  if (typeof name !== 'string' || (mediaType !== undefined && typeof mediaType !== 'string')) return false
  return typeof content === 'string' || content instanceof Uint8Array || content instanceof URL
}

/** A copy of the metadata. Throws `invalid-agent-response` if it is not a JSON object. */
export function readMetadata(value: unknown, name: string): JsonObject {
  const metadata = isPlainObject(value) ? readData(value, name) : undefined
  if (typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)) return metadata as JsonObject
  throw new InvalidContent(`${name}: expected a JSON object, got ${describe(value)}`)
}

/** Throws `invalid-agent-response` if the value is not a list of texts. */
export function readTexts(value: unknown, name: string): readonly string[] {
  if (isList(value) && value.every((item) => typeof item === 'string' && item !== '')) return [...value] as string[]
  throw new InvalidContent(`${name}: expected a list of texts, got ${describe(value)}`)
}

/** An event that an author emits as it is, with its content checked. */
export function readEvent(event: StatusEvent | ArtifactEvent): StatusEvent | ArtifactEvent {
  const metadata = event.metadata && { metadata: readMetadata(event.metadata, 'metadata') }
  if (event.type === 'artifact') {
    const { artifact } = event
    if (typeof artifact.artifactId !== 'string') throw new InvalidContent('artifact.artifactId: expected text')
    const closes = event.append && isList(artifact.parts) && artifact.parts.length === 0
    const parts = closes ? artifact.parts : readItems(artifact.parts)
    return { ...event, ...metadata, artifact: { ...artifact, parts } }
  }
  const { message, timestamp } = event.status
  const time = typeof timestamp === 'string' && !Number.isNaN(Date.parse(timestamp)) ? {} : { timestamp: toTimestamp() }
  const status = {
    ...event.status,
    ...time,
    ...defined({ message: message === undefined ? undefined : readMessage(message) }),
  }
  return { ...event, ...metadata, status }
}

/** What the events of a task need: its ids, and its status if it has one, which holds the metadata of the task. */
export interface TaskIds {
  readonly taskId: string
  readonly contextId: string
  readonly status?: TaskStatus | undefined
}

/** Creates the messages and status events of an agent, from content that is known to be valid. */
export interface AgentEvents {
  message(content: string | MessageFields): Message
  status(state: TaskState, content?: string | MessageFields): StatusEvent
  /** The last status of a task. `isAnswer` says that readers should find the content among the artifacts. */
  completed(content: MessageFields | undefined, isAnswer: boolean): StatusEvent
  /** Adds members to the metadata of the task, which every later status has. */
  addTaskMetadata(members: JsonObject): void
  /**
   * A status of another source as the next one of the task: with the metadata of the task, and not earlier than the last
   * status. Clocks differ between processes, and can be set back.
   */
  next(event: StatusEvent): StatusEvent
}

export function createAgentEvents(task: TaskIds, now: () => number = Date.now): AgentEvents {
  const { taskId, contextId } = task
  let taskMetadata = task.status?.taskMetadata
  let last = task.status?.timestamp === undefined ? 0 : parseTimestamp(task.status.timestamp)

  function message(content: string | MessageFields): Message {
    const fields = typeof content === 'string' ? { parts: [{ text: content }] } : content
    return { messageId: crypto.randomUUID(), role: 'agent', ...fields, taskId, contextId }
  }

  function status(state: TaskState, content?: string | MessageFields): StatusEvent {
    return {
      type: 'status',
      status: defined({
        state,
        message: content === undefined ? undefined : message(content),
        timestamp: toTimestamp(Math.max(now(), last)),
        taskMetadata,
      }),
    }
  }

  return {
    message,
    status,
    completed(content, isAnswer) {
      const event = status('completed', content)
      return content && isAnswer ? { ...event, status: { ...event.status, isAnswer } } : event
    },
    addTaskMetadata(members) {
      taskMetadata = { ...taskMetadata, ...members }
    },
    next(event) {
      const { timestamp } = event.status
      const time = timestamp === undefined ? last : parseTimestamp(timestamp)
      const isEarlier = time < last
      if (time > last) last = time
      if (!isEarlier && (!taskMetadata || event.status.taskMetadata)) return event
      const later = isEarlier ? { timestamp: toTimestamp(last) } : {}
      return { ...event, status: defined({ taskMetadata, ...event.status, ...later }) }
    },
  }
}

/** A value of an author that cannot be sent. The text is for callers and logs, so it never has the value. */
export class InvalidContent extends A2AError {
  constructor(problem: string, cause?: unknown) {
    super('invalid-agent-response', `The agent gave an answer that cannot be sent: ${problem}.`, { cause })
  }
}

function readMessage(message: Message): Message {
  if (!isMessage(message)) throw new InvalidContent(`status.message: expected a message, got ${describe(message)}`)
  const messageId = typeof message.messageId === 'string' ? message.messageId : crypto.randomUUID()
  return { ...message, messageId, role: 'agent', ...readContent(message) }
}

function readItems(items: unknown): readonly Part[] {
  if (!isList(items) || items.length === 0) {
    throw new InvalidContent(`expected ${expected}, got ${isList(items) ? 'an empty list' : describe(items)}`)
  }
  return items.map((item, index) => {
    const part = readItem(item)
    if (part) return part
    throw new InvalidContent(
      `item ${index + 1} of the list: expected text, a part, a file or bytes, got ${describe(item)}; wrap data as { data: … }`,
    )
  })
}

/** Undefined if the item is neither text, a part, a file nor bytes. */
function readItem(item: unknown): Part | undefined {
  if (typeof item === 'string') return { text: item }
  if (item instanceof Uint8Array) return { raw: toBase64(item) }
  if (!isPlainObject(item)) {
    if (isList(item)) return undefined
    throw new InvalidContent(`expected ${expected}, got ${describe(item)}`)
  }
  if (isFile(item)) return filePart(item)
  const names = contentNames.filter((name) => item[name] !== undefined)
  const missing = names.length === 0 ? contentNames.find((name) => name in item) : undefined
  if (missing) throw new InvalidContent(`${missing}: expected a value, got undefined`)
  if (names.length === 0) return undefined
  if (names.length > 1 || !hasOnly(item, partNames)) {
    const members = Object.keys(item).slice(0, 8).join(', ')
    throw new InvalidContent(
      `an object with the members ${members} can be a part or data: write { data: … } for data, and for a part one of ${contentNames.join(', ')} with filename, mediaType and metadata`,
    )
  }
  return readPart(item)
}

function readPart({ filename, mediaType, metadata, carry, ...content }: Members): Part {
  for (const [name, value] of Object.entries({ filename, mediaType })) {
    if (value !== undefined && typeof value !== 'string') throw new InvalidContent(expectedText(name, value))
  }
  return {
    ...readPartContent(content),
    ...defined({
      filename: filename as string | undefined,
      mediaType: mediaType as string | undefined,
      metadata: metadata === undefined ? undefined : readMetadata(metadata, 'metadata'),
      carry: carry === undefined ? undefined : readMetadata(carry, 'carry'),
    }),
  }
}

function readPartContent({ text, raw, url, ...content }: Members): Part {
  if (text !== undefined) {
    if (typeof text === 'string') return { text }
    throw new InvalidContent(expectedText('text', text))
  }
  if (raw !== undefined) {
    if (raw instanceof Uint8Array) return { raw: toBase64(raw) }
    if (typeof raw === 'string' && isBase64(raw)) return { raw }
    throw new InvalidContent(`raw: expected bytes, or a text in base64, got ${describe(raw)}`)
  }
  if (url !== undefined) {
    if (url instanceof URL) return { url: url.href }
    if (typeof url === 'string' && URL.canParse(url)) return { url }
    throw new InvalidContent(`url: expected an absolute URL, got ${describe(url)}`)
  }
  return { data: readData(content.data, 'data') }
}

function readData(value: unknown, name: string): Json {
  try {
    const data = toJson(value, name)
    if (data === undefined) throw new TypeError(`${name}: expected a value that JSON can hold, got undefined`)
    if (depthOf(data, maxDepth + 1) <= maxDepth) return data
    throw new TypeError(`${name}: expected at most ${maxDepth} levels of lists and objects, got more`)
  } catch (error) {
    // Besides the errors above, the recursion may exceed the stack, and getters may throw anything.
    const problem = error instanceof TypeError ? error.message : `${name}: expected a value that JSON can hold`
    throw new InvalidContent(problem.replace(/\.$/, ''), error)
  }
}

/** The nesting of lists and objects, counted up to a limit. */
function depthOf(value: Json, limit: number): number {
  if (typeof value !== 'object' || value === null || limit === 0) return 0
  let deepest = 0
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member, limit - 1))
  return deepest + 1
}

type Members = Readonly<Record<string, unknown>>

function isMessage(value: unknown): value is MessageContent {
  return isPlainObject(value) && isList(value.parts) && hasOnly(value, messageNames)
}

/** A message as 0.2 and 0.3 write it. */
function isLegacyMessage(value: unknown): value is Members & { readonly parts: readonly unknown[] } {
  if (!isPlainObject(value) || !isList(value.parts)) return false
  const isKnown = (part: unknown) => isPlainObject(part) && legacyKinds.has(part.kind ?? part.type)
  return value.kind === 'message' || (value.role === 'agent' && value.parts.some(isKnown))
}

/** The kinds of parts, in the member `kind` since 0.2 and `type` before. */
const legacyKinds: ReadonlySet<unknown> = new Set(['text', 'data', 'file'])

function fromLegacyMessage({ kind: _, parts, ...members }: Members & { readonly parts: readonly unknown[] }): Members {
  return { ...members, parts: parts.map(fromLegacyPart) }
}

function fromLegacyPart(part: unknown): unknown {
  if (!isPlainObject(part)) return part
  const { type, kind = type, file, ...members } = part
  if (kind === 'file' && isPlainObject(file)) {
    const { bytes: raw, uri: url, name: filename, mimeType: mediaType } = file
    return defined({ ...members, raw, url, filename, mediaType })
  }
  return legacyKinds.has(kind) && !file ? members : part
}

function isPlainObject(value: unknown): value is Members {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function hasOnly(value: object, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name)) return false
  return true
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

function expectedText(name: string, value: unknown): string {
  return `${name}: expected text, got ${describe(value)}`
}

/** The type of a value, never the value itself: it may be a secret. */
function describe(value: unknown): string {
  if (value === null || value === undefined) return `${value}`
  if (isList(value)) return 'a list'
  if (typeof value !== 'object') return typeof value === 'string' ? 'another text' : `a ${typeof value}`
  return isPlainObject(value) ? 'an object' : `an instance of ${value.constructor?.name || 'a class'}`
}
