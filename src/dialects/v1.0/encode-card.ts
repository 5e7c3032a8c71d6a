import type { AgentCapabilities, AgentCard, AgentInterface, AgentSkill } from '../../protocol/card.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Draft } from '../draft.ts'
import { draftSkill, encodeExtension, encodeSignature } from '../proto-card.ts'
import { encodeRequirement, encodeSchemes } from '../proto-security.ts'
import { carried } from './carry.ts'

/** Required members are there even if they are empty: so says the canonical form that signatures cover (§8.4.1). */
export function encodeCard(card: AgentCard): JsonObject {
  const wire: Draft = {
    name: card.name,
    description: card.description,
    supportedInterfaces: card.interfaces.map(encodeInterface),
    version: card.version,
    capabilities: encodeCapabilities(card.capabilities),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(encodeSkill),
  }
  if (card.provider) wire.provider = { organization: card.provider.organization, url: card.provider.url }
  if (card.documentationUrl !== undefined) wire.documentationUrl = card.documentationUrl
  if (card.iconUrl !== undefined) wire.iconUrl = card.iconUrl
  if (card.securitySchemes) wire.securitySchemes = encodeSchemes(card.securitySchemes, carried(card.carry).unusable)
  if (card.security?.length) wire.securityRequirements = card.security.map(encodeRequirement)
  if (card.signatures?.length) wire.signatures = card.signatures.map(encodeSignature)
  return wire
}

function encodeInterface({ url, binding, protocolVersion, tenant }: AgentInterface): JsonObject {
  const wire: Draft = { url, protocolBinding: binding, protocolVersion }
  if (tenant) wire.tenant = tenant
  return wire
}

function encodeCapabilities(capabilities: AgentCapabilities): JsonObject {
  const { streaming, pushNotifications, extendedCard, extensions } = capabilities
  const wire: Draft = {}
  if (streaming !== undefined) wire.streaming = streaming
  if (pushNotifications !== undefined) wire.pushNotifications = pushNotifications
  if (extendedCard !== undefined) wire.extendedAgentCard = extendedCard
  if (extensions?.length) wire.extensions = extensions.map(encodeExtension)
  return wire
}

function encodeSkill(skill: AgentSkill): JsonObject {
  const wire = draftSkill(skill)
  if (skill.security?.length) wire.securityRequirements = skill.security.map(encodeRequirement)
  return wire
}
