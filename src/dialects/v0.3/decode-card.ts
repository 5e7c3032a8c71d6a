import type { SecurityRequirement } from '../../protocol/security.ts'
import type { TypeOf } from '../shape.ts'
import { cardDecoder, type SecuredOrNot } from './card-decoder.ts'
import { decodeRequirements, decodeSchemes } from './decode-security.ts'
import { AgentCard } from './security-schemas.ts'

export const decodeCard = securedCardDecoder('0.3')

/** `version` is what an agent speaks that does not tell it. */
export function securedCardDecoder(version: string) {
  return cardDecoder(version, AgentCard, decodeSecurity)
}

function decodeSecurity(card: TypeOf<typeof AgentCard>): SecuredOrNot {
  const { schemes, unusable, twins } = decodeSchemes(card.securitySchemes ?? {}, namesIn(card))
  const requirementsOf = ({ security }: { readonly security?: readonly SecurityRequirement[] }) =>
    security && decodeRequirements(security, twins)
  return {
    skills: card.skills.map((skill) => ({ ...skill, security: requirementsOf(skill) })),
    securitySchemes: card.securitySchemes && schemes,
    security: requirementsOf(card),
    unusable,
  }
}

/** Every name by which the card calls a scheme, whether it has it or not. */
function namesIn({ securitySchemes = {}, security = [], skills }: TypeOf<typeof AgentCard>): ReadonlySet<string> {
  const requirements = [...security, ...skills.flatMap((skill) => skill.security ?? [])]
  return new Set([securitySchemes, ...requirements].flatMap((named) => Object.keys(named)))
}
