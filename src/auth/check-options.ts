import type { AuthOptions } from './options.ts'

/** Mistakes in what an operator declares are told when the server starts, not when a caller comes. */
export function checkOptions({ schemes = {}, require: required, anonymous = false }: AuthOptions): void {
  const names = Object.keys(schemes)
  if (names.length === 0 && !anonymous) {
    throw new TypeError(`auth: expected some schemes, or 'none' to let everybody in`)
  }
  if (required?.length === 0) throw new TypeError('auth.require: expected at least one requirement, or none at all')
  for (const requirement of required ?? []) {
    const named = Object.keys(requirement)
    const unknown = named.filter((name) => !names.includes(name))
    if (unknown.length > 0) {
      throw new TypeError(`auth.require: there is no scheme ${unknown.join(', ')}, but ${names.join(', ') || 'none'}`)
    }
    if (named.length === 0) throw new TypeError('auth.require: {} lets everybody in: say `anonymous: true` instead')
  }
  const authorities = new Set(Object.values(schemes).flatMap(({ authority }) => authority ?? []))
  if (authorities.size > 1) {
    const several = [...authorities].join(' and ')
    throw new TypeError(
      `auth.schemes: ${several} may give one id to two people: tell them apart by the idPrefix of a scheme`,
    )
  }
}
