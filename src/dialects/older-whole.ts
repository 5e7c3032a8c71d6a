export { v0_1Whole } from './v0.1/client.ts'

export { v0_2Whole } from './v0.2/client.ts'

export { v0_3Whole } from './v0.3/client.ts'

export { v0_3ProtoWhole } from './v0.3-proto/client.ts'
