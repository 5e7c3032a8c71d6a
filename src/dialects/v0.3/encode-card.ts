import type { AgentCard, AgentExtension, AgentSkill, CardSignature } from '../../protocol/card.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { SecurityScheme } from '../../protocol/security.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'
import { type EncodedSecurity, encodeSecurity } from './encode-security.ts'
import { addressesOf, type SpokenVersion } from './interfaces.ts'

export interface CardVersion extends SpokenVersion {
  /** The types of security scheme that it does not have. */
  readonly lacks: readonly SecurityScheme['type'][]
}

export const encodeCard = cardEncoder({ version: '0.3', protocolVersion: '0.3.0', lacks: [] })

export function cardEncoder(spoken: CardVersion): (card: AgentCard) => JsonObject {
  return (card) => {
    const security = encodeSecurity(card, spoken.lacks)
    const wire: Draft = {
      name: card.name,
      description: card.description,
      ...addressesOf(card.interfaces, spoken, carried(card.carry).addresses),
      version: card.version,
      capabilities: encodeCapabilities(card),
      defaultInputModes: card.defaultInputModes,
      defaultOutputModes: card.defaultOutputModes,
      skills: card.skills.map((skill) => encodeSkill(skill, security)),
    }
    const { provider, documentationUrl, iconUrl, signatures, capabilities } = card
    if (provider !== undefined) wire.provider = { organization: provider.organization, url: provider.url }
    if (documentationUrl !== undefined) wire.documentationUrl = documentationUrl
    if (iconUrl !== undefined) wire.iconUrl = iconUrl
    if (card.securitySchemes !== undefined) wire.securitySchemes = security.schemes
    if (card.security !== undefined) wire.security = security.encodeRequirements(card.security)
    const { extendedCard } = capabilities
    if (extendedCard !== undefined) wire.supportsAuthenticatedExtendedCard = extendedCard
    if (signatures !== undefined) wire.signatures = signatures.map(encodeSignature)
    return wire
  }
}

function encodeCapabilities({ capabilities, carry }: AgentCard): JsonObject {
  const { streaming, pushNotifications, extensions } = capabilities
  const { stateTransitionHistory } = carried(carry)
  const wire: Draft = {}
  if (streaming !== undefined) wire.streaming = streaming
  if (pushNotifications !== undefined) wire.pushNotifications = pushNotifications
  if (stateTransitionHistory !== undefined) wire.stateTransitionHistory = stateTransitionHistory
  if (extensions !== undefined) wire.extensions = extensions.map(encodeExtension)
  return wire
}

function encodeExtension({ uri, description, required, params }: AgentExtension): JsonObject {
  const wire: Draft = { uri }
  if (description !== undefined) wire.description = description
  if (required !== undefined) wire.required = required
  if (params !== undefined) wire.params = params
  return wire
}

function encodeSkill(skill: AgentSkill, { encodeRequirements }: EncodedSecurity): JsonObject {
  const { id, name, description, tags, examples, inputModes, outputModes, security } = skill
  const wire: Draft = { id, name, description, tags }
  if (examples !== undefined) wire.examples = examples
  if (inputModes !== undefined) wire.inputModes = inputModes
  if (outputModes !== undefined) wire.outputModes = outputModes
  if (security !== undefined) wire.security = encodeRequirements(security)
  return wire
}

function encodeSignature({ protected: header64, signature, header }: CardSignature): JsonObject {
  const wire: Draft = { protected: header64, signature }
  if (header !== undefined) wire.header = header
  return wire
}
