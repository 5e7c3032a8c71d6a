import { type Agent, type AgentProfile, agent as defineAgent } from './agent/agent.ts'
import type { Work } from './agent/work.ts'
import { createHandler, type Handler } from './server/handler.ts'

/**
 * An agent that can be talked to in this process, as by `connect(agent)`: it speaks `fetch`. Its tasks are in memory;
 * `serve` and `createHandler` give it another log, and everything else that can be chosen.
 */
export interface LocalAgent extends Agent {
  readonly fetch: Handler['fetch']
}

export function agent(profile: AgentProfile, work: Work): LocalAgent {
  const defined = defineAgent(profile, work)
  let handler: Handler | undefined
  return {
    ...defined,
    fetch(request) {
      // Whoever talks to it meets the same tasks, and who never does pays for none.
      handler ??= createHandler(defined, { auth: { anonymous: { listAll: true } } })
      return handler.fetch(request)
    },
  }
}
