import type { JsonObject } from '../../base/json.ts'
import type {
  AgentCapabilities,
  AgentCard as AgentCardCardDecoder,
  AgentCard as AgentCardEncodeCard,
  AgentSkill,
  SecurityRequirement,
  SecurityScheme,
} from '../../protocol/card.ts'
import type { Draft } from '../codec.ts'
import { type CardSecurity, decodeLegacyCard } from '../legacy-card.ts'
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
import { addressesOf, interfacesOf } from '../v0.3/card.ts'
import { readCarry, toCarry } from './parts.ts'
import { Addresses, AgentCard } from './schemas.ts'

const spoken = { version: '0.3', protocolVersion: '0.3.0' }

export function decodeCard(given: unknown): AgentCardCardDecoder {
  const card = readResult(AgentCard, given)
  const addresses = readResult(Addresses, given)
  const secured: CardSecurity = {
    skills: card.skills.map((skill) => ({ ...skill, security: skill.security?.map(decodeRequirement) })),
    securitySchemes: card.securitySchemes && mapValues(card.securitySchemes, decodeScheme),
    security: card.security?.map(decodeRequirement),
  }
  return {
    ...decodeLegacyCard(card, interfacesOf(addresses, '0.3'), secured),
    ...toCarry({ addresses: addresses as JsonObject }),
  }
}

/** What the schema of 0.3 requires is there even if it is empty: the proto requires nothing, but readers do. */
export function encodeCard(card: AgentCardEncodeCard): JsonObject {
  const { securitySchemes = {} } = card
  const kept = readCarry(card.carry)
  const schemes = Object.entries(securitySchemes).flatMap(([name, scheme]) => toldScheme(name, scheme))
  const told = new Map(schemes)
  const canBeMet = (requirement: SecurityRequirement) =>
    Object.keys(requirement).every((name) => told.has(name) || !Object.hasOwn(securitySchemes, name))
  const encodeSecurity = (security: readonly SecurityRequirement[] = []) =>
    security.filter(canBeMet).map(encodeRequirement)

  const wire: Draft = {
    name: card.name,
    description: card.description,
    ...addressesOf(card.interfaces, spoken, kept.addresses),
    version: card.version,
    capabilities: encodeCapabilities(card.capabilities),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map((skill) => encodeSkill(skill, encodeSecurity(skill.security))),
  }
  if (card.provider) wire.provider = { organization: card.provider.organization, url: card.provider.url }
  if (card.documentationUrl) wire.documentationUrl = card.documentationUrl
  if (card.iconUrl) wire.iconUrl = card.iconUrl
  if (card.securitySchemes) wire.securitySchemes = encodeSchemes(Object.fromEntries(schemes), kept.unusable)
  const security = encodeSecurity(card.security)
  if (security.length > 0) wire.security = security
  if (card.capabilities.extendedCard) wire.supportsAuthenticatedExtendedCard = true
  if (card.signatures?.length) wire.signatures = card.signatures.map(encodeSignature)
  return wire
}

/** As far as 0.3 has a word for it: device codes and proof keys came later. */
function toldScheme(name: string, scheme: SecurityScheme): readonly [string, SecurityScheme][] {
  if (scheme.type !== 'oauth2') return [[name, scheme]]
  const { flow } = scheme
  if (flow.type === 'device-code') return []
  return [[name, flow.type === 'authorization-code' ? { ...scheme, flow: { ...flow, pkceRequired: false } } : scheme]]
}

function encodeCapabilities({ streaming, pushNotifications, extensions }: AgentCapabilities): JsonObject {
  const wire: Draft = {}
  if (streaming) wire.streaming = true
  if (pushNotifications) wire.pushNotifications = true
  if (extensions?.length) wire.extensions = extensions.map(encodeExtension)
  return wire
}

function encodeSkill(skill: AgentSkill, security: readonly JsonObject[]): JsonObject {
  const wire = draftSkill(skill)
  if (security.length > 0) wire.security = security
  return wire
}
