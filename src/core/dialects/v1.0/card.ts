import { isObject, type JsonObject } from '../../base/json.ts'
import type { AgentCapabilities, AgentCard, AgentInterface, AgentSkill } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Infer } from '../../schema/schema.ts'
import { carryCodec, type Draft, readResult } from '../codec.ts'
import { cleanSecurity, keepUnusable } from '../lenient-card.ts'
import {
  decodeRequirement,
  decodeScheme,
  draftSkill,
  encodeExtension,
  encodeRequirement,
  encodeSchemes,
  encodeSignature,
  mapValues,
} from '../proto-card.ts'
import * as wire from './schemas.ts'

const carry = carryCodec('v1.0')

export function decodeCard(value: unknown): AgentCard {
  const card = readResult(wire.AgentCard, value)
  rejectLegacySecurity(value)
  const { supportedInterfaces, capabilities, skills, securitySchemes, securityRequirements, ...rest } = card
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

/** Reads cards that break the schema in known ways, including those of the release candidate of 1.0. */
export function decodeLenientCard(value: unknown): AgentCard {
  const { card, unusable } = cleanSecurity(isObject(value) ? withInterfaces(value) : value, 'securityRequirements')
  return keepUnusable(decodeCard(card), unusable, carry)
}

/** Required members are present even if they are empty: signatures cover this canonical form (A2A 1.0 §8.4.1). */
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
  if (card.securitySchemes)
    wire.securitySchemes = encodeSchemes(card.securitySchemes, carry.readCarry(card.carry).unusable)
  if (card.security?.length) wire.securityRequirements = card.security.map(encodeRequirement)
  if (card.signatures?.length) wire.signatures = card.signatures.map(encodeSignature)
  return wire
}

/** Throws if the card has the security requirements of an older version: the schema would ignore them. */
function rejectLegacySecurity(card: unknown): void {
  if (!isObject(card)) return
  const holders = Array.isArray(card.skills) ? [card, ...card.skills] : [card]
  const hasLegacySecurity = (holder: unknown) =>
    isObject(holder) && Array.isArray(holder.security) && holder.securityRequirements === undefined
  if (!holders.some(hasLegacySecurity)) return
  throw new A2AError('invalid-agent-response', 'security: expected securityRequirements, got security as in A2A 0.3')
}

function decodeInterface({ protocolBinding, ...rest }: Infer<typeof wire.AgentInterface>): AgentInterface {
  return { ...rest, binding: protocolBinding }
}

function decodeSkill({ securityRequirements, ...skill }: Infer<typeof wire.AgentSkill>): AgentSkill {
  return { ...skill, security: securityRequirements?.map(decodeRequirement) }
}

function encodeInterface({ url, binding, protocolVersion, tenant }: AgentInterface): JsonObject {
  const wire: Draft = { url, protocolBinding: binding, protocolVersion }
  if (tenant !== undefined) wire.tenant = tenant
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

function withInterfaces(card: JsonObject): JsonObject {
  const { supportedInterfaces } = card
  if (Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0) return withVersions(card)
  return typeof card.url === 'string' && typeof card.protocolVersion === 'string' ? withMainInterface(card) : card
}

/** In the release candidate of 1.0, the versions are beside the interfaces. */
function withVersions({ supportedInterfaces, protocolVersions, ...card }: JsonObject): JsonObject {
  const versions = Array.isArray(protocolVersions) ? protocolVersions.filter((item) => typeof item === 'string') : []
  const protocolVersion = versions.toSorted().at(-1) ?? '1.0'
  const complete = (value: unknown) => {
    if (!isObject(value)) return value
    const { transport = 'JSONRPC', ...rest } = value
    return { protocolVersion, protocolBinding: transport, ...rest }
  }
  const interfaces = Array.isArray(supportedInterfaces) ? supportedInterfaces.map(complete) : []
  return { ...card, supportedInterfaces: interfaces } as JsonObject
}

function withMainInterface({ url, preferredTransport = 'JSONRPC', protocolVersion, ...card }: JsonObject): JsonObject {
  const main = { url, protocolBinding: preferredTransport, protocolVersion } as JsonObject
  return { ...card, supportedInterfaces: [main] }
}
