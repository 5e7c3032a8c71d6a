import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { ClientDialect, KnownDialect } from './dialect.ts'
import { lenientOf } from './or-leniently.ts'

/** Cards that leave out what they must not may still be of use. */
export async function decodeCardAs(
  versions: readonly string[],
  wire: JsonObject,
  dialects: readonly KnownDialect[],
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

export function notACard(problem: string, cause?: unknown): A2AError {
  return new A2AError('invalid-agent-response', `This is no agent card: ${problem}.`, { cause, reason: 'not-a-card' })
}
