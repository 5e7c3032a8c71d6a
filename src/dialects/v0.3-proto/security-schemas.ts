import { assumed } from '../assumed.ts'
import { implicit, object, optional } from '../object-shape.ts'
import { skillFields } from '../proto-card.ts'
import { olderFlows, Requirement, schemeOf } from '../proto-security.ts'
import { list, map } from '../shape.ts'
import { openCardFields } from './card-schemas.ts'

const security = implicit(list(Requirement))

export const AgentCard = object({
  ...openCardFields,
  skills: assumed(list(object({ ...skillFields, security })), []),
  securitySchemes: optional(map(schemeOf(object({}, { oneOf: olderFlows })))),
  security,
})
