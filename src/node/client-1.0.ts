import type { Connect } from '../client/connect.ts'
import { connect as connectAnywhere } from '../client/v1.0/index.ts'
import { guardedConnect } from './guarded-fetch/connect.ts'

export const connect: Connect = guardedConnect(connectAnywhere)

export * from '../client/v1.0/index.ts'
