import { isObject } from '../../base/json.ts'
import { type CallFeatures, type Dialect, operationsByMethod } from '../dialect.ts'
import * as v0_3 from '../v0.3/methods.ts'

const { listTasks: _, ...shared } = v0_3.methods

export const methods: Dialect['methods'] = {
  ...shared,
  // Only the text of 0.2.6 has it as a method; before, it is a GET beside the address of the agent.
  getExtendedCard: 'agent/authenticatedExtendedCard',
}

export const operations = /* @__PURE__ */ operationsByMethod(methods, {})

/** The examples of 0.2.0 and 0.2.1 have parts that say by `type` what they are, as those of 0.1. */
export function recognises({ params }: CallFeatures): boolean {
  const message = isObject(params) ? (params.message ?? params) : undefined
  const parts = isObject(message) ? message.parts : undefined
  return (
    Array.isArray(parts) && parts.some((part) => isObject(part) && part.kind === undefined && part.type !== undefined)
  )
}
