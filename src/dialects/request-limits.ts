import { int32 } from './proto-shape.ts'

/** What a caller may ask for at the most, in every dialect. Body size and JSON depth are limited before, in `http/`. */

export const maxParts = 1000

export const pageSize = int32({ min: 1, max: 100 })
export const historyLength = int32({ min: 0 })
