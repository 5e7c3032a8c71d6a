import { defined, type Json, type JsonObject } from '../base/json.ts'
import { invalidParams } from '../protocol/errors.ts'
import { anonymous, type Message, type Part } from '../protocol/model.ts'
import type { PushConfig, SendRequest } from '../protocol/service.ts'
import { type InputFile, type PathFile, readInput } from './files.ts'
import type { CallOptions, CallWithTimeout } from './options.ts'

/** JSON as a part. */
export function data(value: Json): Part {
  return { data: value, mediaType: 'application/json' }
}

export type InputItem = string | Part | Blob | Uint8Array | InputFile | PathFile

/** The content of a message: text, parts, files and data, or several of them. */
export type Input = InputItem | readonly InputItem[]

/** A receiver of push notifications, such as `createReceiver()` of `parley-a2a/push`. */
export interface PushReceiver {
  register(): PushConfig | Promise<PushConfig>
}

/** Options of `client.send` and `client.stream`. */
export interface SendOptions extends CallOptions {
  /** Continues a conversation. */
  readonly contextId?: string
  /** Continues a task. */
  readonly taskId?: string
  /** Other tasks that the message refers to. */
  readonly referenceTaskIds?: readonly string[]
  /** Metadata of the request. */
  readonly metadata?: JsonObject
  /** Metadata of the message itself, which the task keeps in its history. */
  readonly messageMetadata?: JsonObject
  /** URIs of the extensions that the message uses. They are requested for this call, besides those of `connect`. */
  readonly extensions?: readonly string[]
  /** The id of the skill that the message is for. */
  readonly skill?: string
  /** Media types that the caller accepts. */
  readonly acceptedOutputModes?: readonly string[]
  /** Maximum number of messages of the history that the answer has. */
  readonly historyLength?: number
  /** Where the agent sends push notifications: a webhook, or a receiver, which issues a token of its own. */
  readonly push?: PushConfig | PushReceiver
  /** Return before the task has ended or needs input. */
  readonly returnImmediately?: boolean
  /**
   * Sends the message only for this generation of its task (`task.revision`). Otherwise, it throws a
   * `GenerationMismatch`. For agents of A2A 1.1.
   */
  readonly ifGeneration?: number
  /** The id of the message. Agents that deduplicate treat two messages with one id as one. */
  readonly messageId?: string
  /** Agents that deduplicate treat all sends under one key as one, including those of other processes. */
  readonly idempotencyKey?: string
}

export async function createSendRequest(input: Input, options: SendOptions): Promise<SendRequest> {
  const { contextId, taskId, referenceTaskIds, metadata, messageMetadata, extensions } = options
  const { acceptedOutputModes, historyLength, returnImmediately, skill, ifGeneration: ifRevision } = options
  const ofMessage = skill ? { ...messageMetadata, skillId: skill } : messageMetadata
  const push = options.push && (await pushConfigOf(options.push))
  const message: Message = {
    // Sends under one key must be equal, also those of other processes.
    messageId: options.messageId ?? options.idempotencyKey ?? newId(),
    role: 'user',
    parts: await toParts(input),
    ...defined({ contextId, taskId, referenceTaskIds, extensions, metadata: ofMessage }),
  }
  const configuration = defined({ acceptedOutputModes, historyLength, push, returnImmediately, ifRevision })
  return {
    message,
    ...defined({ configuration: Object.keys(configuration).length > 0 ? configuration : undefined }),
    ...defined({ metadata }),
  }
}

/** The call of a request. Its principal is anonymous: a client authenticates by the credentials of its wire requests. */
export function callOf(options: SendOptions = {}): CallWithTimeout {
  const { signal = neverAborted, timeout, headers, idempotencyKey, extensions } = options
  return { principal: anonymous, signal, timeout, headers, idempotencyKey, extensions }
}

const neverAborted = new AbortController().signal

/** A UUID, or as many random bits outside secure contexts, where `crypto.randomUUID` is missing. */
export function newId(): string {
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-')
}

/** A receiver registers anew for each message, so that the token of one message cannot forge deliveries of another. */
export function pushConfigOf(push: PushConfig | PushReceiver): PushConfig | Promise<PushConfig> {
  return 'register' in push ? push.register() : push
}

export async function toParts(input: Input): Promise<readonly Part[]> {
  const items: readonly InputItem[] = isItemList(input) ? input : [input]
  if (items.length === 0) throw invalidParams('input', 'expected at least one item, got an empty list')
  return await Promise.all(items.map(toPart))
}

function isItemList(input: Input): input is readonly InputItem[] {
  return Array.isArray(input)
}

async function toPart(item: InputItem): Promise<Part> {
  if (typeof item === 'string') return { text: item }
  return isPart(item) ? item : await readInput(item)
}

const contentMembers = ['text', 'url', 'raw', 'data']

/** Excludes a `Blob`, whose `text` is a method. */
function isPart(item: Exclude<InputItem, string>): item is Part {
  if (typeof item !== 'object' || item === null || item instanceof Blob) return false
  return contentMembers.some((name) => name in item)
}
