import { isObject } from '../base/json.ts'
import { JsonError, parseJson } from '../http/json.ts'
import { createEnvelopeSchemas, type EnvelopeRules, type MeshEnvelope } from './envelope.ts'
import { MeshError } from './errors.ts'
import type { MeshSigningKey } from './keys.ts'
import { AgentId, LenientId, MessageId } from './payloads.ts'
import { signEnvelope } from './signature.ts'

/** Some readers of JSON skip it, and some do not. */
const marked = new MeshError('INVALID_MESSAGE', 'The message begins with a byte order mark: leave it out.')

export interface ReadOptions extends EnvelopeRules {
  readonly maxBytes?: number
}

/** Who is to be told what is wrong with a message, if that much of it can be read. */
export interface Origin {
  readonly messageId: string
  readonly senderId: string
  readonly type: unknown
}

export type Reading =
  | { readonly envelope: MeshEnvelope; readonly error?: undefined }
  | { readonly envelope?: undefined; readonly error: MeshError; readonly origin?: Origin }

export type ReadEnvelope = (bytes: Uint8Array) => Reading

/** The first four steps: size, JSON, base and type. Forms are made once. */
export function createReader({ maxBytes = defaultMaxBytes, ...rules }: ReadOptions = {}): ReadEnvelope {
  const check = createCheck(rules)
  const id = rules.lenientIds ? LenientId : MessageId

  function originOf({ message_id, sender_id, message_type }: Readonly<Record<string, unknown>>): Origin | undefined {
    if (id.check(message_id) || AgentId.check(sender_id)) return undefined
    return { messageId: message_id as string, senderId: sender_id as string, type: message_type }
  }

  return (bytes) => {
    if (bytes.length > maxBytes) return { error: tooLarge(maxBytes) }
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { error: marked }
    let value: unknown
    try {
      value = parseJson(bytes)
    } catch (error) {
      if (!(error instanceof JsonError)) throw error
      return { error: new MeshError('INVALID_MESSAGE', `The message is ${error.message}.`) }
    }
    if (!isObject(value)) return { error: new MeshError('INVALID_MESSAGE', 'The message is not a JSON object.') }
    const error = check(value)
    return error ? { error, origin: originOf(value) } : { envelope: value as unknown as MeshEnvelope }
  }
}

export interface WriteOptions {
  readonly agentId: string
  /** Without one, envelopes are not signed. */
  readonly key?: MeshSigningKey
  readonly now: () => number
}

/** What its writer has to say; the rest of an envelope goes without saying. */
export type Draft = DraftOf<MeshEnvelope>

export interface Written {
  readonly messageId: string
  readonly text: string
}

export type WriteEnvelope = (draft: Draft) => Promise<Written>

/** Gives envelopes an id, a time and a signature. */
export function createWriter({ agentId, key, now }: WriteOptions): WriteEnvelope {
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
    return { messageId, text: JSON.stringify(key ? await signEnvelope(envelope, key) : envelope) }
  }
}

/** 10 MiB, of the whole envelope. */
export const defaultMaxBytes = 10 * 2 ** 20

/** What schema and model demand of an envelope; the first thing that is wrong. */
export function createCheck(
  rules: EnvelopeRules = {},
): (value: Readonly<Record<string, unknown>>) => MeshError | undefined {
  const forms = createEnvelopeSchemas(rules)
  const types = [...forms.keys()].join(', ')
  return (value) => {
    if (!Object.hasOwn(value, 'message_type') || !Object.hasOwn(value, 'message_id')) {
      return new MeshError('INVALID_MESSAGE', 'This is not an envelope: it has no message_type, or no message_id.')
    }
    const form = forms.get(value.message_type)
    if (!form) return invalid('message_type', `expected one of ${types}`)
    const fault = form.check(value)
    return fault && invalid(fault.path, fault.message)
  }
}

export function tooLarge(maxBytes: number): MeshError {
  return new MeshError('PAYLOAD_TOO_LARGE', `The message is longer than ${maxBytes} bytes.`, {
    details: { max_bytes: maxBytes },
  })
}

function invalid(field: string, problem: string): MeshError {
  const message = `${field === '' ? 'The message' : field}: ${problem}`
  return new MeshError('VALIDATION_FAILED', message.length > 500 ? `${message.slice(0, 499)}…` : message, {
    details: { field },
  })
}

type DraftOf<E> = E extends MeshEnvelope
  ? Omit<E, 'message_id' | 'timestamp' | 'auth' | 'sender_id'> & { readonly sender_id?: string }
  : never
