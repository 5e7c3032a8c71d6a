import type { ClientDialect } from '../dialect.ts'
import { v0_3Light } from './light.ts'
import { v0_3Whole } from './whole.ts'

export const v0_3Client: ClientDialect = { ...v0_3Light, ...v0_3Whole }
