import type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentSkill,
  CardSignature,
} from '../../protocol/card.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import { encodeRequirement, encodeScheme, mapValues } from '../proto-security.ts'

type Draft = Record<string, Json>

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
  if (card.securitySchemes) wire.securitySchemes = mapValues(card.securitySchemes, encodeScheme)
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

function encodeExtension({ uri, description, required, params }: AgentExtension): JsonObject {
  const wire: Draft = { uri }
  if (description) wire.description = description
  if (required) wire.required = true
  if (params) wire.params = params
  return wire
}

function encodeSkill(skill: AgentSkill): JsonObject {
  const { id, name, description, tags, examples, inputModes, outputModes, security } = skill
  const wire: Draft = { id, name, description, tags }
  if (examples?.length) wire.examples = examples
  if (inputModes?.length) wire.inputModes = inputModes
  if (outputModes?.length) wire.outputModes = outputModes
  if (security?.length) wire.securityRequirements = security.map(encodeRequirement)
  return wire
}

function encodeSignature({ protected: header, signature, header: unprotected }: CardSignature): JsonObject {
  const wire: Draft = { protected: header, signature }
  if (unprotected) wire.header = unprotected
  return wire
}
