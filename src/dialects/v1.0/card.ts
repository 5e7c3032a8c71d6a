import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { AgentCapabilities, AgentCard, AgentInterface, AgentSkill } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Infer } from '../../schema/schema.ts'
import { carryCodec, type Draft } from '../codec.ts'
import { type CleanCard, cleanSecurity } from '../lenient-card.ts'
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
import { readResult } from '../read.ts'
import * as wire from './schemas.ts'

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
  if (card.securitySchemes) wire.securitySchemes = encodeSchemes(card.securitySchemes, readCarry(card.carry).unusable)
  if (card.security?.length) wire.securityRequirements = card.security.map(encodeRequirement)
  if (card.signatures?.length) wire.signatures = card.signatures.map(encodeSignature)
  return wire
}

/** Cards are read as far as they can be understood: one that leaves out what it must not may still be of use. */
export function cleanCard(given: unknown): CleanCard {
  return cleanSecurity(isObject(given) ? withInterfaces(given) : given, 'securityRequirements')
}

export const { toCarry, readCarry } = carryCodec('v1.0')

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

function decodeInterface({ protocolBinding, ...rest }: Infer<typeof wire.AgentInterface>): AgentInterface {
  return { ...rest, binding: protocolBinding }
}

function decodeSkill({ securityRequirements, ...skill }: Infer<typeof wire.AgentSkill>): AgentSkill {
  return { ...skill, security: securityRequirements?.map(decodeRequirement) }
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

function withInterfaces(card: JsonObject): JsonObject {
  const { supportedInterfaces } = card
  if (Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0) return withVersions(card)
  return typeof card.url === 'string' && typeof card.protocolVersion === 'string' ? asInterfaces(card) : card
}

/** The release candidate of 1.0 had the versions beside the interfaces. */
function withVersions({ supportedInterfaces, protocolVersions, ...card }: JsonObject): JsonObject {
  const all = Array.isArray(protocolVersions) ? protocolVersions : []
  const version =
    all
      .filter((each) => typeof each === 'string')
      .toSorted()
      .at(-1) ?? '1.0'
  const complete = (each: unknown) => {
    if (!isObject(each)) return each
    const { transport = 'JSONRPC', ...rest } = each
    return { protocolVersion: version, protocolBinding: transport, ...rest }
  }
  const interfaces = Array.isArray(supportedInterfaces) ? supportedInterfaces.map(complete) : []
  return { ...card, supportedInterfaces: interfaces } as JsonObject
}

function asInterfaces({ url, preferredTransport = 'JSONRPC', protocolVersion, ...card }: JsonObject): JsonObject {
  const main = { url, protocolBinding: preferredTransport, protocolVersion } as JsonObject
  return { ...card, supportedInterfaces: [main] }
}
