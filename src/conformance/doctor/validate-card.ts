import { isObject, type JsonObject } from '../../core/base/json.ts'
import { clientDialects } from '../../core/dialects/client-dialects.ts'
import { detectLegacyVersions } from '../../core/dialects/legacy-versions.ts'
import { A2AError } from '../../core/protocol/errors.ts'

/** Violations that are listed at most. */
const maxViolations = 100

/** A card that was checked against the schema of its version. */
export interface ValidatedCard {
  /** Every violation, such as `name: expected a string, got a number`. */
  readonly violations: readonly string[]
  /** The card with the broken members replaced, so that the rest of it can be read. */
  readonly readable: JsonObject
}

/** Lists every violation of the schema. The reader stops at the first one, so each is repaired and the card read again. */
export async function validateCard(wire: JsonObject): Promise<ValidatedCard> {
  const version = versionOf(wire)
  const info = clientDialects.find((dialect) => dialect.version === version && dialect.bindings.includes('JSONRPC'))
  if (!info) return { violations: [`protocolVersion: ${version} is no version of A2A`], readable: wire }
  const { decodeCard } = await info.load()
  const violations: string[] = []
  let card = wire
  while (violations.length < maxViolations) {
    const violation = violationOf(decodeCard, card)
    if (violation === undefined) break
    violations.push(violation)
    const repaired = repair(card, violation, decodeCard)
    if (repaired === undefined) break
    card = repaired
  }
  const others = missingMembers(wire, version).filter((each) => !violations.some((known) => samePlace(known, each)))
  return { violations: [...violations, ...others], readable: card }
}

function versionOf(wire: JsonObject): string {
  const { supportedInterfaces, protocolVersion } = wire
  if (Array.isArray(supportedInterfaces)) return '1.0'
  return typeof protocolVersion === 'string' ? protocolVersion.slice(0, 3) : `${detectLegacyVersions(wire).versions[0]}`
}

/** Members that clients read without, but that the specification requires. */
function missingMembers(wire: JsonObject, version: string): readonly string[] {
  const { card, skill } = requiredMembers[version] ?? { card: [], skill: [] }
  const skills = Array.isArray(wire.skills) ? wire.skills : []
  const missing = (holder: unknown, names: readonly string[], path: string) =>
    names.flatMap((name) => (isObject(holder) && !(name in holder) ? [`${path}${name}: is missing`] : []))
  return [...missing(wire, card, ''), ...skills.flatMap((each, index) => missing(each, skill, `skills[${index}].`))]
}

const currentMembers = ['description', 'version', 'capabilities', 'defaultInputModes', 'defaultOutputModes', 'skills']
const skillMembers = ['id', 'name', 'description', 'tags']

const requiredMembers: Readonly<Record<string, { card: readonly string[]; skill: readonly string[] }>> = {
  '1.0': { card: currentMembers, skill: skillMembers },
  '0.3': { card: ['protocolVersion', ...currentMembers], skill: skillMembers },
  '0.2': { card: currentMembers, skill: skillMembers },
  '0.1': { card: ['version', 'capabilities', 'skills'], skill: ['id', 'name'] },
}

type Decode = (wire: unknown) => unknown

function violationOf(decode: Decode, card: JsonObject): string | undefined {
  try {
    decode(card)
    return undefined
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    return error.message.replace(/\.$/, '')
  }
}

/** The card with a value that the schema accepts at the place of the violation. Undefined if none is found. */
function repair(card: JsonObject, violation: string, decode: Decode): JsonObject | undefined {
  const path = pathOf(violation)
  if (!path) return undefined
  const isWithin = (other: string) => path.every((step, index) => pathOf(other)?.[index] === step)
  for (const value of replacements(valueAt(card, path), `${path.at(-1)}`)) {
    const candidate = replaceAt(card, path, value)
    const next = isObject(candidate) ? violationOf(decode, candidate) : undefined
    if (isObject(candidate) && (next === undefined || !isWithin(next))) return candidate
  }
  return undefined
}

/** `skills[0].tags: expected …` is at `skills`, 0, `tags`. */
function pathOf(violation: string): readonly (string | number)[] | undefined {
  const [, path] = /^([\w.[\]-]+): /.exec(violation) ?? []
  return path?.match(/[^.[\]]+/g)?.map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

function samePlace(one: string, other: string): boolean {
  return one.slice(0, one.indexOf(':')) === other.slice(0, other.indexOf(':'))
}

const absent = Symbol('absent')

/** Values to try, those that keep most of the card first. */
function replacements(value: unknown, name: string): readonly unknown[] {
  const texts: Readonly<Record<string, string>> = { protocolVersion: '1.0', protocolBinding: 'JSONRPC' }
  const isPrimitive = typeof value === 'string' || typeof value === 'number'
  const meant = isPrimitive ? [`${value}`, [`${value}`], value === 'true' || value === 'yes'] : []
  return [...meant, texts[name] ?? '-', [], {}, false, absent]
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Readonly<Record<string, unknown>> | undefined)?.[step], value)
}

function replaceAt(holder: unknown, [step, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (step === undefined) return value
  if (Array.isArray(holder)) {
    const items = holder.map((item, index) => (index === step ? replaceAt(item, rest, value) : item))
    return items.filter((item) => item !== absent)
  }
  const members = isObject(holder) ? holder : {}
  const { [step]: former, ...others } = members
  const inner = replaceAt(former, rest, value)
  return inner === absent ? others : { ...members, [step]: inner }
}
