import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { DialectInfo } from './dialect.ts'

/** A card that was found somewhere, read by the dialect it is written in. */
export interface PeerCard {
  readonly card: AgentCard
  /** What told the dialect, to be shown. */
  readonly evidence: string
  /** Set if the card cannot tell which of two versions is spoken: the other one is as likely. */
  readonly alternativeVersion?: string
}

export type ReadCard = (wire: JsonObject, dialects: readonly DialectInfo[]) => Promise<PeerCard>

/** Reads a card of any version; `readLegacy` reads those before 1.0. */
export async function readPeerCard(
  wire: unknown,
  dialects: readonly DialectInfo[],
  readLegacy: ReadCard,
): Promise<PeerCard> {
  if (!isObject(wire)) throw notACard('it is no object')
  if (wire.agent_id !== undefined && wire.supported_protocols !== undefined) {
    throw new A2AError('unsupported-operation', 'This is the card of an agent of the mesh, which A2A does not reach.')
  }
  const { supportedInterfaces, protocolVersion } = wire
  if (Array.isArray(supportedInterfaces) && supportedInterfaces.length > 0) {
    const evidence = 'supportedInterfaces names the versions'
    return { card: await decodeCardAs(['1.0'], wire, dialects), evidence }
  }
  if (typeof wire.url !== 'string') throw notACard('it names no url and no supportedInterfaces')
  if (typeof protocolVersion === 'string' && /^[1-9]/.test(protocolVersion)) {
    const evidence = `protocolVersion is ${protocolVersion}, but there are no supportedInterfaces`
    return { card: await decodeCardAs(['1.0'], wire, dialects), evidence }
  }
  return await readLegacy(wire, dialects)
}

/** Reads a card by the schemas of these versions; one that breaks them is read leniently, as far as it can be used. */
export async function decodeCardAs(
  versions: readonly string[],
  wire: JsonObject,
  dialects: readonly DialectInfo[],
): Promise<AgentCard> {
  const candidates = versions.flatMap((version) => dialects.filter((dialect) => dialect.version === version))
  const decoders = await Promise.all(candidates.map(({ load }) => load()))
  const strict = decoders.map(({ decodeCard }) => decodeCard)
  const lenient = decoders.map(({ decodeCard, decodeLenientCard }) => decodeLenientCard ?? decodeCard)
  const filled = { description: '', version: '', capabilities: {}, skills: [], ...wire }
  let failure: unknown
  for (const [decoders, value] of [
    [strict, wire],
    [lenient, wire],
    [lenient, filled],
  ] as const) {
    for (const decode of decoders) {
      try {
        return decode(value)
      } catch (error) {
        failure = error
      }
    }
  }
  throw notACard(failure instanceof A2AError ? failure.message : 'none of our dialects reads it', failure)
}

function notACard(problem: string, cause?: unknown): A2AError {
  return new A2AError('invalid-agent-response', `This is no agent card: ${problem}.`, { cause, reason: 'not-a-card' })
}
