import type { Dialect } from '../dialect.ts'
import * as v0_3 from '../v0.3/methods.ts'

/** A server takes the methods of 0.3. */
export const { methods, operations } = v0_3

/** An agent of the house knows no other way to follow a task. */
export const clientMethods: Dialect['methods'] = { ...methods, subscribeToTask: methods.getTask }
