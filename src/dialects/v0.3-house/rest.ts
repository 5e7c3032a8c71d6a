import type { RestSide } from '../dialect.ts'
import * as v0_3 from '../v0.3/rest.ts'
import { hasHouseMessage } from './recognise.ts'

const recognises: RestSide['recognises'] = ({ body }) => hasHouseMessage(body)

export const rest: RestSide = { ...v0_3.rest, recognises }
export const wrappedRest: RestSide = { ...v0_3.wrappedRest, recognises }
