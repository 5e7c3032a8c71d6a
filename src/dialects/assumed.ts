import type { Shape } from './shape.ts'

/** A required member that writers of ProtoJSON leave out when it is empty: read as that value then. */
export function assumed<T>(shape: Shape<T>, value: T): Shape<T> {
  return { ...shape, read: (given) => (given === undefined || given === null ? value : shape.read(given)) }
}
