import type { DialectName, ServerDialect } from './dialect.ts'
import { v1_0 } from './v1.0/index.ts'

export interface DialectChoice {
  /** The dialects to speak. All of them by default. */
  readonly dialects?: readonly DialectName[]
  /** Refuse the sloppy forms that are common in the wild. */
  readonly strict?: boolean
}

type Speakers = readonly [ServerDialect, ...ServerDialect[]]

/** In the order in which equals are preferred. */
export const allDialects: Speakers = [v1_0]

export function speakers(_choice: DialectChoice): Speakers {
  return allDialects
}

/** The same for the door of the house variant, which is preferred there. */
export function houseSpeakers(_choice: DialectChoice): Speakers {
  return allDialects
}
