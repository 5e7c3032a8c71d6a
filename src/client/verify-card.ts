import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import { A2AError } from '../protocol/errors.ts'

/**
 * Throws if a card is not to be believed; such a card is neither used nor kept. May give what of it is to be believed,
 * which then is used instead. Asked for every card, also for the one that only known callers get.
 */
export type VerifyCard = (wire: JsonObject) => Verdict | Promise<Verdict>

/** The card as far as it is to be believed. What is no object, others refuse. */
export async function verified<T>(
  wire: T,
  url: string | undefined,
  verify: VerifyCard | undefined,
): Promise<T | JsonObject> {
  if (!isObject(wire)) return wire
  try {
    return (await verify?.(wire)) ?? wire
  } catch (error) {
    const where = url === undefined ? '' : ` at ${url}`
    const problem = `The card${where} is not to be believed: ${error instanceof Error ? error.message : error}.`
    throw new A2AError('invalid-agent-response', problem, { cause: error, reason: 'card-verification-failed', url })
  }
}

// biome-ignore lint/suspicious/noConfusingVoidType: who only throws has nothing to return.
type Verdict = JsonObject | undefined | void
