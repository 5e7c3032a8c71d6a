import type { Clock } from '../base/clock.ts'
import { defined, isObject, type Json } from '../base/json.ts'
import type { MessageEvent } from '../protocol/events.ts'
import { toolResult } from '../protocol/extensions/client-tools.ts'
import type { InBand } from '../protocol/extensions/in-task-credentials.ts'
import { type Part, redactionMark } from '../protocol/model.ts'
import type { SendRequest } from '../protocol/service.ts'

/** How many messages' secrets the store holds, and for how many milliseconds. */
const maxStored = 10_000
const lifetime = 60 * 60 * 1000

/** How many secrets a turn redacts. Beyond that, the oldest are forgotten. */
const maxTurnSecrets = 256

/** Shorter secrets are not redacted: they would match ordinary words. */
const minLength = 6

/** The same for answers to sensitive questions, such as a PIN. */
const minSensitiveLength = 4

/** The secrets of a message, which must not be stored. */
export interface MessageSecrets {
  /** The token that authenticated the request. */
  readonly token?: string | undefined
  readonly inBand: readonly InBand[]
  /** The parts of an answer to a sensitive question. */
  readonly parts?: readonly Part[] | undefined
}

/** Holds secrets of callers in the memory of this process. The log refers to them by tickets. */
export interface SecretStore {
  /** Returns the ticket. */
  add(secrets: MessageSecrets): string
  /** Returns undefined if another process holds the secrets, or if they have expired. */
  get(ticket: string | undefined): MessageSecrets | undefined
  delete(ticket: string): void
}

export function createSecretStore(clock: Clock): SecretStore {
  const entries = new Map<string, { readonly secrets: MessageSecrets; readonly until: number }>()

  /** Entries are in the order of their expiry. */
  function evict(): void {
    for (const [ticket, { until }] of entries) {
      if (entries.size < maxStored && until > clock.now()) return
      entries.delete(ticket)
    }
  }

  return {
    add(secrets) {
      evict()
      const ticket = crypto.randomUUID()
      entries.set(ticket, { secrets, until: clock.now() + lifetime })
      return ticket
    },
    get(ticket) {
      const entry = ticket === undefined ? undefined : entries.get(ticket)
      return entry && entry.until > clock.now() ? entry.secrets : undefined
    },
    delete: (ticket) => void entries.delete(ticket),
  }
}

/** The secrets that a turn has seen. They are redacted in everything that it emits, stores and logs. */
export interface TurnSecrets {
  /** Secrets shorter than `length` are ignored. */
  add(secret: string, length?: number): void
  /** Replaces every secret in a value. Returns the same value if it has none. */
  redact<T>(value: T): T
  /** Throws if the result of a step contains a secret, because it would be stored. */
  rejectIn(value: unknown, step: string): void
}

export function createTurnSecrets(): TurnSecrets {
  const secrets = new Set<string>()

  function redactText(text: string): string {
    let redacted = text
    for (const secret of secrets) if (redacted.includes(secret)) redacted = redacted.replaceAll(secret, redactionMark)
    return redacted
  }

  function redact<T>(value: T): T {
    // Redaction keeps the type, except for numbers and errors, which are only logged or sent as JSON.
    if (typeof value === 'string') return redactText(value) as T
    if (typeof value === 'number') return (secrets.has(`${value}`) ? redactionMark : value) as T
    if (Array.isArray(value)) return value.map(redact) as T
    if (value instanceof Error) return redactError(value) as T
    if (typeof value !== 'object' || value === null || !isPlain(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [redactText(key), redact(member)])) as T
  }

  function redactError(error: Error): unknown {
    const { name, message, stack = '' } = error
    const redacted = { name, message: redactText(message), stack: redactText(stack) }
    return redacted.message === message && redacted.stack === stack ? error : redacted
  }

  return {
    add(secret, length = minLength) {
      if (secret.length < length || secrets.has(secret)) return
      secrets.add(secret)
      const [oldest] = secrets
      if (secrets.size > maxTurnSecrets && oldest !== undefined) secrets.delete(oldest)
    },
    redact: (value) => (secrets.size === 0 ? value : redact(value)),
    rejectIn(value, step) {
      if (secrets.size === 0) return
      const text = JSON.stringify(value) ?? ''
      if (![...secrets].some((secret) => text.includes(JSON.stringify(secret).slice(1, -1)))) return
      const problem = `What the step "${step}" returns has a secret in it, and would be stored.`
      throw new TypeError(`${problem} Use the secret within the step.`)
    },
  }
}

/** The answer to a sensitive question as it may be stored. It keeps the id of the request that it answers. */
export function redactAnswer(request: SendRequest): SendRequest {
  const { message } = request
  return { ...request, message: { ...message, parts: message.parts.map(redactPart) } }
}

/** The answer with its original parts, for the turn that asked. Stays redacted if another process holds them. */
export function restoreAnswer(event: MessageEvent, store: SecretStore, secrets: TurnSecrets): MessageEvent {
  const parts = store.get(event.ticket)?.parts
  if (!event.sensitive || !parts) return event
  for (const part of parts) addSecretsIn('text' in part ? part.text : 'data' in part ? part.data : undefined, secrets)
  const { sensitive: _, ...rest } = event
  return { ...rest, message: { ...event.message, parts } }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function redactPart(part: Part): Part {
  const type = part.mediaType === undefined ? {} : { mediaType: part.mediaType }
  if (!('data' in part)) return { text: redactionMark, ...type }
  const id = part.mediaType === toolResult && isObject(part.data) ? part.data.toolUseId : undefined
  return { data: defined({ toolUseId: typeof id === 'string' ? id : undefined, redacted: true }), ...type }
}

/** Every string and number in an answer is a secret, except for the id of the request. */
function addSecretsIn(value: Json | undefined, secrets: TurnSecrets): void {
  if (typeof value === 'string' || typeof value === 'number') secrets.add(`${value}`, minSensitiveLength)
  else if (Array.isArray(value)) for (const item of value) addSecretsIn(item, secrets)
  else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) if (key !== 'toolUseId') addSecretsIn(member, secrets)
  }
}
