import { type Agent, type AgentProfile, agent as defineAgent, type SkillProfile } from './agent/agent.ts'
import type { AgentImplementation } from './agent/agent-function.ts'
import type { LocalTarget, ResolveAgent } from './agent/call-agent.ts'
import type { SkillTypes } from './agent/skill.ts'
import type { Authorize } from './client/credentials/authorize.ts'
import type { Target } from './client/options.ts'
import type { SkillMap } from './protocol/extensions/typed-skills.ts'
import type { Credentials } from './protocol/principal.ts'
import { createHandler, type Handler } from './server/handler.ts'

/**
 * An agent that can be talked to in this process, as by `connect(agent)`: it speaks `fetch`, and refuses what came from
 * elsewhere, because nobody has said who may call. Its tasks are in memory;
 * `serve` and `createHandler` give it another log, and everything else that can be chosen.
 */
export interface LocalAgent<Skills extends SkillMap = SkillMap> extends Agent<Skills> {
  readonly fetch: Handler['fetch']
}

export function agent<const S extends readonly SkillProfile[] = readonly []>(
  profile: AgentProfile<S>,
  work?: AgentImplementation,
): LocalAgent<SkillTypes<S>> {
  const defined = { ...defineAgent(profile, work), reach }
  let handler: Handler | undefined
  return {
    ...defined,
    async fetch(request) {
      // As the client marks what it asks in its own process. Who is elsewhere can send headers, and no members.
      if (!('local' in request)) return refusal()
      // Whoever talks to it meets the same tasks, and who never does pays for none.
      handler ??= createHandler(defined, { auth: { anonymous: { listAll: true } } })
      return await handler.fetch(request)
    },
  }
}

/** Finds agents as `connect` does, by what `parley-a2a/client` can. Loaded by those who ask others. */
export const reach: ResolveAgent = async (target, { auth, fetch, onSecret }) => {
  const { connect } = await import('./node/guarded-fetch/connect.ts')
  const { byCard } = await import('./client/credentials/by-card.ts')
  const base = auth && byCard(auth, fetch ?? ((url, init) => globalThis.fetch(url, init)))
  const authorize: Authorize | undefined = base && (async (asked) => told(await base(asked), onSecret))
  return await connect(target as Target | LocalTarget, { ...(fetch && { fetch }), ...(authorize && { authorize }) })
}

/** Headers and cookies have more in them than the secret, and nobody repeats them as a whole. */
function told(given: Credentials | undefined, onSecret: (secret: string) => void): Credentials | undefined {
  for (const value of Object.values(given?.query ?? {})) onSecret(value)
  for (const [name, value] of Object.entries(given?.headers ?? {})) {
    onSecret(value)
    if (name.toLowerCase() === 'authorization') onSecret(value.replace(/^\S+\s+/, ''))
    if (name.toLowerCase() === 'cookie') for (const each of value.split(';')) onSecret(each.replace(/^[^=]*=/, ''))
  }
  return given
}

function refusal(): Response {
  const message =
    'This agent answers only who connects to it in its own process. Its author can serve it to others: ' +
    'serve(agent, { auth }), or createHandler(agent, { auth }) where it is mounted.'
  return Response.json({ error: { code: 403, status: 'PERMISSION_DENIED', message } }, { status: 403 })
}
