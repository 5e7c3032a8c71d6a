import { defined, isObject, type JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { CarryCodec } from './codec.ts'

const flowNames = ['authorizationCode', 'clientCredentials', 'implicit', 'password', 'deviceCode']

/** The maximum number of alternatives of a requirement. They multiply with every scheme that has several flows. */
const maxAlternatives = 64

export interface CleanedCard {
  readonly card: unknown
  /** Schemes of an unknown type or with unknown flows, as received. */
  readonly unusable: JsonObject
}

/**
 * Rewrites the security of a card into the form of the proto. Cards in practice have requirements without wrappers,
 * schemes with a `type`, and schemes with several flows, where the proto allows one. Schemes of an unknown type are
 * removed, so that the rest of the card can be read.
 */
export function cleanSecurity(card: unknown, requirementsMember: 'security' | 'securityRequirements'): CleanedCard {
  if (!isObject(card)) return { card, unusable: {} }
  // The proto of 0.3 has no device code flow.
  const flows = requirementsMember === 'security' ? flowNames.filter((flow) => flow !== 'deviceCode') : flowNames
  const { schemes, unusable, flowSchemes } = cleanSchemes(card.securitySchemes, flows)
  const cleanRequirements = (holder: JsonObject): object => {
    const requirements = holder[requirementsMember] ?? holder.security
    if (!Array.isArray(requirements)) return {}
    const alternatives = requirements.flatMap((item) => withFlowSchemes(cleanRequirement(item), flowSchemes))
    return { [requirementsMember]: alternatives }
  }
  const cleanSkill = (skill: unknown) => (isObject(skill) ? { ...skill, ...cleanRequirements(skill) } : skill)
  const cleaned = {
    ...card,
    ...cleanRequirements(card),
    ...defined({
      securitySchemes: schemes,
      skills: Array.isArray(card.skills) ? card.skills.map(cleanSkill) : undefined,
    }),
  }
  return { card: cleaned, unusable }
}

/** Keeps the unusable schemes with a decoded card, to be encoded again. */
export function keepUnusable(card: AgentCard, unusable: JsonObject, { toCarry, readCarry }: CarryCodec): AgentCard {
  if (Object.keys(unusable).length === 0) return card
  return { ...card, ...toCarry({ ...readCarry(card.carry), unusable }) }
}

interface CleanedSchemes {
  readonly schemes?: JsonObject
  readonly unusable: JsonObject
  /** The names of the schemes of further flows, by the name of the scheme that had several. */
  readonly flowSchemes: ReadonlyMap<string, readonly string[]>
}

function cleanSchemes(wireSchemes: unknown, flows: readonly string[]): CleanedSchemes {
  const flowSchemes = new Map<string, readonly string[]>()
  if (!isObject(wireSchemes)) return { unusable: {}, flowSchemes }
  const schemes: Named[] = []
  const unusable: Named[] = []
  for (const [name, value] of Object.entries(wireSchemes)) {
    if (!isObject(value)) continue
    const [first, ...split] = splitFlows(name, cleanScheme(value), flows)
    if (!first) {
      unusable.push([name, value])
      continue
    }
    const others = split.filter(([other]) => !Object.hasOwn(wireSchemes, other))
    schemes.push(first, ...others)
    const otherNames = others.map(([other]) => other)
    if (otherNames.length > 0) flowSchemes.set(name, otherNames)
  }
  return { schemes: Object.fromEntries(schemes), unusable: Object.fromEntries(unusable), flowSchemes }
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

/**
 * A scheme for each flow. The first one keeps the name of the scheme, the name of each further flow is appended to it. None
 * if the type of the scheme or all its flows are unknown.
 */
function splitFlows(name: string, scheme: JsonObject | undefined, flowNames: readonly string[]): Named[] {
  if (scheme === undefined) return []
  const { oauth2SecurityScheme: oauth2 } = scheme
  if (!isObject(oauth2) || !isObject(oauth2.flows)) return [[name, scheme]]
  const { flows } = oauth2
  const known = flowNames.filter((flow) => isObject(flows[flow]))
  return known.map((flow, index) => [
    index === 0 ? name : `${name}.${flow}`,
    { oauth2SecurityScheme: { ...oauth2, flows: { [flow]: flows[flow] ?? {} } } },
  ])
}

type Named = [name: string, scheme: JsonObject]

/** Adds alternatives with the schemes of further flows: a caller may satisfy a scheme by any of its flows. */
function withFlowSchemes(requirement: unknown, flowSchemes: CleanedSchemes['flowSchemes']): readonly unknown[] {
  if (!isObject(requirement) || !isObject(requirement.schemes)) return [requirement]
  let alternatives = [requirement.schemes]
  for (const [name, others] of flowSchemes) {
    if (!Object.hasOwn(requirement.schemes, name)) continue
    if (alternatives.length * (others.length + 1) > maxAlternatives) break
    alternatives = [name, ...others].flatMap((other) => alternatives.map((schemes) => renameKey(schemes, name, other)))
  }
  return alternatives.map((schemes) => ({ schemes }))
}

function renameKey(object: JsonObject, from: string, to: string): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key === from ? to : key, value]))
}

function cleanRequirement(requirement: unknown): unknown {
  if (!isObject(requirement)) return requirement
  const schemes = isObject(requirement.schemes) ? requirement.schemes : requirement
  const wrapped = Object.entries(schemes).map(([name, list]) => [name, Array.isArray(list) ? { list } : list])
  return { schemes: Object.fromEntries(wrapped) }
}
