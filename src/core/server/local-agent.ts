import { type Agent, type AgentProfile, agent as defineAgent } from '../agent/agent.ts'
import type { AgentImplementation } from '../agent/agent-function.ts'
import type { LocalTarget, ReachOptions, ResolveAgent } from '../agent/call-agent.ts'
import type { SkillProfile, SkillTypes } from '../agent/skill.ts'
import { defined } from '../base/json.ts'
import type { Connect } from '../client/connect.ts'
import type { Authorize } from '../client/credentials/authorize.ts'
import type { Target } from '../client/options.ts'
import { isLocalRequest } from '../http/local-request.ts'
import type { Credentials } from '../protocol/credentials.ts'
import type { SkillMap } from '../protocol/extensions/typed-skills.ts'
import { createHandler, type Handler } from './handler.ts'

/**
 * An agent that can be called in its own process with `connect(agent)`. Its `fetch` keeps tasks in memory and rejects
 * requests from elsewhere, because no one declared who may call. `serve` and `createHandler` serve it to others.
 */
export interface LocalAgent<Skills extends SkillMap = SkillMap> extends Agent<Skills> {
  readonly fetch: Handler['fetch']
}

/**
 * Defines an agent: a profile, and the function that does its work. Without a function, its typed skills do the work.
 *
 * @example
 * const echo = agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`)
 * await serve(echo, { port: 4000 })
 */
export function agent<const S extends readonly SkillProfile[] = readonly []>(
  profile: AgentProfile<S>,
  work?: AgentImplementation,
): LocalAgent<SkillTypes<S>> {
  return localAgent(profile, work, reachAgents())
}

/** Makes `agent()` for one platform: `resolveAgent` connects to the agents that it calls by address. */
export function localAgent<const S extends readonly SkillProfile[]>(
  profile: AgentProfile<S>,
  work: AgentImplementation | undefined,
  resolveAgent?: ResolveAgent,
): LocalAgent<SkillTypes<S>> {
  const defined = { ...defineAgent(profile, work), reach: resolveAgent }
  let handler: Handler | undefined
  return {
    ...defined,
    async fetch(request) {
      if (!isLocalRequest(request)) return notServed()
      // Created on first use, so that all clients share its tasks and an agent that is only served pays nothing.
      handler ??= createHandler(defined, { auth: { anonymous: { listAll: true } } })
      return await handler.fetch(request)
    },
  }
}

/**
 * Connects to the agents that an agent calls by address, for `calls.reach`. Only Cloudflare Workers need it: there, an agent that
 * calls no other comes without the client.
 *
 * @example
 * const worker = createWorker(echo, { auth: 'none', calls: { reach: reachAgents() } })
 */
export function reachAgents(): ResolveAgent {
  return resolveAgentBy(async () => (await import('../client/connect.ts')).connect)
}

/** Resolves called agents with a `connect` that is loaded on the first call to another agent. */
export function resolveAgentBy(loadConnect: (options: ReachOptions) => Promise<Connect>): ResolveAgent {
  return async (target, options) => {
    const { auth, fetch, onSecret } = options
    const connect = await loadConnect(options)
    const { byCard } = await import('../client/credentials/by-card.ts')
    const base = auth && byCard(auth, fetch ?? ((url, init) => globalThis.fetch(url, init)))
    const authorize: Authorize | undefined = base && (async (need) => reportSecrets(await base(need), onSecret))
    return await connect(target as Target | LocalTarget, defined({ fetch, authorize }))
  }
}

/** Reports the secret parts of headers and cookies alone too: an agent may repeat them without the rest. */
function reportSecrets(
  credentials: Credentials | undefined,
  onSecret: (secret: string) => void,
): Credentials | undefined {
  for (const value of Object.values(credentials?.query ?? {})) onSecret(value)
  for (const [name, value] of Object.entries(credentials?.headers ?? {})) {
    onSecret(value)
    if (name.toLowerCase() === 'authorization') onSecret(value.replace(/^\S+\s+/, ''))
    if (name.toLowerCase() === 'cookie') for (const cookie of value.split(';')) onSecret(cookie.replace(/^[^=]*=/, ''))
  }
  return credentials
}

function notServed(): Response {
  const message =
    'This agent answers only clients in its own process. To serve it to others, use ' +
    'serve(agent, { auth }), or createHandler(agent, { auth }) where it is mounted.'
  return Response.json({ error: { code: 403, status: 'PERMISSION_DENIED', message } }, { status: 403 })
}
