import type { ServerDialect } from './dialect.ts'
import { v1_0 } from './v1.0/index.ts'

/** Every dialect that a server can speak, in the order in which equals are preferred. */
export const allDialects: readonly [ServerDialect, ...ServerDialect[]] = [v1_0]
