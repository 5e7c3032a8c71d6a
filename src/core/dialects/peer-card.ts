import { isObject, type JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { clientDialects, loadLegacy } from './client-dialects.ts'
import type { DialectInfo } from './dialect.ts'
import type { DetectedVersions } from './legacy-versions.ts'

/** The card of another agent, and how its version was determined. */
export interface PeerCard extends Omit<DetectedVersions, 'versions'> {
  readonly card: AgentCard
}

/** Reads a card of any version. The code for versions before 1.0 is loaded if the card needs it. */
export async function readPeerCard(wire: unknown): Promise<PeerCard> {
  if (!isObject(wire)) throw notACard('it is no object')
  const { versions, ...detected } = await detectVersions(wire)
  return { card: await decodeCardAs(versions, wire), ...detected }
}

/** The members that distinguish the versions before 1.0 are known only to the code for these versions. */
async function detectVersions(wire: JsonObject): Promise<DetectedVersions> {
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
  const { detectLegacyVersions } = await loadLegacy()
  return detectLegacyVersions(wire)
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
