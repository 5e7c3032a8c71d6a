import { carryOf } from '../carry.ts'

/** 0.2 has the same objects, so it shares what is kept of them. */
export const { carrying, carried } = carryOf('v0.3')
