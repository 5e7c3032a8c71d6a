import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ClientDialect, DialectInfo } from './dialect.ts'
import { lenientOf } from './read.ts'

/** A card that was found somewhere, read by the dialect it is written in. */
export interface PeerCard {
  readonly card: AgentCard
  /** What told the dialect, to be shown. */
  readonly evidence: string
  /** Set if the card cannot tell which of two versions is spoken: the other one is as likely. */
  readonly orElse?: string
}

export type ReadCard = (wire: JsonObject, dialects: readonly DialectInfo[]) => Promise<PeerCard>

/** Reads a card of 1.0; one of another version is for `readOlder`, if there is such a reader. */
export async function readPeerCard(
  wire: unknown,
  dialects: readonly DialectInfo[],
  readOlder?: ReadCard,
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
  if (readOlder) return await readOlder(wire, dialects)
  const problem = 'This is a card from before A2A 1.0, which this client does not speak.'
  throw new A2AError('unsupported-operation', problem, { reason: 'older-card' })
}

/** Cards that leave out what they must not may still be of use. */
export async function decodeCardAs(
  versions: readonly string[],
  wire: JsonObject,
  dialects: readonly DialectInfo[],
): Promise<AgentCard> {
  const known = versions.flatMap((version) => dialects.filter((dialect) => dialect.version === version))
  const readers = await Promise.all(known.map(({ load }) => load()))
  let failure: unknown
  const readBy = (some: readonly ClientDialect[], given: JsonObject): AgentCard | undefined => {
    for (const { decodeCard } of some) {
      try {
        return decodeCard(given)
      } catch (error) {
        failure = error
      }
    }
    return undefined
  }
  const card = readBy(readers, wire)
  if (card) return card
  const lenient = await Promise.all(readers.map(lenientOf))
  const filled = { description: '', version: '', capabilities: {}, skills: [], ...wire }
  const saved = readBy(lenient, wire) ?? readBy(lenient, filled)
  if (saved) return saved
  throw notACard(failure instanceof A2AError ? failure.message : 'none of our dialects reads it', failure)
}

function notACard(problem: string, cause?: unknown): A2AError {
  return new A2AError('invalid-agent-response', `This is no agent card: ${problem}.`, { cause, reason: 'not-a-card' })
}
