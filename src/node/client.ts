import type { Connect } from '../client/create-connect.ts'
import { connect as connectAnywhere } from '../client/index.ts'
import { guardedConnect } from './guard/guarded-connect.ts'

// This is `parley-a2a/client` for Node, with one function replaced.
export * from '../client/index.ts'

export const connect: Connect = guardedConnect(connectAnywhere)
