import type { AgentCard, AgentSkill } from '../../protocol/card.ts'
import type { JsonObject } from '../../protocol/model.ts'
import { assumed } from '../assumed.ts'
import { cleanSecurity } from '../lenient-card.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { decodeRequirement, decodeScheme, mapValues, OlderScheme, Requirement } from '../proto-security.ts'
import { readResult } from '../read-params.ts'
import { boolean, list, map, string, struct, type TypeOf } from '../shape.ts'
import { interfacesOf } from '../v0.3/interfaces.ts'
import { carrying } from './carry.ts'

/** Also as the JSON of 0.3 has it, which servers of the Python SDK answer here. */
export function decodeCard(wire: unknown): AgentCard {
  const addresses = readResult(Addresses, wire)
  const card = readResult(Card, cleanSecurity(wire, 'security'))
  const { capabilities, skills, securitySchemes, security, supportsAuthenticatedExtendedCard, ...rest } = card
  return {
    ...rest,
    interfaces: interfacesOf(addresses, '0.3'),
    capabilities: { ...capabilities, extendedCard: supportsAuthenticatedExtendedCard },
    skills: skills.map(decodeSkill),
    securitySchemes: securitySchemes && mapValues(securitySchemes, decodeScheme),
    security: security?.map(decodeRequirement),
    ...carrying({ addresses: addresses as JsonObject }),
  }
}

function decodeSkill({ security, ...skill }: TypeOf<typeof Skill>): AgentSkill {
  return { ...skill, security: security?.map(decodeRequirement) }
}

const text = assumed(string(), '')
const someText = implicit(string())
const words = assumed(list(string()), [])
const someWords = implicit(list(string()))
const flag = implicit(boolean())
const security = implicit(list(Requirement))

/** The members that say where the agent can be reached. */
export const Addresses = object({
  url: string({ min: 1 }),
  preferredTransport: someText,
  additionalInterfaces: implicit(list(object({ url: string({ min: 1 }), transport: string({ min: 1 }) }))),
  protocolVersion: someText,
})

const Extension = object({
  uri: string({ min: 1 }),
  description: someText,
  required: flag,
  params: optional(struct()),
})

const Skill = object({
  id: text,
  name: text,
  description: text,
  tags: words,
  examples: someWords,
  inputModes: someWords,
  outputModes: someWords,
  security,
})

const Capabilities = object({ streaming: flag, pushNotifications: flag, extensions: implicit(list(Extension)) })

const Signature = object({ protected: string(), signature: string(), header: optional(struct()) })

/** All but the addresses. */
export const Card = object({
  name: string({ min: 1 }),
  description: text,
  version: text,
  capabilities: assumed(Capabilities, {}),
  defaultInputModes: words,
  defaultOutputModes: words,
  skills: assumed(list(Skill), []),
  provider: optional(object({ organization: text, url: text })),
  documentationUrl: someText,
  // Came after 0.3.0; the SDKs of 0.3 have it.
  iconUrl: someText,
  securitySchemes: optional(map(OlderScheme)),
  security,
  supportsAuthenticatedExtendedCard: flag,
  signatures: implicit(list(Signature)),
})
