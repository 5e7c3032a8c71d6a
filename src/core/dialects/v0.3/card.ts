import type { Json, JsonObject } from '../../base/json.ts'
import type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentSkill,
  CardSignature,
  SecurityRequirement,
} from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Infer } from '../../schema/schema.ts'
import { type Draft, readResult } from '../codec.ts'
import { readCarry, toCarry } from './parts.ts'
import * as wire from './schemas.ts'
import { decodeRequirements, decodeSchemes, type EncodedSecurity, encodeSecurity } from './security.ts'

const v0_3Card: CardVersion = { version: '0.3', protocolVersion: '0.3.0' }

export function decodeCard(value: unknown): AgentCard {
  return decodeVersionedCard(value, v0_3Card.version)
}

export function encodeCard(card: AgentCard): JsonObject {
  return encodeVersionedCard(card, v0_3Card)
}

/** Decodes a 0.2 or 0.3 card. `defaultVersion` is the version of a card that does not name one. */
export function decodeVersionedCard(value: unknown, defaultVersion: string): AgentCard {
  const card = readResult(wire.AgentCard, value)
  const addresses = readResult(wire.Addresses, value)
  const { unusable = {}, ...security } = decodeSecurity(card)
  const extras: Draft = { addresses: addresses as JsonObject }
  if (Object.keys(unusable).length > 0) extras.unusable = unusable
  return { ...decodeLegacyCard(card, decodeInterfaces(addresses, defaultVersion), security), ...toCarry(extras) }
}

export interface InterfaceVersion {
  readonly version: string
  readonly protocolVersion: string
}

/** How 0.2 and 0.3 cards differ. */
export interface CardVersion extends InterfaceVersion {
  /** Leaves out what came with 0.3: signatures, the security of skills, mutual TLS and the metadata of OAuth servers. */
  readonly isBefore0_3?: boolean
}

/** Encodes a 0.2 or 0.3 card. */
export function encodeVersionedCard(card: AgentCard, cardVersion: CardVersion): JsonObject {
  const { isBefore0_3 = false } = cardVersion
  const security = encodeSecurity(card, cardVersion)
  const wire: Draft = {
    name: card.name,
    description: card.description,
    ...encodeInterfaces(card.interfaces, cardVersion, readCarry(card.carry).addresses),
    version: card.version,
    capabilities: encodeCapabilities(card.capabilities),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map((skill) => encodeSkill(skill, isBefore0_3 ? undefined : security)),
  }
  const { provider, documentationUrl, iconUrl, signatures, capabilities } = card
  if (provider !== undefined) wire.provider = { organization: provider.organization, url: provider.url }
  if (documentationUrl !== undefined) wire.documentationUrl = documentationUrl
  if (iconUrl !== undefined) wire.iconUrl = iconUrl
  if (card.securitySchemes !== undefined) wire.securitySchemes = security.schemes
  if (card.security !== undefined) wire.security = security.encodeRequirements(card.security)
  const { extendedCard } = capabilities
  if (extendedCard !== undefined) wire.supportsAuthenticatedExtendedCard = extendedCard
  if (signatures !== undefined && !isBefore0_3) wire.signatures = signatures.map(encodeSignature)
  return wire
}

/** A 0.2 or 0.3 card, in JSON or ProtoJSON, without its interfaces and security. */
export interface LegacyCard extends Pick<AgentCard, SharedMember> {
  readonly capabilities: Omit<AgentCard['capabilities'], 'extendedCard'>
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
  return {
    name: card.name,
    description: card.description,
    version: card.version,
    interfaces,
    capabilities: { ...card.capabilities, extendedCard: card.supportsAuthenticatedExtendedCard },
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

/** The interfaces of a card, the preferred one first. */
export function decodeInterfaces(addresses: Addresses, defaultVersion: string): readonly AgentInterface[] {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces = [], protocolVersion = defaultVersion } = addresses
  const version = majorMinorOf(protocolVersion) ?? defaultVersion
  const all = [{ url, transport: preferredTransport }, ...additionalInterfaces].map(
    ({ url, transport }): AgentInterface => ({
      url,
      binding: bindingSynonyms.get(transport) ?? transport,
      protocolVersion: version,
    }),
  )
  return withoutDuplicates(all)
}

/** The address members of a card. If `received` ones mean the same interfaces, they are returned unchanged. */
export function encodeInterfaces(
  interfaces: readonly AgentInterface[],
  { version, protocolVersion }: InterfaceVersion,
  received: Json | undefined,
): JsonObject {
  const isUnchanged = received !== undefined && isSame(decodeInterfaces(received as Addresses, version), interfaces)
  if (isUnchanged) return received as JsonObject
  const supported = withoutDuplicates(interfaces.filter((candidate) => /^0\.[23]$/.test(candidate.protocolVersion)))
  const [main] = supported
  if (main === undefined) throw new A2AError('version-not-supported', `This agent has no interface of A2A ${version}.`)
  return {
    url: main.url,
    preferredTransport: main.binding,
    additionalInterfaces: supported.map(({ url, binding }) => ({ url, transport: binding })),
    protocolVersion,
  }
}

function decodeSecurity(card: WireCard): DecodedSecurity {
  const isOpen = [card, ...card.skills].every(({ security }) => security === undefined)
  if (isOpen && card.securitySchemes === undefined) return { skills: card.skills }
  const { schemes, unusable, flowSchemes } = decodeSchemes(card.securitySchemes ?? {}, schemeNamesIn(card))
  const decodeSecurityOf = ({ security }: { readonly security?: readonly SecurityRequirement[] }) =>
    security && decodeRequirements(security, flowSchemes)
  return {
    skills: card.skills.map((skill) => ({ ...skill, security: decodeSecurityOf(skill) })),
    securitySchemes: card.securitySchemes && schemes,
    security: decodeSecurityOf(card),
    unusable,
  }
}

type WireCard = Infer<typeof wire.AgentCard>

interface DecodedSecurity extends CardSecurity {
  /** Schemes of an unknown type, as received. */
  readonly unusable?: JsonObject
}

/** All scheme names in the card, including those of missing schemes. */
function schemeNamesIn({ securitySchemes = {}, security = [], skills }: WireCard): ReadonlySet<string> {
  const requirements = [...security, ...skills.flatMap((skill) => skill.security ?? [])]
  return new Set([securitySchemes, ...requirements].flatMap((holder) => Object.keys(holder)))
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

function encodeCapabilities(capabilities: AgentCapabilities): JsonObject {
  const { streaming, pushNotifications, stateTransitionHistory, extensions } = capabilities
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

function encodeSkill(skill: AgentSkill, encoded: EncodedSecurity | undefined): JsonObject {
  const { id, name, description, tags, examples, inputModes, outputModes, security } = skill
  const wire: Draft = { id, name, description, tags }
  if (examples !== undefined) wire.examples = examples
  if (inputModes !== undefined) wire.inputModes = inputModes
  if (outputModes !== undefined) wire.outputModes = outputModes
  if (security !== undefined && encoded) wire.security = encoded.encodeRequirements(security)
  return wire
}

function encodeSignature({ protected: protectedHeader, signature, header }: CardSignature): JsonObject {
  const wire: Draft = { protected: protectedHeader, signature }
  if (header !== undefined) wire.header = header
  return wire
}

function isSame(some: readonly AgentInterface[], others: readonly AgentInterface[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others)
}

type Addresses = Infer<typeof wire.Addresses>

/** Many cards list the main interface among the others as well. */
function withoutDuplicates(interfaces: readonly AgentInterface[]): readonly AgentInterface[] {
  const keyOf = ({ url, binding }: AgentInterface) => JSON.stringify([url, binding])
  const first = new Map(interfaces.toReversed().map((candidate) => [keyOf(candidate), candidate]))
  return interfaces.filter((candidate) => first.get(keyOf(candidate)) === candidate)
}

/** The sample card of every version since 0.2.5 has 0.2.9, which was never released. */
function majorMinorOf(text: string): string | undefined {
  return text === '0.2.9' ? '0.3' : /^\d{1,4}\.\d{1,4}/.exec(text)?.[0]
}

const bindingSynonyms: ReadonlyMap<string, string> = new Map([
  ['REST', 'HTTP+JSON'],
  ['HTTP_JSON', 'HTTP+JSON'],
])
