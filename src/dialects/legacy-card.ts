import type { AgentCard, AgentSkill } from '../protocol/card.ts'

/** A card of 0.2 or 0.3, in whichever form, but for where the agent is and who may call. */
export interface LegacyCard extends Pick<AgentCard, AsItIs> {
  readonly capabilities: Omit<AgentCard['capabilities'], 'extendedCard'> & { readonly stateTransitionHistory?: boolean }
  readonly supportsAuthenticatedExtendedCard?: boolean
  readonly skills: readonly Omit<AgentSkill, 'security'>[]
}

/** Who may call, as far as a card says it. */
export type CardSecurity = Partial<Pick<AgentCard, 'securitySchemes' | 'security' | 'skills'>>

/** What both forms have in common with the model. */
export function decodeLegacyCard(
  card: LegacyCard,
  interfaces: AgentCard['interfaces'],
  secured: CardSecurity,
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
    ...secured,
    signatures: card.signatures,
  }
}

type AsItIs =
  | 'name'
  | 'description'
  | 'version'
  | 'defaultInputModes'
  | 'defaultOutputModes'
  | 'provider'
  | 'documentationUrl'
  | 'iconUrl'
  | 'signatures'
