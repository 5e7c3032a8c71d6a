import type { Json } from '../protocol/model.ts'

/** An object of the wire while it is built: always afresh, so that nothing of the model gets there by accident. */
export type Draft = Record<string, Json>
