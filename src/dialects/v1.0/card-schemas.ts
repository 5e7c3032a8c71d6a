import { assumed } from '../assumed.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { cardFields, extensions, skillFields } from '../proto-card.ts'
import { Requirement, Scheme } from '../proto-security.ts'
import { boolean, list, map, string } from '../shape.ts'

const securityRequirements = implicit(list(Requirement))

export const AgentInterface = object({
  url: string({ min: 1 }),
  protocolBinding: string({ min: 1 }),
  protocolVersion: string({ min: 1 }),
  tenant: implicit(string()),
})

const Capabilities = object({
  streaming: optional(boolean()),
  pushNotifications: optional(boolean()),
  extendedAgentCard: optional(boolean()),
  extensions,
})

export const AgentSkill = object({ ...skillFields, securityRequirements })

export const AgentCard = object({
  ...cardFields,
  supportedInterfaces: list(AgentInterface, { min: 1 }),
  capabilities: assumed(Capabilities, {}),
  skills: assumed(list(AgentSkill), []),
  documentationUrl: optional(string()),
  iconUrl: optional(string()),
  securitySchemes: optional(map(Scheme)),
  securityRequirements,
})
