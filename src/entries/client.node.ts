import type { Connect } from '../client/connect.ts'
import { guardedConnect } from '../node/guarded-fetch/connect.ts'
import { connect as connectAnywhere } from './client.ts'

export * from './client.ts'

export const connect: Connect = guardedConnect(connectAnywhere)
