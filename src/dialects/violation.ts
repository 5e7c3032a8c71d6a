import { excerpt } from './excerpt.ts'

/** A value that is not of its shape. Its path grows on the way out, so that well-formed input pays nothing for it. */
export class Violation extends Error {
  override readonly name = 'Violation'
  #path = ''

  get path(): string {
    return this.#path
  }

  /** The value lies in this member, or at this index, of another one. */
  within(segment: string | number): void {
    const step = typeof segment === 'number' ? `[${segment}]` : segment
    this.#path = this.#path === '' || this.#path.startsWith('[') ? step + this.#path : `${step}.${this.#path}`
  }
}

/** The value is of another type. Only the type is told: the value may be large or secret. */
export function wrongType(expected: string, value: unknown): Violation {
  return new Violation(`expected ${expected}, got ${typeNameOf(value)}`)
}

/** As `wrongType`, but for a word, a number or a time, which is told if it is one. */
export function wrongValue(expected: string, value: unknown): Violation {
  if (typeof value === 'string') return new Violation(`expected ${expected}, got ${excerpt(value)}`)
  if (typeof value === 'number') return new Violation(`expected ${expected}, got ${value}`)
  return wrongType(expected, value)
}

/** The error again, and if it is a violation, with where it happened. */
export function placed(error: unknown, segment: string | number): unknown {
  if (error instanceof Violation) error.within(segment)
  return error
}

function typeNameOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
