/** What a client needs for agents that speak no 1.0, as one chunk that is loaded when there is one. */
export { readOlderCard } from './older-card.ts'
export { v0_1Light } from './v0.1/light.ts'
export { v0_2Light } from './v0.2/light.ts'
export { v0_3Light } from './v0.3/light.ts'
export { v0_3ProtoLight } from './v0.3-proto/light.ts'
