import { closest } from './closest.ts'
import { isObject } from './json.ts'

/** The members of each group, to suggest `turns.deadline` for `turnDeadline`. */
const groups = new WeakMap<OptionCheck, object>()

/** Checks one option; throws a `TypeError` that names it. `undefined` means "not set" and is never passed in. */
export type OptionCheck = (value: unknown, name: string) => void

/** One check for every member of an options type. A new member does not compile until it has its check. */
export type OptionChecks<T> = { readonly [K in keyof Required<T>]: OptionCheck }

/**
 * Checks what a user passed as options: every member is known and has the right form. Called where a server, client or
 * handler is created, so that a typing error is reported at start and not ignored. `required` members must be set.
 *
 * Such as: checkOptions('serve', options, { port: integer({ min: 0, max: 65_535 }), host: text })
 */
export function checkOptions<T extends object>(
  caller: string,
  options: T,
  checks: OptionChecks<T>,
  required: readonly (keyof T)[] = [],
): void {
  if (!isObject(options)) throw new TypeError(`${caller}: expected an object of options, got ${describe(options)}.`)
  checkMembers(options, checks, (name) => `${caller}: ${name}`)
  for (const name of required) checks[name](options[name], `${caller}: ${String(name)}`)
}

/** A group of options below one name, such as `turns: { deadline }`. */
export function group<T extends object>(checks: OptionChecks<T>): OptionCheck {
  const check: OptionCheck = (value, name) => {
    if (!isObject(value)) throw wrong(name, `an object with ${Object.keys(checks).join(', ')}`, value)
    checkMembers(value, checks, (member) => `${name}.${member}`)
  }
  groups.set(check, checks)
  return check
}

/** Accepts the values for which the test holds. `expected` names them in the error. */
export function valueThat(expected: string, isRight: (value: unknown) => boolean): OptionCheck {
  return (value, name) => {
    if (!isRight(value)) throw wrong(name, expected, value)
  }
}

export const text: OptionCheck = /* @__PURE__ */ valueThat(
  'a non-empty string',
  (value) => typeof value === 'string' && value !== '',
)

export const flag: OptionCheck = /* @__PURE__ */ valueThat('true or false', (value) => typeof value === 'boolean')

export const aFunction: OptionCheck = /* @__PURE__ */ valueThat('a function', (value) => typeof value === 'function')

/** An object whose members are checked where they are used. */
export const anObject: OptionCheck = /* @__PURE__ */ valueThat('an object', isObject)

/** Anything: a check that names the option follows where it is used. */
export const anything: OptionCheck = () => {}

/** A path on the server, such as `/agents/echo`. */
export const path: OptionCheck = /* @__PURE__ */ valueThat(
  'a path that starts with a slash, such as "/agents/echo"',
  (value) => typeof value === 'string' && value.startsWith('/') && !/[?#\s]/.test(value),
)

/** An absolute http or https URL. */
export const httpUrl: OptionCheck = /* @__PURE__ */ valueThat(
  'an absolute http or https URL, such as "https://agents.example.com"',
  (value) => typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
)

export function integer({ min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {}): OptionCheck {
  const expected =
    max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`
  return valueThat(expected, (value) => Number.isInteger(value) && isBetween(min, value, max))
}

/** A time span in milliseconds. `Infinity` is allowed where it means "no limit". */
export function milliseconds({ min = 0, infinite = true }: { min?: number; infinite?: boolean } = {}): OptionCheck {
  const expected = `a number of milliseconds${min > 0 ? ` of at least ${min}` : ''}, such as 30_000`
  return valueThat(expected, (value) => isBetween(min, value, infinite ? Infinity : Number.MAX_VALUE))
}

/** A finite number above `min`. */
export function isAbove(min: number): OptionCheck {
  return valueThat(`a number above ${min}`, (value) => value !== min && isBetween(min, value, Number.MAX_VALUE))
}

export function oneOf(...values: readonly (string | boolean)[]): OptionCheck {
  return (value, name) => {
    if (values.includes(value as string)) return
    const near = typeof value === 'string' ? closest(value, values.map(String)) : undefined
    const expected = `one of ${values.map((each) => JSON.stringify(each)).join(', ')}`
    throw wrong(name, expected, value, near && `Did you mean ${JSON.stringify(near)}?`)
  }
}

export function listOf(check: OptionCheck): OptionCheck {
  return (value, name) => {
    if (!Array.isArray(value)) throw wrong(name, 'a list', value)
    for (const [index, item] of value.entries()) check(item, `${name}[${index}]`)
  }
}

/** An object with members of any name, such as schemes by their names. */
export function recordOf(check: OptionCheck): OptionCheck {
  return (value, name) => {
    anObject(value, name)
    for (const [member, item] of Object.entries(value as object)) check(item, `${name}.${member}`)
  }
}

/**
 * Accepts what one of the checks accepts. `expected` names the alternatives in the error. An object is checked by the
 * group among them, if there is one, so that the error names the member.
 */
export function anyOf(expected: string, ...checks: readonly OptionCheck[]): OptionCheck {
  const inner = checks.find((check) => groups.has(check))
  const check: OptionCheck = (value, name) => {
    if (inner && isObject(value)) return inner(value, name)
    if (!checks.some((alternative) => accepts(alternative, value))) throw wrong(name, expected, value)
  }
  const members = inner && groups.get(inner)
  if (members) groups.set(check, members)
  return check
}

/**
 * An object made by another function, recognised by its methods: `having('a task log such as createSqliteLog()',
 * 'append')`.
 */
export function having(expected: string, ...members: readonly string[]): OptionCheck {
  return valueThat(
    expected,
    (value) => typeof value === 'object' && value !== null && members.every((member) => member in value),
  )
}

export const clockCheck: OptionCheck = /* @__PURE__ */ having('a clock such as createVirtualClock()', 'now')

export const loggerCheck: OptionCheck = /* @__PURE__ */ having(
  'a logger with debug, info, warn and error',
  ...['debug', 'info', 'warn', 'error'],
)

function isBetween(min: number, value: unknown, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max
}

function accepts(check: OptionCheck, value: unknown): boolean {
  try {
    check(value, '')
    return true
  } catch {
    return false
  }
}

function checkMembers(options: object, checks: object, nameOf: (member: string) => string): void {
  for (const [member, value] of Object.entries(options)) {
    if (value === undefined) continue
    const check = Object.hasOwn(checks, member) ? (checks as Record<string, OptionCheck>)[member] : undefined
    if (!check) throw unknownOption(member, checks, nameOf)
    check(value, nameOf(member))
  }
}

function unknownOption(member: string, checks: object, nameOf: (member: string) => string): TypeError {
  const near = nearestOption(member, checks)
  const advice = near ? `Did you mean ${near}?` : `The options are ${Object.keys(checks).join(', ')}.`
  return new TypeError(`${nameOf(member)} is not an option. ${advice}`)
}

/** The option that was probably meant: of this level, or of a group below it, also as `groupMember`. */
function nearestOption(member: string, checks: object): string | undefined {
  const paths = new Map(Object.keys(checks).map((name) => [name, name]))
  for (const [name, check] of Object.entries(checks)) {
    for (const inner of Object.keys(groups.get(check) ?? {})) {
      const path = `${name}.${inner}`
      if (inner === member) return path
      paths.set(
        path.replace(/\.(.)/, (_, first: string) => first.toUpperCase()),
        path,
      )
    }
  }
  return paths.get(closest(member, [...paths.keys()]) ?? '')
}

function wrong(name: string, expected: string, value: unknown, advice = ''): TypeError {
  return new TypeError(`${name}: expected ${expected}, got ${describe(value)}. ${advice}`.trimEnd())
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null)
    return `an object with ${Object.keys(value).slice(0, 5).join(', ') || 'no members'}`
  return String(value)
}
