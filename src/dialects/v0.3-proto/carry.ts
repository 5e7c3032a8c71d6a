import { carryOf } from '../carry.ts'

export const { carrying, carried } = carryOf('v0.3-proto')
