/**
 * The part of Vitest that the contract suites use, for suites that run inside a Worker: `bundleWorker` replaces Vitest by it.
 * Tests are collected, and `runCase` runs one of them.
 */
type Work = () => unknown

export interface ContractCase {
  readonly name: string
  readonly run: Work
}

const collected: ContractCase[] = []
let path: readonly string[] = []
let cleanups: Work[] = []

/** The tests that were declared so far. */
export const cases: readonly ContractCase[] = collected

export function describe(name: string, declare: () => void): void {
  const outer = path
  path = [...outer, name]
  declare()
  path = outer
}

export function test(name: string, ...rest: unknown[]): void {
  collected.push({
    name: [...path, name].join(' > '),
    run: rest.findLast((value) => typeof value === 'function') as Work,
  })
}
export const it = test

export function onTestFinished(work: Work): void {
  cleanups.push(work)
}

/** Runs one test. Returns why it failed. */
export async function runCase({ run }: ContractCase): Promise<string | undefined> {
  cleanups = []
  try {
    await run()
    return undefined
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  } finally {
    for (const cleanup of cleanups.toReversed()) await cleanup()
  }
}

const realNow = Date.now
let offset = 0
export const vi = {
  useFakeTimers() {
    Date.now = () => realNow() + offset
  },
  setSystemTime(time: number) {
    offset = time - realNow()
  },
  useRealTimers() {
    offset = 0
    Date.now = realNow
  },
}

/** A value that matches by a rule of its own. */
class Matching {
  readonly matches: (value: unknown) => boolean
  constructor(matches: (value: unknown) => boolean) {
    this.matches = matches
  }
}

export function expect(value: unknown): Record<string, never> & Assertions {
  return assertions(value, true) as never
}
expect.any = (type: NumberConstructor) => new Matching((value) => typeof value === type.name.toLowerCase())
expect.arrayContaining = (items: readonly unknown[]) =>
  new Matching(
    (value) => Array.isArray(value) && items.every((item) => value.some((other) => equals(other, item, false))),
  )

type Assertions = ReturnType<typeof comparisons> & {
  readonly not: ReturnType<typeof comparisons>
  readonly rejects: { toThrow(pattern: RegExp): Promise<void> }
}

function assertions(value: unknown, expected: boolean) {
  return {
    ...comparisons(value, expected),
    get not() {
      return comparisons(value, !expected)
    },
    rejects: {
      async toThrow(pattern: RegExp) {
        const error = await Promise.resolve(value).then(
          () => undefined,
          (reason: Error) => reason,
        )
        require(error !== undefined && pattern.test(error.message), true, 'to reject with', error, pattern)
      },
    },
  }
}

function comparisons(value: unknown, isExpected: boolean) {
  const check = (holds: boolean, what: string, other?: unknown) => require(holds, isExpected, what, value, other)
  return {
    toBe: (other: unknown) => check(Object.is(value, other), 'to be', other),
    toBeUndefined: () => check(value === undefined, 'to be undefined'),
    toBeGreaterThan: (other: number) => check((value as number) > other, 'to be above', other),
    toBeGreaterThanOrEqual: (other: number) => check((value as number) >= other, 'to be at least', other),
    toBeLessThan: (other: number) => check((value as number) < other, 'to be below', other),
    toBeLessThanOrEqual: (other: number) => check((value as number) <= other, 'to be at most', other),
    toHaveLength: (other: number) => check((value as unknown[]).length === other, 'to have the length', other),
    toContain: (other: unknown) => check((value as unknown[]).includes(other), 'to contain', other),
    toEqual: (other: unknown) => check(equals(value, other, false), 'to equal', other),
    toMatchObject: (other: unknown) => check(equals(value, other, true), 'to match', other),
  }
}

function require(holds: boolean, isExpected: boolean, what: string, value: unknown, other: unknown): void {
  if (holds === isExpected) return
  const text = (any: unknown) => (any instanceof RegExp ? String(any) : JSON.stringify(any)?.slice(0, 2_000))
  throw new Error(`expected ${text(value)} ${isExpected ? '' : 'not '}${what} ${text(other)}`)
}

/** Members that are undefined do not count. With `isPartial`, neither do members that `other` does not have. */
function equals(value: unknown, other: unknown, isPartial: boolean): boolean {
  if (other instanceof Matching) return other.matches(value)
  if (Object.is(value, other)) return true
  if (typeof value !== 'object' || typeof other !== 'object' || value === null || other === null) return false
  if (Array.isArray(value) !== Array.isArray(other)) return false
  if (Array.isArray(value) && value.length !== (other as unknown[]).length) return false
  const members = (object: object) => Object.entries(object).filter(([, member]) => member !== undefined)
  const left = value as Record<string, unknown>
  const wanted = members(other)
  if (!isPartial && members(value).length !== wanted.length) return false
  return wanted.every(([name, member]) => equals(left[name], member, isPartial))
}
