import type { Carry, JsonObject } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'

/** What 0.3 keeps in the model for itself. 0.2 has the same objects, so it shares them. */

const name = 'v0.3'

/** To be spread into what carries it: nothing, if there is nothing to keep. */
export function carrying(kept: JsonObject): { readonly carry?: Carry } {
  return Object.keys(kept).length === 0 ? {} : { carry: { [name]: kept } }
}

export function carried(carry: Carry | undefined): JsonObject {
  const kept = carry?.[name]
  return isObject(kept) ? kept : {}
}
