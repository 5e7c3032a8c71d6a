import type { Load } from '../http/load.ts'
import type { WireOptions } from '../transports/options.ts'
import { overloaded } from '../transports/overloaded.ts'

type PrincipalOf = WireOptions['principalOf']

/** Refuses calls while there is too much to do, before anybody asks who is calling: that, too, is work. */
export function unlessOverloaded(principalOf: PrincipalOf, { isOver }: Pick<Load, 'isOver'>): PrincipalOf {
  // Not async: most principals are known at once.
  return (incoming) => {
    if (isOver()) throw overloaded()
    return principalOf(incoming)
  }
}
