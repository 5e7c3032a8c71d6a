import { isList, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { ServerDialect } from './dialect.ts'
import { v0_1 } from './v0.1/server.ts'
import { v0_2 } from './v0.2/server.ts'
import { v0_3 } from './v0.3/server.ts'
import { v0_3Proto } from './v0.3-proto/server.ts'
import { v1_0 } from './v1.0/server.ts'
import { isLegacyVersion, type ProtocolVersion } from './versions.ts'

/**
 * The format of a served card. `hybrid` is a 1.0 card that 0.2 and 0.3 clients can read as well. `legacy` is the same for
 * the old well-known path, with the members that 0.1 clients expect. The others are cards of one version.
 */
export type CardFormat = 'hybrid' | 'legacy' | ProtocolVersion

/** Without 1.0, `hybrid` is the card of the latest version that the agent speaks. */
export function encodeCardAs(format: CardFormat, card: AgentCard): JsonObject {
  switch (format) {
    case '1.1':
    case '1.0':
      return v1_0.encodeCard(withTenants(card))
    case '0.3':
    case '0.2':
    case '0.1':
      return legacyDialects[format].encodeCard(card)
    case 'hybrid': {
      const older = (['0.3', '0.2'] as const).find((version) => hasVersion(card, version))
      if (card.interfaces.every(({ protocolVersion }) => isLegacyVersion(protocolVersion)))
        return legacyDialects[older ?? '0.1'].encodeCard(card)
      const v1_0Card = v1_0.encodeCard(card)
      return older ? withSchemeTypes(mergeObjects(v1_0Card, legacyDialects[older].encodeCard(card))) : v1_0Card
    }
    case 'legacy': {
      const hybrid = encodeCardAs('hybrid', card)
      return hasVersion(card, '0.1') ? mergeObjects(hybrid, v0_1.encodeCard(card)) : hybrid
    }
  }
}

/** Whether cards of a format can have signatures, which came with 0.3. */
export function canBeSigned(format: CardFormat): boolean {
  return format !== '0.2' && format !== '0.1'
}

/** The same card with the tenant of every interface: strict 1.0 readers require it, even if it is empty. */
export function withTenants(card: AgentCard): AgentCard {
  return { ...card, interfaces: card.interfaces.map((each) => ({ ...each, tenant: each.tenant ?? '' })) }
}

/** Returns the card in every encoding in which an operation can return it, by the versions that it names. */
export function extendedCardEncodings(card: AgentCard): readonly JsonObject[] {
  const v1_0Card = v1_0.encodeCard(card)
  const hasLegacy = hasVersion(card, '0.3') || hasVersion(card, '0.2')
  return hasLegacy ? [v1_0Card, v0_3.encodeCard(card), v0_3Proto.encodeCard(card)] : [v1_0Card]
}

const legacyDialects: Readonly<Record<Exclude<ProtocolVersion, '1.0' | '1.1'>, ServerDialect>> = {
  '0.3': v0_3,
  '0.2': v0_2,
  '0.1': v0_1,
}

function hasVersion({ interfaces }: AgentCard, version: string): boolean {
  return interfaces.some(({ protocolVersion }) => protocolVersion === version)
}

/** Older readers require a type of every scheme, also of OAuth flows that only 1.0 has. */
function withSchemeTypes(card: JsonObject): JsonObject {
  const { securitySchemes } = card
  if (!isObject(securitySchemes)) return card
  const typed = Object.entries(securitySchemes).map(([name, scheme]): [string, Json] => {
    const isNew = isObject(scheme) && scheme.type === undefined && scheme.oauth2SecurityScheme !== undefined
    return [name, isNew ? { type: 'oauth2', flows: {}, ...scheme } : scheme]
  })
  return { ...card, securitySchemes: Object.fromEntries(typed) }
}

/** The members of both. No member has different meanings in the two dialects, so shared members are equal. */
function mergeObjects(first: JsonObject, second: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...second, ...first }
  for (const [key, value] of Object.entries(second)) {
    const member = first[key]
    if (member !== undefined) merged[key] = mergeValues(member, value)
  }
  return merged
}

function mergeValues(first: Json, second: Json): Json {
  if (isList(first) && isList(second) && first.length === second.length) {
    return first.map((item, index) => mergeValues(item, second[index] ?? null))
  }
  return isObject(first) && isObject(second) ? mergeObjects(first, second) : first
}
