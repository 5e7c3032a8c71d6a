import { decodeRequirement, decodeScheme, mapValues } from '../proto-security.ts'
import { cardDecoder } from './card-decoder.ts'
import { AgentCard } from './security-schemas.ts'

export const decodeCard = cardDecoder(AgentCard, ({ securitySchemes, security, skills }) => ({
  skills: skills.map((skill) => ({ ...skill, security: skill.security?.map(decodeRequirement) })),
  securitySchemes: securitySchemes && mapValues(securitySchemes, decodeScheme),
  security: security?.map(decodeRequirement),
}))
