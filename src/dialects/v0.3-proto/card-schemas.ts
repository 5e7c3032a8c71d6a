import { assumed } from '../assumed.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { cardFields, extensions, skillFields } from '../proto-card.ts'
import { olderFlows, Requirement, schemeOf } from '../proto-security.ts'
import { boolean, list, map, string } from '../shape.ts'

const text = implicit(string())
const flag = implicit(boolean())
const security = implicit(list(Requirement))

const addressFields = {
  url: string({ min: 1 }),
  preferredTransport: text,
  additionalInterfaces: implicit(list(object({ url: string({ min: 1 }), transport: string({ min: 1 }) }))),
  protocolVersion: text,
}

/** The members of a card that say where the agent can be reached. */
export const Addresses = object(addressFields)

const Capabilities = object({ streaming: flag, pushNotifications: flag, extensions })

export const AgentSkill = object({ ...skillFields, security })

export const AgentCard = object({
  ...addressFields,
  ...cardFields,
  capabilities: assumed(Capabilities, {}),
  skills: assumed(list(AgentSkill), []),
  documentationUrl: text,
  // Came after 0.3.0; the SDKs of 0.3 have it.
  iconUrl: text,
  securitySchemes: optional(map(schemeOf(object({}, { oneOf: olderFlows })))),
  security,
  supportsAuthenticatedExtendedCard: flag,
})
