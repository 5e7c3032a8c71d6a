import type { AgentCapabilities, AgentCard, AgentExtension, AgentSkill, CardSignature } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { SecurityRequirement, SecurityScheme } from '../../protocol/security.ts'
import { encodeRequirement, encodeScheme, mapValues } from '../proto-security.ts'
import type { TypeOf } from '../shape.ts'
import { interfacesOf, withoutRepeats } from '../v0.3/interfaces.ts'
import { carried } from './carry.ts'
import type { Addresses } from './decode-card.ts'
import type { Draft } from './encode-objects.ts'

/** What the schema of 0.3 requires is there even if it is empty: the proto requires nothing, but readers do. */
export function encodeCard(card: AgentCard): JsonObject {
  const { securitySchemes = {} } = card
  const schemes = Object.entries(securitySchemes).flatMap(([name, scheme]) => toldScheme(name, scheme))
  const told = new Map(schemes)
  const canBeMet = (requirement: SecurityRequirement) =>
    Object.keys(requirement).every((name) => told.has(name) || !Object.hasOwn(securitySchemes, name))
  const encodeSecurity = (security: readonly SecurityRequirement[] = []) =>
    security.filter(canBeMet).map(encodeRequirement)

  const wire: Draft = {
    name: card.name,
    description: card.description,
    ...encodeAddresses(card),
    version: card.version,
    capabilities: encodeCapabilities(card.capabilities),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map((skill) => encodeSkill(skill, encodeSecurity(skill.security))),
  }
  if (card.provider) wire.provider = { organization: card.provider.organization, url: card.provider.url }
  if (card.documentationUrl) wire.documentationUrl = card.documentationUrl
  if (card.iconUrl) wire.iconUrl = card.iconUrl
  if (card.securitySchemes) wire.securitySchemes = mapValues(Object.fromEntries(schemes), encodeScheme)
  const security = encodeSecurity(card.security)
  if (security.length > 0) wire.security = security
  if (card.capabilities.extendedCard) wire.supportsAuthenticatedExtendedCard = true
  if (card.signatures?.length) wire.signatures = card.signatures.map(encodeSignature)
  return wire
}

/** A card that was read, and whose interfaces nobody has changed, tells them as it did. */
function encodeAddresses(card: AgentCard): JsonObject {
  const { interfaces } = card
  const read = carried(card).addresses as (TypeOf<typeof Addresses> & JsonObject) | undefined
  if (read !== undefined && JSON.stringify(interfacesOf(read, '0.3')) === JSON.stringify(interfaces)) return read
  const spoken = withoutRepeats(interfaces.filter(({ protocolVersion }) => /^0\.[23]$/.test(protocolVersion)))
  const [main] = spoken
  if (main === undefined) throw new A2AError('version-not-supported', 'This agent has no interface of A2A 0.3.')
  return {
    url: main.url,
    preferredTransport: main.binding,
    additionalInterfaces: spoken.map(({ url, binding }) => ({ url, transport: binding })),
    protocolVersion: '0.3.0',
  }
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

function encodeExtension({ uri, description, required, params }: AgentExtension): JsonObject {
  const wire: Draft = { uri }
  if (description) wire.description = description
  if (required) wire.required = true
  if (params) wire.params = params
  return wire
}

function encodeSkill(skill: AgentSkill, security: readonly JsonObject[]): JsonObject {
  const { id, name, description, tags, examples, inputModes, outputModes } = skill
  const wire: Draft = { id, name, description, tags }
  if (examples?.length) wire.examples = examples
  if (inputModes?.length) wire.inputModes = inputModes
  if (outputModes?.length) wire.outputModes = outputModes
  if (security.length > 0) wire.security = security
  return wire
}

function encodeSignature({ protected: protectedHeader, signature, header }: CardSignature): JsonObject {
  const wire: Draft = { protected: protectedHeader, signature }
  if (header) wire.header = header
  return wire
}
