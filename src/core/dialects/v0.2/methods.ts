import { isObject } from '../../base/json.ts'
import { type CallFeatures, type Dialect, operationsByMethod } from '../dialect.ts'
import * as v0_3 from '../v0.3/methods.ts'

const { listTasks: _, ...sharedMethods } = v0_3.methods

export const methods: Dialect['methods'] = {
  ...sharedMethods,
  // A method only in the text of 0.2.6; before, a GET next to the URL of the agent.
  getExtendedCard: 'agent/authenticatedExtendedCard',
}

/** Where a GET returns the extended card, beside the URL of the agent. */
export const extendedCardPath = '/agent/authenticatedExtendedCard'

export const operations = /* @__PURE__ */ operationsByMethod(methods, {})

/** In the examples of 0.2.0 and 0.2.1, parts have a `type` instead of a `kind`, as in 0.1. */
export function recognises({ params }: CallFeatures): boolean {
  const message = isObject(params) ? (params.message ?? params) : undefined
  const parts = isObject(message) ? message.parts : undefined
  return (
    Array.isArray(parts) && parts.some((part) => isObject(part) && part.kind === undefined && part.type !== undefined)
  )
}
