import type { ClientDialect } from '../dialect.ts'
import { v0_2Light } from './light.ts'
import { v0_2Whole } from './whole.ts'

export const v0_2Client: ClientDialect = { ...v0_2Light, ...v0_2Whole }
