import { redactionMark } from '../protocol/redacted.ts'

/** Secrets that a turn knows. What it says and stores is cleaned of them. */
export interface TurnSecrets {
  /** One that was asked for as such may be as short as a PIN. */
  add(secret: string, least?: number): void
  /** The same with a mark in the place of every secret; the very same if it has none. */
  scrub<T>(value: T): T
  /** Whether one is in there. */
  isIn(value: unknown): boolean
}

/** What is shorter is a word like others, and no secret. */
const shortest = 6
/** A turn that uses more knows only the newest. */
const limit = 256

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
      if (known.size > limit && oldest !== undefined) known.delete(oldest)
    },
    scrub: (value) => (known.size === 0 ? value : scrub(value)),
    isIn(value) {
      if (known.size === 0) return false
      const text = JSON.stringify(value) ?? ''
      return [...known].some((secret) => text.includes(JSON.stringify(secret).slice(1, -1)))
    },
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
