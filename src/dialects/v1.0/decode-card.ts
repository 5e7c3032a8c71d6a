import type { AgentCard, AgentInterface, AgentSkill } from '../../protocol/card.ts'
import { cleanSecurity } from '../lenient-card.ts'
import { decodeRequirement, decodeScheme, mapValues } from '../proto-security.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import * as wire from './card-schemas.ts'
import { carrying } from './carry.ts'

/** Cards are read as far as they can be understood: one that leaves out what it must not may still be of use. */
export function decodeCard(given: unknown): AgentCard {
  const { card, unusable } = cleanSecurity(given, 'securityRequirements')
  const read = readResult(wire.AgentCard, card)
  const { supportedInterfaces, capabilities, skills, securitySchemes, securityRequirements, ...rest } = read
  const { extendedAgentCard, ...otherCapabilities } = capabilities
  return {
    ...rest,
    interfaces: supportedInterfaces.map(decodeInterface),
    capabilities: { ...otherCapabilities, extendedCard: extendedAgentCard },
    skills: skills.map(decodeSkill),
    securitySchemes: securitySchemes && mapValues(securitySchemes, decodeScheme),
    security: securityRequirements?.map(decodeRequirement),
    ...(Object.keys(unusable).length > 0 && carrying({ unusable })),
  }
}

function decodeInterface({ protocolBinding, ...rest }: TypeOf<typeof wire.AgentInterface>): AgentInterface {
  return { ...rest, binding: protocolBinding }
}

function decodeSkill({ securityRequirements, ...skill }: TypeOf<typeof wire.AgentSkill>): AgentSkill {
  return { ...skill, security: securityRequirements?.map(decodeRequirement) }
}
