import type { Clock } from '../base/clock.ts'
import { isObject, type Json } from '../base/json.ts'
import type { MessageEvent } from '../protocol/events.ts'
import { toolResult } from '../protocol/extensions/client-tools.ts'
import type { InBand } from '../protocol/extensions/in-task-credentials.ts'
import { type Part, redactionMark } from '../protocol/model.ts'
import type { SendRequest } from '../protocol/service.ts'

/** So many messages' secrets are held at once, and for so many milliseconds. */
const limit = 10_000

const life = 60 * 60 * 1000

/** What is shorter is a word like others, and no secret. */
const shortest = 6

/** A turn that uses more knows only the newest. */
const limitScrub = 256

/** Such as a PIN. What is shorter would be found in too much that is none. */
const shortestSensitive = 4

/** What came with a message and must not be stored. */
export interface MessageSecrets {
  /** The token with which the request proved who sends it. */
  readonly token?: string | undefined
  readonly inBand: readonly InBand[]
  /** What the message said, if that must not be stored. */
  readonly parts?: readonly Part[] | undefined
}

/** Secrets of callers, in the memory of this process and nowhere else. The log knows them by tickets. */
export interface SecretStore {
  add(kept: MessageSecrets): string
  /** Undefined if they were given to another process, or too long ago. */
  get(ticket: string | undefined): MessageSecrets | undefined
  delete(ticket: string | undefined): void
}

export function createSecretStore(clock: Clock): SecretStore {
  const held = new Map<string, { readonly kept: MessageSecrets; readonly until: number }>()

  /** The oldest come first. */
  function makeRoom(): void {
    for (const [ticket, { until }] of held) {
      if (held.size < limit && until > clock.now()) return
      held.delete(ticket)
    }
  }

  return {
    add(kept) {
      makeRoom()
      const ticket = crypto.randomUUID()
      held.set(ticket, { kept, until: clock.now() + life })
      return ticket
    },
    get(ticket) {
      const found = ticket === undefined ? undefined : held.get(ticket)
      return found && found.until > clock.now() ? found.kept : undefined
    },
    delete(ticket) {
      if (ticket !== undefined) held.delete(ticket)
    },
  }
}

/** Secrets that a turn knows. What it says and stores is cleaned of them. */
export interface TurnSecrets {
  /** One that was asked for as such may be as short as a PIN. */
  add(secret: string, least?: number): void
  /** The same with a mark in the place of every secret; the very same if it has none. */
  redact<T>(value: T): T
  /** Whether one is in there. */
  isIn(value: unknown): boolean
}

export function createTurnSecrets(): TurnSecrets {
  const known = new Set<string>()

  function clean(text: string): string {
    let cleaned = text
    for (const secret of known) if (cleaned.includes(secret)) cleaned = cleaned.replaceAll(secret, redactionMark)
    return cleaned
  }

  function scrub<T>(value: T): T {
    // Each case gives back what it was given, but for texts, and for what is only logged.
    if (typeof value === 'string') return clean(value) as T
    if (typeof value === 'number') return (known.has(`${value}`) ? redactionMark : value) as T
    if (Array.isArray(value)) return value.map(scrub) as T
    if (value instanceof Error) return cleanError(value) as T
    if (typeof value !== 'object' || value === null || !isPlain(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [clean(key), scrub(member)])) as T
  }

  function cleanError(error: Error): unknown {
    const { name, message, stack = '' } = error
    const told = { name, message: clean(message), stack: clean(stack) }
    return told.message === message && told.stack === stack ? error : told
  }

  return {
    add(secret, least = shortest) {
      if (secret.length < least || known.has(secret)) return
      known.add(secret)
      const [oldest] = known
      if (known.size > limitScrub && oldest !== undefined) known.delete(oldest)
    },
    redact: (value) => (known.size === 0 ? value : scrub(value)),
    isIn(value) {
      if (known.size === 0) return false
      const text = JSON.stringify(value) ?? ''
      return [...known].some((secret) => text.includes(JSON.stringify(secret).slice(1, -1)))
    },
  }
}

/** The answer to a question for something secret, as it may be stored. It still tells which request it answers. */
export function redactAnswer(request: SendRequest): SendRequest {
  const { message } = request
  return { ...request, message: { ...message, parts: message.parts.map(redacted) } }
}

/** What the message really said, for the turn that asked. As it is stored if that is with a process that is gone. */
export function restoreAnswer(event: MessageEvent, vault: SecretStore, secrets: TurnSecrets): MessageEvent {
  const parts = vault.get(event.ticket)?.parts
  if (!event.sensitive || !parts) return event
  for (const part of parts) learn('text' in part ? part.text : 'data' in part ? part.data : undefined, secrets)
  const { sensitive: _, ...told } = event
  return { ...told, message: { ...event.message, parts } }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function redacted(part: Part): Part {
  const about = part.mediaType === undefined ? {} : { mediaType: part.mediaType }
  if (!('data' in part)) return { text: redactionMark, ...about }
  const id = part.mediaType === toolResult && isObject(part.data) ? part.data.toolUseId : undefined
  return { data: { ...(typeof id === 'string' && { toolUseId: id }), redacted: true }, ...about }
}

/** Every text and number in it is a secret, but for the name of what it answers. */
function learn(value: Json | undefined, secrets: TurnSecrets): void {
  if (typeof value === 'string' || typeof value === 'number') secrets.add(`${value}`, shortestSensitive)
  else if (Array.isArray(value)) for (const each of value) learn(each, secrets)
  else if (isObject(value))
    for (const [key, each] of Object.entries(value)) if (key !== 'toolUseId') learn(each, secrets)
}
