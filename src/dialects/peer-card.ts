import { isObject, type JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { clientDialects } from './client-dialects.ts'
import type { DialectInfo } from './dialect.ts'

/** The card of another agent, and how its version was determined. */
export interface PeerCard extends Omit<DetectedVersions, 'versions'> {
  readonly card: AgentCard
}

/** Reads a card of any version. The code for versions before 1.0 is loaded if the card needs it. */
export async function readPeerCard(wire: unknown): Promise<PeerCard> {
  if (!isObject(wire)) throw notACard('it is no object')
  const { versions, ...detected } = detectVersions(wire)
  return { card: await decodeCardAs(versions, wire), ...detected }
}

interface DetectedVersions {
  /** The versions by which the card is read, the likeliest first. */
  readonly versions: readonly string[]
  /** What determined the versions, as text for the operator. */
  readonly evidence: string
  /** Set if the card is ambiguous: another version, which is as likely. */
  readonly alternativeVersion?: string
}

function detectVersions(wire: JsonObject): DetectedVersions {
  if (wire.agent_id !== undefined && wire.supported_protocols !== undefined) {
    throw new A2AError('unsupported-operation', 'This is the card of a mesh agent, which cannot be called over A2A.')
  }
  const { supportedInterfaces, protocolVersion } = wire
  if (Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0) {
    const evidence = 'supportedInterfaces names the versions'
    return { versions: ['1.0'], evidence }
  }
  if (typeof wire.url !== 'string') throw notACard('it names no url and no supportedInterfaces')
  if (typeof protocolVersion === 'string' && /^[1-9]/.test(protocolVersion)) {
    const evidence = `protocolVersion is ${protocolVersion}, but there are no supportedInterfaces`
    return { versions: ['1.0'], evidence }
  }
  return detectLegacyVersions(wire)
}

/** The versions that a card from before 1.0 may have, and the members that show it. */
function detectLegacyVersions(wire: JsonObject): DetectedVersions {
  const { protocolVersion } = wire
  if (typeof protocolVersion === 'string') {
    return { versions: ['0.3', '0.2'], evidence: `protocolVersion is ${protocolVersion}` }
  }
  const member = newMembersOf0_2.find((name) => wire[name] !== undefined)
  if (member || (isObject(wire.capabilities) && wire.capabilities.extensions !== undefined)) {
    return { versions: ['0.2', '0.3'], evidence: `there is ${member ?? 'capabilities.extensions'}` }
  }
  if (isObject(wire.authentication)) return { versions: ['0.1'], evidence: 'there is authentication' }
  const missing = missingMemberOf0_2(wire)
  if (missing) return { versions: ['0.1'], evidence: `there is no ${missing}`, alternativeVersion: '0.2' }
  return { versions: ['0.2', '0.3'], evidence: 'no member distinguishes 0.2 from 0.1', alternativeVersion: '0.1' }
}

/** Members that 0.2 introduced. */
const newMembersOf0_2 = [
  'securitySchemes',
  'security',
  'supportsAuthenticatedExtendedCard',
  'preferredTransport',
  'additionalInterfaces',
  'iconUrl',
]

/** A missing member that 0.2 requires and 0.1 does not. */
function missingMemberOf0_2({ description, defaultInputModes, skills }: JsonObject): string | undefined {
  if (description === undefined) return 'description'
  if (defaultInputModes === undefined) return 'defaultInputModes'
  const isIncomplete = (skill: unknown) =>
    isObject(skill) && (skill.description === undefined || skill.tags === undefined)
  return Array.isArray(skills) && skills.some(isIncomplete) ? 'description of a skill' : undefined
}

/** Reads a card by the schemas of these versions. A card that breaks them is read leniently, as far as possible. */
async function decodeCardAs(versions: readonly string[], wire: JsonObject): Promise<AgentCard> {
  // ProtoJSON does not distinguish a capability that is false from one that is not declared.
  const isProto = ({ name }: DialectInfo) => name.endsWith('-proto')
  const known = [...clientDialects.filter((dialect) => !isProto(dialect)), ...clientDialects.filter(isProto)]
  const candidates = versions.flatMap((version) => known.filter((dialect) => dialect.version === version))
  const decoders = await Promise.all(candidates.map(({ load }) => load()))
  const strict = decoders.map(({ decodeCard }) => decodeCard)
  const lenient = decoders.map(({ decodeCard, decodeLenientCard }) => decodeLenientCard ?? decodeCard)
  const withDefaults = { description: '', version: '', capabilities: {}, skills: [], ...wire }
  let failure: unknown
  for (const [decoders, value] of [
    [strict, wire],
    [lenient, wire],
    [lenient, withDefaults],
  ] as const) {
    for (const decode of decoders) {
      try {
        return decode(value)
      } catch (error) {
        failure = error
      }
    }
  }
  throw notACard(failure instanceof A2AError ? failure.message : 'no dialect can read it', failure)
}

function notACard(problem: string, cause?: unknown): A2AError {
  return new A2AError('invalid-agent-response', `This is no agent card: ${problem}.`, { cause, reason: 'not-a-card' })
}
