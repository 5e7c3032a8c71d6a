import { carryOf } from '../carry.ts'

export const { carrying, carried } = carryOf('v1.0')
