import { BoundedMap } from '../../base/bounded-map.ts'
import { type Incoming, reserveResponse } from '../../http/exchange.ts'
import { type LargeResponse, retryAfterOverload } from '../../http/load.ts'
import { A2AError } from '../../protocol/errors.ts'
import { isAnonymous, ownerOf, type Principal } from '../../protocol/model.ts'
import type { Service } from '../../protocol/service.ts'

/** Shorter answers fit into the buffers of a connection and are not counted. In characters or bytes. */
export const minLargeLength = 64 * 1024

/** Large answers of one service whose size is remembered. Their texts stay in memory only while a caller reads them. */
const maxRemembered = 1_000

/** Where an answer goes: the request, and the caller for which it counts. */
export interface AnswerTarget {
  readonly incoming: Pick<Incoming, 'reserve' | 'address'>
  readonly principal: Principal
}

/**
 * Counts an answer until it is sent, or until the returned function is called. Throws if too many answers wait for
 * callers that do not read them.
 */
export function reserveAnswer(response: LargeResponse, { incoming, principal }: AnswerTarget): () => void {
  if (response.bytes < minLargeLength) return nothing
  // Callers without credentials count by their address.
  const caller = isAnonymous(principal) ? `address ${incoming.address?.() ?? ''}` : ownerOf(principal)
  const release = reserveResponse(incoming, response, caller)
  if (release) return release
  throw new A2AError(
    'unavailable',
    `This answer of ${response.bytes} bytes has no room beside the answers that wait to be read: read those, or close their connections, and try again in a moment.`,
    { retryAfter: retryAfterOverload, metadata: { reason: 'overload' } },
  )
}

/** Answers to the same request, from several callers. */
export interface Answers {
  /** Throws if the last answer was large and there is no room for it now, so that it is not read and encoded in vain. */
  requireRoom(target: AnswerTarget): void
  /** Encodes an answer and counts it. A large one with a generation is encoded once while it is being read. */
  encode(encode: () => string, generation: number | undefined, target: AnswerTarget): string
}

/** The answers of a service to requests with this key. It is built only if there were large answers before. */
export function answersOf(service: Service, key: () => string): Answers {
  const lastAnswer = (): LargeAnswer | undefined => largeAnswers.get(service)?.get(key())
  return {
    requireRoom(target) {
      const last = lastAnswer()
      if (last) reserveAnswer(sharedIn(last) ?? last, target)()
    },
    encode(encode, generation, target) {
      const last = lastAnswer()
      const shared = last && last.generation === generation ? sharedIn(last) : undefined
      if (shared) {
        reserveAnswer(shared, target)
        return shared.text
      }
      // Another caller may have taken the room while this answer was read.
      if (last) reserveAnswer(last, target)()
      const text = encode()
      if (text.length < minLargeLength) return text
      const answer: SharedText = { text, bytes: text.length }
      const answers = largeAnswers.get(service) ?? new BoundedMap<string, LargeAnswer>(maxRemembered)
      largeAnswers.set(service, answers)
      answers.set(key(), { bytes: answer.bytes, generation, text: new WeakRef(answer) })
      reserveAnswer(answer, target)
      return text
    },
  }
}

interface SharedText extends LargeResponse {
  readonly text: string
}

interface LargeAnswer extends LargeResponse {
  /** Undefined if the next answer may differ. */
  readonly generation: number | undefined
  readonly text: WeakRef<SharedText>
}

/** The text that the next answer can share, if a caller still reads it. */
function sharedIn({ generation, text }: LargeAnswer): SharedText | undefined {
  return generation === undefined ? undefined : text.deref()
}

const largeAnswers = new WeakMap<Service, BoundedMap<string, LargeAnswer>>()

const nothing = (): void => {}
