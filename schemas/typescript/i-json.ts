const maxDepth = 64

/** What no other program could read in this value: broken Unicode, numbers beyond a double (RFC 7493), deep nesting. */
export function faultOf(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'a string is not valid Unicode'
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a number is not finite'
  if (typeof value !== 'object' || value === null) return undefined
  if (depth >= maxDepth) return `nested deeper than ${maxDepth} levels`
  const isList = Array.isArray(value)
  for (const [key, each] of Object.entries(value)) {
    if (!isList && !key.isWellFormed()) return 'the name of a member is not valid Unicode'
    const fault = faultOf(each, depth + 1)
    if (fault !== undefined) return fault
  }
  return undefined
}
