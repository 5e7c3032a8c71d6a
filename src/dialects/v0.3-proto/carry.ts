import type { Carry, JsonObject } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'

/** What this dialect keeps in the model for itself. */

const name = 'v0.3-proto'

/** To be spread into what carries it: nothing, if there is nothing to keep. */
export function carrying(kept: JsonObject): { readonly carry?: Carry } {
  return Object.keys(kept).length === 0 ? {} : { carry: { [name]: kept } }
}

export function carried({ carry }: { readonly carry?: Carry }): JsonObject {
  const kept = carry?.[name]
  return isObject(kept) ? kept : {}
}
