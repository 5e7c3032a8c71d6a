/** All that agents of the versions before 1.0 write, as one chunk that is loaded when one does not write the usual. */
export { v0_1Whole } from './v0.1/whole.ts'
export { v0_2Whole } from './v0.2/whole.ts'
export { v0_3Whole } from './v0.3/whole.ts'
export { v0_3ProtoWhole } from './v0.3-proto/whole.ts'
