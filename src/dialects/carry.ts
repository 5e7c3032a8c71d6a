import type { Carry, JsonObject } from '../protocol/model.ts'
import type { DialectName } from './dialect.ts'
import { isObject } from './is-object.ts'

/** To be spread into what carries it: nothing, if there is nothing to keep. */
export type Carrying = (kept: JsonObject) => { readonly carry?: Carry }
export type Carried = (carry: Carry | undefined) => JsonObject

/** How a dialect keeps in the model what only it has a word for. */
export function carryOf(name: DialectName): { readonly carrying: Carrying; readonly carried: Carried } {
  return {
    carrying: (kept) => (Object.keys(kept).length === 0 ? {} : { carry: { [name]: kept } }),
    carried(carry) {
      const kept = carry?.[name]
      return isObject(kept) ? kept : {}
    },
  }
}
