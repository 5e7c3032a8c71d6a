/** By semantic versioning: above 0 if the first is newer. What is no version is older than any. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [parse(one), parse(other)]
  if (!left || !right) return Number(Boolean(left)) - Number(Boolean(right))
  for (const at of [0, 1, 2] as const) {
    const difference = left.numbers[at] - right.numbers[at]
    if (difference !== 0) return difference
  }
  if (left.before === right.before) return 0
  // What comes before a release is older than it.
  if (left.before === '' || right.before === '') return left.before === '' ? 1 : -1
  return comparePrereleases(left.before.split('.'), right.before.split('.'))
}

function comparePrereleases(one: readonly string[], other: readonly string[]): number {
  for (const [at, left] of one.entries()) {
    const right = other[at]
    if (right === undefined) return 1
    if (left === right) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
    if (isNumber && isOtherNumber) return Number(left) - Number(right)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return left < right ? -1 : 1
  }
  return one.length - other.length
}

function parse(version: string) {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+.*)?$/.exec(version)
  if (!match) return undefined
  const [, major, minor, patch, before = ''] = match
  return { numbers: [Number(major), Number(minor), Number(patch)] as const, before }
}
