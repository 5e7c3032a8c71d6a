import type { DialectName, ServerDialect } from './dialect.ts'
import { v0_1, v0_1Strict } from './v0.1/index.ts'
import { v0_2, v0_2Strict } from './v0.2/index.ts'
import { v0_3, v0_3Strict } from './v0.3/index.ts'
import { v0_3Proto, v0_3ProtoStrict } from './v0.3-proto/index.ts'
import { v1_0 } from './v1.0/index.ts'

export interface DialectChoice {
  /** The dialects to speak. All of them by default. */
  readonly dialects?: readonly DialectName[]
  /** Refuse the sloppy forms that are common in the wild. */
  readonly strict?: boolean
}

type Speakers = readonly [ServerDialect, ...ServerDialect[]]

/** Every dialect that a server can speak, in the order in which equals are preferred. */
export const allDialects: Speakers = [v1_0, v0_3, v0_3Proto, v0_2, v0_1]
const strictDialects: Speakers = [v1_0, v0_3Strict, v0_3ProtoStrict, v0_2Strict, v0_1Strict]

export function speakers({ dialects, strict = false }: DialectChoice): Speakers {
  const all = strict ? strictDialects : allDialects
  const [first, ...rest] = all.filter(({ name }) => dialects?.includes(name) ?? true)
  if (!first) throw new TypeError(`dialects: expected some of ${all.map(({ name }) => name).join(', ')}`)
  return [first, ...rest]
}

/** The same for the door of the house variant, which is preferred there. */
export function houseSpeakers(choice: DialectChoice): Speakers {
  return speakers(choice)
}
