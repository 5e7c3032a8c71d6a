import type { AgentCard, AgentSkill } from '../../protocol/card.ts'
import type { JsonObject } from '../../protocol/model.ts'
import { decodeRequirement, decodeScheme, mapValues } from '../proto-security.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { interfacesOf } from '../v0.3/interfaces.ts'
import * as wire from './card-schemas.ts'
import { carrying } from './carry.ts'

export function decodeCard(given: unknown): AgentCard {
  const card = readResult(wire.AgentCard, given)
  const addresses = readResult(wire.Addresses, given)
  return {
    name: card.name,
    description: card.description,
    version: card.version,
    interfaces: interfacesOf(addresses, '0.3'),
    capabilities: { ...card.capabilities, extendedCard: card.supportsAuthenticatedExtendedCard },
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(decodeSkill),
    provider: card.provider,
    documentationUrl: card.documentationUrl,
    iconUrl: card.iconUrl,
    securitySchemes: card.securitySchemes && mapValues(card.securitySchemes, decodeScheme),
    security: card.security?.map(decodeRequirement),
    signatures: card.signatures,
    ...carrying({ addresses: addresses as JsonObject }),
  }
}

function decodeSkill({ security, ...skill }: TypeOf<typeof wire.AgentSkill>): AgentSkill {
  return { ...skill, security: security?.map(decodeRequirement) }
}
