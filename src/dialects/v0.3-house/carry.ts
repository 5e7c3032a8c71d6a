import type { Carry, JsonObject, Part } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { carryOf } from '../carry.ts'
import { carried } from '../v0.3/carry.ts'

/** What the house keeps in the model for itself, besides what 0.3 keeps. */

const own = carryOf('v0.3-house')

export function carryingReference(carry: Carry | undefined): Carry {
  return { ...carry, ...own.carrying({ byReference: true }).carry }
}

/** Whether the task that is answered was named only among those that the message refers to. */
export function isByReference({ carry }: SendRequest): boolean {
  return own.carried(carry).byReference === true
}

/** Whether it came in this dialect, or in 0.3, and is passed on. */
export function isAsSent({ carry }: SendRequest): boolean {
  return carried(carry).asSent === true
}

/** A data part that is to stay one, although the house has a part for such data. */
export function asLiteral(part: Part): Part {
  return { ...part, ...own.carrying({ literal: true }) }
}

export function isLiteral({ carry }: Part): boolean {
  return own.carried(carry).literal === true
}

/** What a message of the house said, where its form elsewhere does not tell. */
export function carryingWords(words: object): { readonly carry?: Carry } {
  return own.carrying({ words: words as JsonObject })
}

export function carriedWords(carry: Carry | undefined): unknown {
  return own.carried(carry).words
}
