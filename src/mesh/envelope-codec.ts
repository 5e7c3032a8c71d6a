import { isObject } from '../core/base/json.ts'
import { JsonError, parseJson } from '../core/http/json.ts'
import { createEnvelopeSchemas, type EnvelopeRules, type MeshEnvelope } from './envelope.ts'
import { MeshError } from './errors.ts'
import type { MeshSigningKey } from './keys.ts'
import { AgentId, LenientId, MessageId } from './payloads.ts'
import { signedText } from './signature.ts'

/** JSON readers disagree on whether to skip it. */
const byteOrderMark = new MeshError('INVALID_MESSAGE', 'The message begins with a byte order mark: leave it out.')

export interface ReadOptions extends EnvelopeRules {
  readonly maxBytes?: number
}

/** The sender of an invalid message, if the message is readable enough to address an error to it. */
export interface MessageOrigin {
  readonly messageId: string
  readonly senderId: string
  readonly type: unknown
}

export type ReadResult =
  | { readonly envelope: MeshEnvelope; readonly error?: undefined }
  | { readonly envelope?: undefined; readonly error: MeshError; readonly origin?: MessageOrigin }

export type ReadEnvelope = (bytes: Uint8Array) => ReadResult

/** The first four steps: size, JSON, common members and members of the message type. Create it once. */
export function createEnvelopeReader({ maxBytes = defaultMaxBytes, ...rules }: ReadOptions = {}): ReadEnvelope {
  const check = createEnvelopeCheck(rules)
  const id = rules.lenientIds ? LenientId : MessageId

  function originOf({
    message_id,
    sender_id,
    message_type,
  }: Readonly<Record<string, unknown>>): MessageOrigin | undefined {
    if (id.check(message_id) || AgentId.check(sender_id)) return undefined
    return { messageId: message_id as string, senderId: sender_id as string, type: message_type }
  }

  return (bytes) => {
    if (bytes.length > maxBytes) return { error: payloadTooLarge(maxBytes) }
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { error: byteOrderMark }
    let value: unknown
    try {
      value = parseJson(bytes)
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      return { error: new MeshError('INVALID_MESSAGE', `The message cannot be read: ${error.message}.`) }
    }
    if (!isObject(value)) return { error: new MeshError('INVALID_MESSAGE', 'The message is not a JSON object.') }
    const error = check(value)
    return error ? { error, origin: originOf(value) } : { envelope: value as unknown as MeshEnvelope }
  }
}

export interface WriteOptions {
  readonly agentId: string
  /** Without a key, envelopes are not signed. */
  readonly key?: MeshSigningKey
  readonly now: () => number
}

/** An envelope without the members that the writer adds. */
export type EnvelopeDraft = DraftOf<MeshEnvelope>

export interface WrittenEnvelope {
  readonly messageId: string
  readonly text: string
}

export type WriteEnvelope = (draft: EnvelopeDraft) => Promise<WrittenEnvelope>

/** Adds an id, a timestamp and a signature to envelopes. */
export function createEnvelopeWriter({ agentId, key, now }: WriteOptions): WriteEnvelope {
  return async (draft) => {
    const messageId = crypto.randomUUID()
    const envelope = {
      message_id: messageId,
      message_type: draft.message_type,
      sender_id: draft.sender_id ?? agentId,
      recipient_id: draft.recipient_id,
      timestamp: new Date(now()).toISOString(),
      payload: draft.payload,
      correlation_id: draft.correlation_id ?? null,
    } as MeshEnvelope
    return { messageId, text: key ? await signedText(envelope, key) : JSON.stringify(envelope) }
  }
}

/** Maximum size of an envelope: 10 MiB. */
export const defaultMaxBytes = 10 * 2 ** 20

/** Checks an envelope against the schema of its type; returns the first violation. */
export function createEnvelopeCheck(
  rules: EnvelopeRules = {},
): (value: Readonly<Record<string, unknown>>) => MeshError | undefined {
  const schemas = createEnvelopeSchemas(rules)
  const types = [...schemas.keys()].join(', ')
  return (value) => {
    if (!Object.hasOwn(value, 'message_type') || !Object.hasOwn(value, 'message_id')) {
      return new MeshError('INVALID_MESSAGE', 'This is not an envelope: it has no message_type, or no message_id.')
    }
    const schema = schemas.get(value.message_type)
    if (!schema) return validationError('message_type', `expected one of ${types}`)
    const violation = schema.check(value)
    return violation && validationError(violation.path, violation.message)
  }
}

export function payloadTooLarge(maxBytes: number): MeshError {
  return new MeshError('PAYLOAD_TOO_LARGE', `The message is longer than ${maxBytes} bytes.`, {
    details: { max_bytes: maxBytes },
  })
}

function validationError(field: string, reason: string): MeshError {
  const message = `${field === '' ? 'The message' : field}: ${reason}`
  return new MeshError('VALIDATION_FAILED', message.length > 500 ? `${message.slice(0, 499)}…` : message, {
    details: { field },
  })
}

type DraftOf<E> = E extends MeshEnvelope
  ? Omit<E, 'message_id' | 'timestamp' | 'auth' | 'sender_id'> & { readonly sender_id?: string }
  : never
