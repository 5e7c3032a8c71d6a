/** The assertions of the suites, which must not depend on a test runner. */
export function expect(value: unknown, hint?: string): Assertions & { readonly not: Assertions } {
  return { ...assertionsOf(value, { isExpected: true, hint }), not: assertionsOf(value, { isExpected: false, hint }) }
}

/** Any number, inside of an expected value. */
export const anyNumber = Symbol('any number')

/** Rejects unless the work fails with a message that matches. */
export async function expectFailure(work: Promise<unknown>, pattern: RegExp): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const text = error instanceof Error ? error.message : error
  if (typeof text !== 'string' || !pattern.test(text)) throw failure('to fail with', text, String(pattern))
}

interface Assertions {
  toBe(expected: unknown): void
  toBeDefined(): void
  toBeUndefined(): void
  toBeGreaterThan(expected: number): void
  toBeGreaterThanOrEqual(expected: number): void
  toBeLessThan(expected: number): void
  toBeLessThanOrEqual(expected: number): void
  toHaveLength(expected: number): void
  /** Members that are undefined do not count. */
  toEqual(expected: unknown): void
  /** Neither do members that only the value has. */
  toMatchObject(expected: unknown): void
}

function assertionsOf(
  value: unknown,
  { isExpected, hint }: { isExpected: boolean; hint: string | undefined },
): Assertions {
  function check(holds: boolean, verb: string, expected?: unknown): void {
    if (holds !== isExpected) throw failure(`${isExpected ? '' : 'not '}to ${verb}`, value, expected, hint)
  }
  const number = typeof value === 'number' ? value : Number.NaN
  return {
    toBe: (expected) => check(Object.is(value, expected), 'be', expected),
    toBeDefined: () => check(value !== undefined, 'be defined'),
    toBeUndefined: () => check(value === undefined, 'be undefined'),
    toBeGreaterThan: (expected) => check(number > expected, 'be above', expected),
    toBeGreaterThanOrEqual: (expected) => check(number >= expected, 'be at least', expected),
    toBeLessThan: (expected) => check(number < expected, 'be below', expected),
    toBeLessThanOrEqual: (expected) => check(number <= expected, 'be at most', expected),
    toHaveLength: (expected) => check(Array.isArray(value) && value.length === expected, 'have the length', expected),
    toEqual: (expected) => check(equals(value, expected, false), 'equal', expected),
    toMatchObject: (expected) => check(equals(value, expected, true), 'match', expected),
  }
}

/** Test runners show `actual` and `expected` of an error as a difference. */
function failure(verb: string, actual: unknown, expected: unknown, hint?: string): Error {
  const texts = [actual, verb, ...(expected === undefined ? [] : [expected])].map((part) =>
    part === verb ? verb : textOf(part),
  )
  const error = new Error(`${hint === undefined ? '' : `${hint}: `}expected ${texts.join(' ')}`)
  return Object.assign(error, { name: 'AssertionError', actual, expected })
}

function textOf(value: unknown): string {
  if (value instanceof Set || value instanceof Map) return textOf([...value])
  return (JSON.stringify(value) ?? String(value)).slice(0, 2_000)
}

function equals(value: unknown, expected: unknown, isPartial: boolean): boolean {
  if (Object.is(value, expected)) return true
  if (expected === anyNumber) return typeof value === 'number'
  if (typeof value !== 'object' || typeof expected !== 'object' || value === null || expected === null) return false
  if (expected instanceof Set)
    return value instanceof Set && value.size === expected.size && [...value].every((item) => expected.has(item))
  if (expected instanceof Map) return value instanceof Map && equals(sorted(value), sorted(expected), isPartial)
  if (Array.isArray(value) !== Array.isArray(expected)) return false
  if (Array.isArray(value) && value.length !== (expected as unknown[]).length) return false
  const members = (object: object) => Object.entries(object).filter(([, member]) => member !== undefined)
  const wanted = members(expected)
  if (!isPartial && members(value).length !== wanted.length) return false
  return wanted.every(([name, member]) => equals((value as Record<string, unknown>)[name], member, isPartial))
}

const sorted = (map: Map<unknown, unknown>) =>
  [...map].toSorted(([one], [other]) => String(one).localeCompare(String(other)))
