import type { RestSide } from '../dialect.ts'
import * as v0_3 from '../v0.3/rest.ts'
import { hasHouseMessage } from './recognise.ts'

export const rest: RestSide = { ...v0_3.rest, recognises: ({ body }) => hasHouseMessage(body) }
