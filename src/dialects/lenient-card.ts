import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { ReadCarry, ToCarry } from './codec.ts'

const flowNames = ['authorizationCode', 'clientCredentials', 'implicit', 'password', 'deviceCode']

/** They multiply with every scheme that had several flows: beyond this many, a card is not worth the trouble. */
const maxAlternatives = 64

export interface CleanCard {
  readonly card: unknown
  /** Schemes of a kind, or with flows, that nobody here knows, as they came. */
  readonly unusable: JsonObject
}

/**
 * Cards in the wild say who may call in many ways. Here they are brought into the one of the proto: requirements
 * without their wrappers, schemes told apart by `type`, several flows in one scheme, where the proto has room for one.
 * A scheme of a kind that we do not know is put aside, so that the rest of the card can be read.
 */
export function cleanSecurity(card: unknown, member: 'security' | 'securityRequirements'): CleanCard {
  if (!isObject(card)) return { card, unusable: {} }
  // The proto of 0.3 has no flow for devices.
  const known = member === 'security' ? flowNames.filter((flow) => flow !== 'deviceCode') : flowNames
  const { schemes, unusable, twins } = cleanSchemes(card.securitySchemes, known)
  const requirementsOf = (holder: JsonObject): object => {
    const requirements = holder[member] ?? holder.security
    if (!Array.isArray(requirements)) return {}
    return { [member]: requirements.flatMap((each) => withTwins(cleanRequirement(each), twins)) }
  }
  const cleanSkill = (skill: unknown) => (isObject(skill) ? { ...skill, ...requirementsOf(skill) } : skill)
  const cleaned = {
    ...card,
    ...requirementsOf(card),
    ...(schemes && { securitySchemes: schemes }),
    ...(Array.isArray(card.skills) && { skills: card.skills.map(cleanSkill) }),
  }
  return { card: cleaned, unusable }
}

/** Reads cards after they are cleaned. Schemes of an unknown kind stay with the card, to be encoded again. */
export function lenientCardDecoder(
  decodeCard: (wire: unknown) => AgentCard,
  clean: (card: unknown) => CleanCard,
  { toCarry, readCarry }: Keeping,
): (wire: unknown) => AgentCard {
  return (wire) => {
    const { card, unusable } = clean(wire)
    const decoded = decodeCard(card)
    if (Object.keys(unusable).length === 0) return decoded
    return { ...decoded, ...toCarry({ ...readCarry(decoded.carry), unusable }) }
  }
}

function cleanSchemes(given: unknown, known: readonly string[]): CleanSchemes {
  const twins = new Map<string, readonly string[]>()
  if (!isObject(given)) return { unusable: {}, twins }
  const schemes: [string, JsonObject][] = []
  const unusable: [string, JsonObject][] = []
  for (const [name, value] of Object.entries(given)) {
    if (!isObject(value)) continue
    const scheme = cleanScheme(value)
    if (scheme === undefined || hasNoFlow(scheme, known)) {
      unusable.push([name, value])
      continue
    }
    const [first, ...split] = splitFlows(name, scheme, known)
    const others = split.filter(([twin]) => !Object.hasOwn(given, twin))
    schemes.push(first, ...others)
    if (others.length > 0)
      twins.set(
        name,
        others.map(([twin]) => twin),
      )
  }
  return { schemes: Object.fromEntries(schemes), unusable: Object.fromEntries(unusable), twins }
}

interface CleanSchemes {
  readonly schemes?: JsonObject
  readonly unusable: JsonObject
  /** For the name of a scheme that had several flows: the names of the schemes that have the others now. */
  readonly twins: ReadonlyMap<string, readonly string[]>
}

function cleanScheme(scheme: JsonObject): JsonObject | undefined {
  for (const member of memberOfType.values()) if (isObject(scheme[member])) return { [member]: scheme[member] }
  const { type, in: location, ...fields } = scheme
  const member = memberOfType.get(type)
  if (member === undefined) return undefined
  return { [member]: location === undefined ? fields : { ...fields, location } }
}

const memberOfType: ReadonlyMap<unknown, string> = new Map([
  ['apiKey', 'apiKeySecurityScheme'],
  ['http', 'httpAuthSecurityScheme'],
  ['oauth2', 'oauth2SecurityScheme'],
  ['openIdConnect', 'openIdConnectSecurityScheme'],
  ['mutualTLS', 'mtlsSecurityScheme'],
])

function hasNoFlow({ oauth2SecurityScheme: oauth2 }: JsonObject, known: readonly string[]): boolean {
  if (!isObject(oauth2) || !isObject(oauth2.flows)) return false
  const { flows } = oauth2
  return !known.some((flow) => isObject(flows[flow]))
}

/** The first flow keeps the name of the scheme; each other one gets its own name behind it. */
function splitFlows(
  name: string,
  scheme: JsonObject,
  known: readonly string[],
): [[string, JsonObject], ...[string, JsonObject][]] {
  const { oauth2SecurityScheme: oauth2 } = scheme
  if (!isObject(oauth2) || !isObject(oauth2.flows)) return [[name, scheme]]
  const { flows } = oauth2
  const [first, ...others] = known.filter((flow) => isObject(flows[flow]))
  if (first === undefined || others.length === 0) return [[name, scheme]]
  const only = (flow: string) => ({ oauth2SecurityScheme: { ...oauth2, flows: { [flow]: flows[flow] ?? {} } } })
  return [[name, only(first)], ...others.map((flow): [string, JsonObject] => [`${name}.${flow}`, only(flow)])]
}

/** Whoever can meet a requirement by one flow of a scheme can meet it by another one. */
function withTwins(requirement: unknown, twins: CleanSchemes['twins']): readonly unknown[] {
  if (!isObject(requirement) || !isObject(requirement.schemes)) return [requirement]
  let alternatives = [requirement.schemes]
  for (const [name, others] of twins) {
    if (!Object.hasOwn(requirement.schemes, name)) continue
    if (alternatives.length * (others.length + 1) > maxAlternatives) break
    alternatives = [name, ...others].flatMap((twin) => alternatives.map((schemes) => renamed(schemes, name, twin)))
  }
  return alternatives.map((schemes) => ({ schemes }))
}

function renamed(object: JsonObject, from: string, to: string): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key === from ? to : key, value]))
}

function cleanRequirement(requirement: unknown): unknown {
  if (!isObject(requirement)) return requirement
  const schemes = isObject(requirement.schemes) ? requirement.schemes : requirement
  const listed = Object.entries(schemes).map(([name, list]) => [name, Array.isArray(list) ? { list } : list])
  return { schemes: Object.fromEntries(listed) }
}

interface Keeping {
  readonly toCarry: ToCarry
  readonly readCarry: ReadCarry
}
