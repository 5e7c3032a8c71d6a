import type { Shape } from './shape.ts'

/** Puts right what somebody sends although the shape does not allow it, as far as that can be done. */
export type Clean = (wire: unknown) => unknown

type Read = <T>(shape: Shape<T>, wire: unknown) => T
export type LenientRead = <T>(shape: Shape<T>, wire: unknown, clean: Clean) => T

/** Cleans only what cannot be read as it is: who sends it properly pays nothing for the others. */
export function leniently(read: Read): LenientRead {
  return (shape, wire, clean) => {
    try {
      return read(shape, wire)
    } catch {
      return read(shape, clean(wire))
    }
  }
}
