import type { ClientDialect } from '../dialect.ts'
import { v0_1Light } from './light.ts'
import { v0_1Whole } from './whole.ts'

export const v0_1Client: ClientDialect = { ...v0_1Light, ...v0_1Whole }
