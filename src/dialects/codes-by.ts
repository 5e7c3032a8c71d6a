import type { ErrorCode } from '../protocol/errors.ts'

/** The error of each key. Where several have the same one, the first stands for all. */
export function codesBy<Kind, Key>(
  kinds: Readonly<Record<ErrorCode, Kind>>,
  keyOf: (kind: Kind) => Key,
): ReadonlyMap<Key, ErrorCode> {
  const codes = Object.keys(kinds) as ErrorCode[]
  return new Map(codes.map((code) => [keyOf(kinds[code]), code] as const).reverse())
}
