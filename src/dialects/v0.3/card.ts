import type { Json, JsonObject } from '../../base/json.ts'
import type {
  AgentCard as AgentCardCardDecoder,
  AgentCard as AgentCardEncodeCard,
  AgentExtension,
  AgentInterface,
  AgentSkill,
  CardSignature,
  SecurityRequirement,
  SecurityScheme,
} from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Infer } from '../../schema/schema.ts'
import type { Draft } from '../codec.ts'
import { type CardSecurity, decodeLegacyCard } from '../legacy-card.ts'
import { readResult } from '../read.ts'
import { readCarry, toCarry } from './parts.ts'
import { Addresses, AgentCard } from './schemas.ts'
import { decodeRequirements, decodeSchemes, type EncodedSecurity, encodeSecurity } from './security.ts'

const otherBindings: ReadonlyMap<string, string> = new Map([
  ['REST', 'HTTP+JSON'],
  ['HTTP_JSON', 'HTTP+JSON'],
])

export const decodeCard = cardDecoder('0.3')

export const encodeCard = cardEncoder({ version: '0.3', protocolVersion: '0.3.0', lacks: [] })

/** `version` is the version of a card that does not name one. */
export function cardDecoder(version: string): (wire: unknown) => AgentCardCardDecoder {
  return (given) => {
    const card = readResult(AgentCard, given)
    const addresses = readResult(Addresses, given)
    const { stateTransitionHistory } = card.capabilities
    const { unusable = {}, ...secured } = decodeSecurity(card)
    const kept: Record<string, Json> = { addresses: addresses as JsonObject }
    if (stateTransitionHistory !== undefined) kept.stateTransitionHistory = stateTransitionHistory
    if (Object.keys(unusable).length > 0) kept.unusable = unusable
    return { ...decodeLegacyCard(card, interfacesOf(addresses, version), secured), ...toCarry(kept) }
  }
}

export interface SpokenVersion {
  readonly version: string
  readonly protocolVersion: string
}

export interface CardVersion extends SpokenVersion {
  /** The types of security scheme that it does not have. */
  readonly lacks: readonly SecurityScheme['type'][]
}

export function cardEncoder(spoken: CardVersion): (card: AgentCardEncodeCard) => JsonObject {
  return (card) => {
    const security = encodeSecurity(card, spoken.lacks)
    const wire: Draft = {
      name: card.name,
      description: card.description,
      ...addressesOf(card.interfaces, spoken, readCarry(card.carry).addresses),
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

/** The members for these interfaces: those that were `read`, if they say the same. */
export function addressesOf(
  interfaces: readonly AgentInterface[],
  { version, protocolVersion }: SpokenVersion,
  read: Json | undefined,
): JsonObject {
  const isRead = read !== undefined && isSame(interfacesOf(read as Infer<typeof Addresses>, version), interfaces)
  if (isRead) return read as JsonObject
  const spoken = withoutRepeats(interfaces.filter((each) => /^0\.[23]$/.test(each.protocolVersion)))
  const [main] = spoken
  if (main === undefined) throw new A2AError('version-not-supported', `This agent has no interface of A2A ${version}.`)
  return {
    url: main.url,
    preferredTransport: main.binding,
    additionalInterfaces: spoken.map(({ url, binding }) => ({ url, transport: binding })),
    protocolVersion,
  }
}

/** The interfaces of a card, the preferred one first. `unsaid` is their version if the card names none. */
export function interfacesOf(addresses: Infer<typeof Addresses>, unsaid: string): readonly AgentInterface[] {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces = [], protocolVersion = unsaid } = addresses
  const version = versionOf(protocolVersion) ?? unsaid
  const all = [{ url, transport: preferredTransport }, ...additionalInterfaces].map(
    ({ url, transport }): AgentInterface => ({
      url,
      binding: otherBindings.get(transport) ?? transport,
      protocolVersion: version,
    }),
  )
  return withoutRepeats(all)
}

/** With the schemes that nobody here knows, as they came. */
export interface SecuredOrNot extends CardSecurity {
  readonly unusable?: JsonObject
}

/** The sample card of every version since 0.2.5 says 0.2.9, which never was. */
function versionOf(text: string): string | undefined {
  return text === '0.2.9' ? '0.3' : /^\d{1,4}\.\d{1,4}/.exec(text)?.[0]
}

/** The main one is often listed once more among the others. */
function withoutRepeats(interfaces: readonly AgentInterface[]): readonly AgentInterface[] {
  const first = new Map(interfaces.toReversed().map((each) => [JSON.stringify([each.url, each.binding]), each]))
  return interfaces.filter((each) => first.get(JSON.stringify([each.url, each.binding])) === each)
}

function isSame(some: readonly AgentInterface[], others: readonly AgentInterface[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others)
}

function decodeSecurity(card: Infer<typeof AgentCard>): SecuredOrNot {
  const { schemes, unusable, flowSchemes } = decodeSchemes(card.securitySchemes ?? {}, namesIn(card))
  const requirementsOf = ({ security }: { readonly security?: readonly SecurityRequirement[] }) =>
    security && decodeRequirements(security, flowSchemes)
  return {
    skills: card.skills.map((skill) => ({ ...skill, security: requirementsOf(skill) })),
    securitySchemes: card.securitySchemes && schemes,
    security: requirementsOf(card),
    unusable,
  }
}

/** Every name by which the card calls a scheme, whether it has it or not. */
function namesIn({ securitySchemes = {}, security = [], skills }: Infer<typeof AgentCard>): ReadonlySet<string> {
  const requirements = [...security, ...skills.flatMap((skill) => skill.security ?? [])]
  return new Set([securitySchemes, ...requirements].flatMap((named) => Object.keys(named)))
}

function encodeCapabilities({ capabilities, carry }: AgentCardEncodeCard): JsonObject {
  const { streaming, pushNotifications, extensions } = capabilities
  const { stateTransitionHistory } = readCarry(carry)
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
