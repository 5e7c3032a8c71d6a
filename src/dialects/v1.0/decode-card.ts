import type { AgentCard, AgentInterface, AgentSkill } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import { isObject } from '../is-object.ts'
import { decodeRequirement, decodeScheme, mapValues } from '../proto-security.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import * as wire from './card-schemas.ts'

export function decodeCard(given: unknown): AgentCard {
  const read = readResult(wire.AgentCard, given)
  requireOwnWords(given)
  const { supportedInterfaces, capabilities, skills, securitySchemes, securityRequirements, ...rest } = read
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

function decodeInterface({ protocolBinding, ...rest }: TypeOf<typeof wire.AgentInterface>): AgentInterface {
  return { ...rest, binding: protocolBinding }
}

function decodeSkill({ securityRequirements, ...skill }: TypeOf<typeof wire.AgentSkill>): AgentSkill {
  return { ...skill, security: securityRequirements?.map(decodeRequirement) }
}

/** Who may call, said in the words of an older version, would be overlooked. */
function requireOwnWords(card: unknown): void {
  if (!isObject(card)) return
  const holders = Array.isArray(card.skills) ? [card, ...card.skills] : [card]
  if (
    !holders.some((each) => isObject(each) && Array.isArray(each.security) && each.securityRequirements === undefined)
  )
    return
  throw new A2AError('invalid-agent-response', 'security: expected securityRequirements, got the words of A2A 0.3')
}
