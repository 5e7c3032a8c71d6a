import { isList, type Json, type JsonObject } from '../base/json.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { Message, Part } from '../protocol/model.ts'
import type { PushConfig, SendRequest } from '../protocol/service.ts'
import { type InputFile, type PathFile, readInput } from './files.ts'
import type { CallOptions } from './options.ts'

const members = ['text', 'url', 'raw', 'data']

/** JSON as a part. */
export function data(value: Json): Part {
  return { data: value, mediaType: 'application/json' }
}

export type InputItem = string | Part | Blob | Uint8Array | InputFile | PathFile

/** What is said to an agent: text, parts, files and data, or several of them. */
export type Input = InputItem | readonly InputItem[]

/** Takes what agents tell, as `receive()` of `parley-a2a/push` does. */
export interface PushReceiver {
  register(): PushConfig | Promise<PushConfig>
}

/** How something is said. */
export interface SendOptions extends CallOptions {
  /** Goes on with a conversation. */
  readonly contextId?: string
  /** Goes on with a task. */
  readonly taskId?: string
  readonly referenceTaskIds?: readonly string[]
  /** Of the request. */
  readonly metadata?: JsonObject
  /** The skill that it is for, by its id. */
  readonly skill?: string
  /** Media types that the caller can use. */
  readonly acceptedOutputModes?: readonly string[]
  readonly historyLength?: number
  /** Where the agent calls when something happens: an address, or a receiver, which gives out a token of its own. */
  readonly push?: PushConfig | PushReceiver
  /** Do not wait for the task to rest. */
  readonly returnImmediately?: boolean
  /** The same message under the same id is the same message, to agents that deduplicate. */
  readonly messageId?: string
  /** Under it an agent that deduplicates takes all tries for one, also those of another process. */
  readonly idempotencyKey?: string
}

export async function createSendRequest(input: Input, options: SendOptions): Promise<SendRequest> {
  const { contextId, taskId, referenceTaskIds, messageId = newId(), metadata } = options
  const { acceptedOutputModes, historyLength, returnImmediately, skill } = options
  const push = options.push && (await pushConfigOf(options.push))
  const message: Message = {
    messageId,
    role: 'user',
    parts: await toParts(input),
    ...definedOnly({ contextId, taskId, referenceTaskIds, metadata: skill ? { skillId: skill } : undefined }),
  }
  const configuration = definedOnly({ acceptedOutputModes, historyLength, push, returnImmediately })
  return {
    message,
    ...(Object.keys(configuration).length > 0 && { configuration }),
    ...definedOnly({ metadata }),
  }
}

/** A UUID; `crypto.randomUUID` is only there in secure contexts: in others it is as many bits of chance. */
export function newId(): string {
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** A receiver is registered anew each time: who knows one token can tell nothing in another one's name. */
export function pushConfigOf(push: PushConfig | PushReceiver): PushConfig | Promise<PushConfig> {
  return 'register' in push ? push.register() : push
}

export async function toParts(input: Input): Promise<readonly Part[]> {
  const items: readonly InputItem[] = isList(input) ? input : [input]
  if (items.length === 0) throw invalidParams('input', 'expected something to say')
  return await Promise.all(items.map(toPart))
}

async function toPart(item: InputItem): Promise<Part> {
  if (typeof item === 'string') return { text: item }
  if (isPart(item)) return item
  return await readInput(item)
}

/** A file may have a `text()`, which is none. */
function isPart(item: Exclude<InputItem, string>): item is Part {
  return typeof item === 'object' && item !== null && !(item instanceof Blob) && members.some((name) => name in item)
}

/** Only the members that have a value. */
function definedOnly<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
