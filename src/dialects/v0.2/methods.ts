import { type Dialect, operationsByMethod } from '../dialect.ts'
import * as v0_3 from '../v0.3/methods.ts'

const { listTasks: _, ...shared } = v0_3.methods

export const methods: Dialect['methods'] = {
  ...shared,
  // Only the text of 0.2.6 has it as a method; before, it is a GET beside the address of the agent.
  getExtendedCard: 'agent/authenticatedExtendedCard',
}

export const operations = /* @__PURE__ */ operationsByMethod(methods, {})
