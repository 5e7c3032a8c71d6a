import type { AgentCard, AgentSkill } from '../protocol/card.ts'

/** A card of 0.2 or 0.3, in JSON or ProtoJSON, without its interfaces and security. */
export interface LegacyCard extends Pick<AgentCard, SharedMember> {
  readonly capabilities: Omit<AgentCard['capabilities'], 'extendedCard'> & { readonly stateTransitionHistory?: boolean }
  readonly supportsAuthenticatedExtendedCard?: boolean
  readonly skills: readonly Omit<AgentSkill, 'security'>[]
}

/** The security of a card, and its skills with theirs. */
export type CardSecurity = Partial<Pick<AgentCard, 'securitySchemes' | 'security' | 'skills'>>

export function decodeLegacyCard(
  card: LegacyCard,
  interfaces: AgentCard['interfaces'],
  security: CardSecurity,
): AgentCard {
  const { stateTransitionHistory: _, ...capabilities } = card.capabilities
  return {
    name: card.name,
    description: card.description,
    version: card.version,
    interfaces,
    capabilities: { ...capabilities, extendedCard: card.supportsAuthenticatedExtendedCard },
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills,
    provider: card.provider,
    documentationUrl: card.documentationUrl,
    iconUrl: card.iconUrl,
    ...security,
    signatures: card.signatures,
  }
}

/** The members that are the same in the model. */
type SharedMember =
  | 'name'
  | 'description'
  | 'version'
  | 'defaultInputModes'
  | 'defaultOutputModes'
  | 'provider'
  | 'documentationUrl'
  | 'iconUrl'
  | 'signatures'
