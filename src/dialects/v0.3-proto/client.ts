import type { ClientDialect } from '../dialect.ts'
import { v0_3ProtoLight } from './light.ts'
import { strictReading } from './whole.ts'

export const v0_3ProtoClient: ClientDialect = { ...v0_3ProtoLight, ...strictReading }
