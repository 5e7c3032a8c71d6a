import type { AgentCard } from '../../protocol/card.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import type { SecurityRequirement } from '../../protocol/security.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import * as wire from './card-schemas.ts'
import { carrying } from './carry.ts'
import { decodeRequirements, decodeSchemes } from './decode-security.ts'
import { interfacesOf } from './interfaces.ts'

export const decodeCard = cardDecoder('0.3')

/** `version` is what an agent speaks that does not tell it. */
export function cardDecoder(version: string): (given: unknown) => AgentCard {
  return (given) => {
    const card = readResult(wire.AgentCard, given)
    const addresses = readResult(wire.Addresses, given)
    const { stateTransitionHistory, ...capabilities } = card.capabilities
    const { schemes, unusable, twins } = decodeSchemes(card.securitySchemes ?? {}, namesIn(card))
    const requirementsOf = ({ security }: { readonly security?: readonly SecurityRequirement[] }) =>
      security && decodeRequirements(security, twins)
    const kept: Record<string, Json> = { addresses: addresses as JsonObject }
    if (stateTransitionHistory !== undefined) kept.stateTransitionHistory = stateTransitionHistory
    if (Object.keys(unusable).length > 0) kept.unusable = unusable
    return {
      name: card.name,
      description: card.description,
      version: card.version,
      interfaces: interfacesOf(addresses, version),
      capabilities: { ...capabilities, extendedCard: card.supportsAuthenticatedExtendedCard },
      defaultInputModes: card.defaultInputModes,
      defaultOutputModes: card.defaultOutputModes,
      skills: card.skills.map((skill) => ({ ...skill, security: requirementsOf(skill) })),
      provider: card.provider,
      documentationUrl: card.documentationUrl,
      iconUrl: card.iconUrl,
      securitySchemes: card.securitySchemes && schemes,
      security: requirementsOf(card),
      signatures: card.signatures,
      ...carrying(kept),
    }
  }
}

/** Every name by which the card calls a scheme, whether it has it or not. */
function namesIn({ securitySchemes = {}, security = [], skills }: TypeOf<typeof wire.AgentCard>): ReadonlySet<string> {
  const requirements = [...security, ...skills.flatMap((skill) => skill.security ?? [])]
  return new Set([securitySchemes, ...requirements].flatMap((named) => Object.keys(named)))
}
