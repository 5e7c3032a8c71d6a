import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { ClientDialect } from './dialect.ts'
import { isObject } from './is-object.ts'

/** A card that was found somewhere, read by the dialect it is written in. */
export interface PeerCard {
  readonly card: AgentCard
  /** What told the dialect, to be shown. */
  readonly evidence: string
  /** Set if the card cannot tell which of two versions is spoken: the other one is as likely. */
  readonly orElse?: string
}

/** Who can read which card, told by what the card has: the first that fits. */
export function readPeerCard(wire: unknown, dialects: readonly ClientDialect[]): PeerCard {
  if (!isObject(wire)) throw notACard('it is no object')
  if (wire.agent_id !== undefined && wire.supported_protocols !== undefined) {
    throw new A2AError('unsupported-operation', 'This is the card of an agent of the mesh, which A2A does not reach.')
  }
  const { supportedInterfaces, protocolVersion } = wire
  if (Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0) {
    const evidence = 'supportedInterfaces names the versions'
    return { card: decode(withVersions(wire), ['1.0'], dialects), evidence }
  }
  if (typeof wire.url !== 'string') throw notACard('it names no url and no supportedInterfaces')
  if (typeof protocolVersion === 'string' && /^[1-9]/.test(protocolVersion)) {
    const evidence = `protocolVersion is ${protocolVersion}, but there are no supportedInterfaces`
    return { card: decode(asInterfaces(wire), ['1.0'], dialects), evidence }
  }
  if (typeof protocolVersion === 'string') {
    return { card: decode(wire, ['0.3', '0.2'], dialects), evidence: `protocolVersion is ${protocolVersion}` }
  }
  const sign = signsOf0_2.find((member) => wire[member] !== undefined)
  if (sign || (isObject(wire.capabilities) && wire.capabilities.extensions !== undefined)) {
    return { card: decode(wire, ['0.2', '0.3'], dialects), evidence: `there is ${sign ?? 'capabilities.extensions'}` }
  }
  if (isObject(wire.authentication)) {
    return { card: decode(wire, ['0.1'], dialects), evidence: 'there is authentication' }
  }
  const left = leftOutOf(wire)
  if (left) return { card: decode(wire, ['0.1'], dialects), evidence: `there is no ${left}`, orElse: '0.2' }
  return { card: decode(wire, ['0.2', '0.3'], dialects), evidence: 'nothing tells 0.2 from 0.1', orElse: '0.1' }
}

/** Which 0.1 did not know, and did not forbid. */
const signsOf0_2 = [
  'securitySchemes',
  'security',
  'supportsAuthenticatedExtendedCard',
  'preferredTransport',
  'additionalInterfaces',
  'iconUrl',
]

/** What 0.2 requires and 0.1 did not. */
function leftOutOf({ description, defaultInputModes, skills }: JsonObject): string | undefined {
  if (description === undefined) return 'description'
  if (defaultInputModes === undefined) return 'defaultInputModes'
  const isLacking = (skill: unknown) => isObject(skill) && (skill.description === undefined || skill.tags === undefined)
  return Array.isArray(skills) && skills.some(isLacking) ? 'description of a skill' : undefined
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

/** Cards that leave out what they must not may still be of use. */
function decode(wire: JsonObject, versions: readonly string[], dialects: readonly ClientDialect[]): AgentCard {
  const readers = versions.flatMap((version) => dialects.filter((dialect) => dialect.version === version))
  const lenient = { description: '', version: '', capabilities: {}, skills: [], ...wire }
  let failure: unknown
  for (const given of [wire, lenient]) {
    for (const { decodeCard } of readers) {
      try {
        return decodeCard(given)
      } catch (error) {
        failure ??= error
      }
    }
  }
  throw notACard(failure instanceof A2AError ? failure.message : 'none of our dialects reads it', failure)
}

function notACard(problem: string, cause?: unknown): A2AError {
  return new A2AError('invalid-agent-response', `This is no agent card: ${problem}.`, { cause, reason: 'not-a-card' })
}
