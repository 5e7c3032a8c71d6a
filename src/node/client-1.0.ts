import type { Connect } from '../client/create-connect.ts'
import { connect as connectAnywhere } from '../client/v1.0/index.ts'
import { guardedConnect } from './guard/guarded-connect.ts'

// This is `parley-a2a/client/1.0` for Node, with one function replaced.
export * from '../client/v1.0/index.ts'

export const connect: Connect = guardedConnect(connectAnywhere)
