import type { AgentCard, AgentInterface, AgentSkill } from '../../protocol/card.ts'
import { assumed } from '../assumed.ts'
import { cleanSecurity } from '../lenient-card.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { decodeRequirement, decodeScheme, mapValues, Requirement, Scheme } from '../proto-security.ts'
import { readResult } from '../read-params.ts'
import { boolean, list, map, string, struct, type TypeOf } from '../shape.ts'

/** Cards are read as far as they can be understood: one that leaves out what it must not may still be of use. */
export function decodeCard(wire: unknown): AgentCard {
  const card = readResult(Card, cleanSecurity(wire, 'securityRequirements'))
  const { supportedInterfaces, capabilities, skills, securitySchemes, securityRequirements, ...rest } = card
  const { extendedAgentCard, ...otherCapabilities } = capabilities
  return {
    ...rest,
    interfaces: supportedInterfaces.map(decodeInterface),
    capabilities: { ...otherCapabilities, extendedCard: extendedAgentCard },
    skills: skills.map(decodeSkill),
    securitySchemes: securitySchemes && mapValues(securitySchemes, decodeScheme),
    security: securityRequirements?.map(decodeRequirement),
  }
}

function decodeInterface({ protocolBinding, ...rest }: TypeOf<typeof Interface>): AgentInterface {
  return { ...rest, binding: protocolBinding }
}

function decodeSkill({ securityRequirements, ...skill }: TypeOf<typeof Skill>): AgentSkill {
  return { ...skill, security: securityRequirements?.map(decodeRequirement) }
}

const text = assumed(string(), '')
const words = assumed(list(string()), [])
const someWords = implicit(list(string()))
const securityRequirements = implicit(list(Requirement))

const Interface = object({
  url: string({ min: 1 }),
  protocolBinding: string({ min: 1 }),
  protocolVersion: string({ min: 1 }),
  tenant: implicit(string()),
})

const Extension = object({
  uri: string({ min: 1 }),
  description: implicit(string()),
  required: implicit(boolean()),
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
  securityRequirements,
})

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  extendedAgentCard: optional(boolean()),
  extensions: implicit(list(Extension)),
})

const Signature = object({ protected: string(), signature: string(), header: optional(struct()) })

export const Card = object({
  name: string({ min: 1 }),
  description: text,
  version: text,
  supportedInterfaces: list(Interface, { min: 1 }),
  capabilities: assumed(Capabilities, {}),
  defaultInputModes: words,
  defaultOutputModes: words,
  skills: assumed(list(Skill), []),
  provider: optional(object({ organization: text, url: text })),
  documentationUrl: optional(string()),
  iconUrl: optional(string()),
  securitySchemes: optional(map(Scheme)),
  securityRequirements,
  signatures: implicit(list(Signature)),
})
