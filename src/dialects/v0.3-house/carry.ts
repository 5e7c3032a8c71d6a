import type { Carry } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { isObject } from '../is-object.ts'
import { carried } from '../v0.3/carry.ts'

/** What the house keeps in the model for itself, besides what 0.3 keeps. */

const name = 'v0.3-house'

export function carryingReference(carry: Carry | undefined): Carry {
  return { ...carry, [name]: { byReference: true } }
}

/** Whether the task that is answered was named only among those that the message refers to. */
export function isByReference({ carry }: SendRequest): boolean {
  const kept = carry?.[name]
  return isObject(kept) && kept.byReference === true
}

/** Whether it came in this dialect, or in 0.3, and is passed on. */
export function isAsSent({ carry }: SendRequest): boolean {
  return carried(carry).asSent === true
}
