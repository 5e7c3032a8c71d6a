import type { JsonObject } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'
import { type CleanCard, cleanSecurity } from '../lenient-card.ts'

/** Cards are read as far as they can be understood: one that leaves out what it must not may still be of use. */
export function cleanCard(given: unknown): CleanCard {
  return cleanSecurity(isObject(given) ? withInterfaces(given) : given, 'securityRequirements')
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
