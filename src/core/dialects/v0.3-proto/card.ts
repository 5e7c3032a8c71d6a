import type { JsonObject } from '../../base/json.ts'
import type {
  AgentCapabilities,
  AgentCard,
  AgentSkill,
  SecurityRequirement,
  SecurityScheme,
} from '../../protocol/card.ts'
import { type Draft, readResult } from '../codec.ts'
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
import { type CardSecurity, decodeInterfaces, decodeLegacyCard, encodeInterfaces } from '../v0.3/card.ts'
import { carry } from './parts.ts'
import * as wire from './schemas.ts'

export function decodeCard(value: unknown): AgentCard {
  const card = readResult(wire.AgentCard, value)
  const addresses = readResult(wire.Addresses, value)
  const security: CardSecurity = {
    skills: card.skills.map((skill) => ({ ...skill, security: skill.security?.map(decodeRequirement) })),
    securitySchemes: card.securitySchemes && mapValues(card.securitySchemes, decodeScheme),
    security: card.security?.map(decodeRequirement),
  }
  return {
    ...decodeLegacyCard(card, decodeInterfaces(addresses, '0.3'), security),
    ...carry.toCarry({ addresses: addresses as JsonObject }),
  }
}

/** Reads cards that break the schema in known ways: servers of the Python SDK send the card in the JSON of 0.3. */
export function decodeLenientCard(value: unknown): AgentCard {
  const { card, unusable } = cleanSecurity(value, 'security')
  return keepUnusable(decodeCard(card), unusable, carry)
}

/** Members that the JSON schema of 0.3 requires are present even if they are empty: the proto has no required members. */
export function encodeCard(card: AgentCard): JsonObject {
  const { securitySchemes = {} } = card
  const extras = carry.readCarry(card.carry)
  const schemes = Object.entries(securitySchemes).flatMap(([name, scheme]) => supportedScheme(name, scheme))
  const supported = new Map(schemes)
  const isSupported = (requirement: SecurityRequirement) =>
    Object.keys(requirement).every((name) => supported.has(name) || !Object.hasOwn(securitySchemes, name))
  const encodeSecurity = (security: readonly SecurityRequirement[] = []) =>
    security.filter(isSupported).map(encodeRequirement)

  const wire: Draft = {
    name: card.name,
    description: card.description,
    ...encodeInterfaces(card.interfaces, { version: '0.3', protocolVersion: '0.3.0' }, extras.addresses),
    version: card.version,
    capabilities: encodeCapabilities(card.capabilities),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map((skill) => encodeSkill(skill, encodeSecurity(skill.security))),
  }
  if (card.provider) wire.provider = { organization: card.provider.organization, url: card.provider.url }
  if (card.documentationUrl) wire.documentationUrl = card.documentationUrl
  if (card.iconUrl) wire.iconUrl = card.iconUrl
  if (card.securitySchemes) wire.securitySchemes = encodeSchemes(Object.fromEntries(schemes), extras.unusable)
  const security = encodeSecurity(card.security)
  if (security.length > 0) wire.security = security
  if (card.capabilities.extendedCard) wire.supportsAuthenticatedExtendedCard = true
  if (card.signatures?.length) wire.signatures = card.signatures.map(encodeSignature)
  return wire
}

/** Removes what 0.3 does not have: device codes and PKCE. */
function supportedScheme(name: string, scheme: SecurityScheme): readonly [string, SecurityScheme][] {
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
