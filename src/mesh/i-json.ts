/**
 * What no other program could read in this value, or would read otherwise (RFC 7493): halves of characters, and numbers
 * beyond a double. Neither has a canonical form, so neither can be signed. The depth must be limited before.
 */
export function unreadableIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'has a string that is not valid Unicode'
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'has a number that is too great'
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (const item of value) {
      const fault = unreadableIn(item)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  for (const key in value) {
    const fault = unreadableIn(key) ?? unreadableIn((value as Readonly<Record<string, unknown>>)[key])
    if (fault !== undefined) return fault
  }
  return undefined
}
