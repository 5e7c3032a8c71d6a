import { defined, type JsonObject } from '../base/json.ts'
import {
  anObject,
  anyOf,
  checkOptions,
  group,
  having,
  integer,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  text,
} from '../base/options.ts'
import type { AgentExtension, AgentProvider } from '../protocol/card.ts'
import { type SkillMap, typedSkills } from '../protocol/extensions/typed-skills.ts'
import type { Interceptor } from '../protocol/intercept.ts'
import { isMediaRange } from '../protocol/media-types.ts'
import type { Principal } from '../protocol/model.ts'
import type { Call, Service } from '../protocol/service.ts'
import {
  type AgentImplementation,
  defaultsOf,
  extensionsOf,
  type RuntimeFunction,
  toFunction,
} from './agent-function.ts'
import type { ResolveAgent } from './call-agent.ts'
import { runSkills, type SkillRunner } from './run-skill.ts'
import { isSkill, type Skill, type SkillProfile, type SkillTypes } from './skill.ts'

/** What happens to a turn whose process is gone. */
export type RecoveryPolicy = 'fail' | 'retry' | 'resume'

/**
 * A turn whose process is gone fails, is retried from its start, or is resumed where it was (see docs/guides/durable-turns.md).
 * `attempts` limits the attempts; for `resume`, it limits those in a row that store nothing new. Defaults to 3.
 */
export type Recovery = RecoveryPolicy | { readonly policy: RecoveryPolicy; readonly attempts?: number }

/** The agent's part of its card. The rest depends on how the agent is served. */
export interface AgentProfile<S extends readonly SkillProfile[] = readonly SkillProfile[]> {
  readonly name: string
  readonly description?: string
  /** The version of the agent itself. */
  readonly version?: string
  /** Skills that are created by `skill(…)` have an implementation of their own. */
  readonly skills?: S
  /**
   * Media types of parts that the agent accepts, such as `image/png`, `text/*` or any type as a range. Parts of other
   * types are rejected. Skills may have their own. Defaults to text and JSON.
   */
  readonly inputModes?: readonly string[]
  /** Media types that the agent produces. Skills may have their own. Defaults to text and JSON. */
  readonly outputModes?: readonly string[]
  readonly provider?: AgentProvider
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly extensions?: readonly AgentExtension[]
  /** What happens to a turn whose process is gone. Defaults to `fail`. */
  readonly recovery?: Recovery
}

/** Texts may be empty where a card may have an empty one. */
const anyText: OptionCheck = (value, name) => {
  if (typeof value !== 'string') text(value, name)
}

/** Members whose form `agent()` checks itself. */
const checkedBelow: OptionCheck = () => {}

export const profileChecks: OptionChecks<AgentProfile> = {
  name: text,
  description: anyText,
  version: anyText,
  skills: listOf(anObject),
  inputModes: checkedBelow,
  outputModes: checkedBelow,
  provider: anObject,
  documentationUrl: anyText,
  iconUrl: anyText,
  extensions: listOf(anObject),
  recovery: anyOf(
    "'fail', 'retry', 'resume' or { policy, attempts }",
    oneOf('fail', 'retry', 'resume'),
    group<Exclude<Recovery, string>>({ policy: oneOf('fail', 'retry', 'resume'), attempts: integer({ min: 1 }) }),
  ),
}

/** An agent, as `agent()` returns it: a profile and a function. */
export interface Agent<Skills extends SkillMap = SkillMap> {
  readonly profile: AgentProfile
  readonly run: RuntimeFunction
  /** Throws if no skill accepts the first message of a task. Called before the message is stored. */
  readonly check?: SkillRunner['check']
  /** Never set: it carries the types of the skills to typed clients. */
  readonly skillTypes?: Skills
  /** Resolves the agents that this one calls, unless `calls.reach` is set. */
  readonly reach?: ResolveAgent
  /** How the agent takes part in being served, for agents that forward calls to other agents. */
  readonly serving?: AgentServing
}

/** The part of an agent in being served: for agents that forward calls, such as those of a gateway. */
export interface AgentServing {
  /** Implements the operations instead of the runtime. `run` is never called then, and no task is stored. */
  service?(context: ServingContext): Service
  /** Run around every operation, within those of the server: callers are authenticated and admitted before. */
  interceptors?(context: ServingContext): readonly Interceptor[]
  /** Further metrics in the Prometheus text format, shown after those of the server. */
  metrics?(): string
  /** What the extended card says to a caller beyond the public one. */
  extendedCard?(call: Call, context: ServingContext): Promise<Partial<AgentProfile>>
}

/** What the server provides to agents that take part in being served. */
export interface ServingContext {
  /** Exchanges the token of a caller for one of another audience. Undefined without `auth.exchange`. */
  readonly exchange: ((principal: Principal, audience: string, signal: AbortSignal) => Promise<string>) | undefined
}

/** Throws a `TypeError` unless a user passed an agent to `caller`. */
export function requireAgent(value: unknown, caller: string): asserts value is Agent {
  having("an agent such as agent({ name: 'Echo' }, async (turn) => turn.text)", 'profile', 'run')(value, caller)
}

/** Defines an agent. Without `work`, its typed skills do the work. */
export function agent<const S extends readonly SkillProfile[] = readonly []>(
  authorProfile: AgentProfile<S>,
  work?: AgentImplementation,
): Agent<SkillTypes<S>> {
  const { extensions: _, ...defaults } = defaultsOf(work)
  const profile: AgentProfile = { ...defaults, ...authorProfile }
  requireText('name', profile?.name)
  checkOptions<AgentProfile>(`agent(${profile.name})`, profile, profileChecks)
  for (const skill of profile.skills ?? []) {
    requireText('skills[].id', skill.id)
    requireText('skills[].name', skill.name)
  }
  for (const { uri } of profile.extensions ?? []) requireText('extensions[].uri', uri)
  requireModes('', profile)
  for (const skill of profile.skills ?? []) requireModes(`skills[${skill.id}].`, skill)
  const { name } = profile
  const extensions = extensionsIn(profile, work)
  const skills: readonly SkillProfile[] = profile.skills ?? []
  const typed = skills.filter(isSkill)
  if (typed.length === 0) {
    return { profile: extensions ? { ...profile, extensions } : profile, run: toFunction(work, name) }
  }
  requireDistinct(skills, name)
  const untyped = skills.find((skill) => !isSkill(skill))
  if (untyped && work === undefined) {
    throw new TypeError(
      `agent(${name}): the skill ${untyped.id} does nothing: make it by skill(…), or give work for it`,
    )
  }
  return {
    profile: {
      ...profile,
      skills: skills.map(profileOf),
      extensions: [...(extensions ?? []), extensionOf(typed)],
    },
    ...runSkills(skills, work === undefined ? undefined : toFunction(work, name)),
  }
}

function requireText(member: string, value: unknown): void {
  if (typeof value === 'string' && value.trim() !== '') return
  throw new TypeError(`agent(): expected ${member} to be a text that is not empty, got ${JSON.stringify(value)}`)
}

function requireModes(owner: string, modes: Pick<AgentProfile, 'inputModes' | 'outputModes'>): void {
  for (const name of ['inputModes', 'outputModes'] as const) {
    const list: unknown = modes[name]
    if (list === undefined) continue
    const isValid = (mode: unknown) => typeof mode === 'string' && isMediaRange(mode)
    if (Array.isArray(list) && list.length > 0 && list.every(isValid)) continue
    throw new TypeError(
      `agent(): expected ${owner}${name} to be media types such as text/plain or image/*, got ${JSON.stringify(list)}`,
    )
  }
}

/** The extensions of the profile, and those of the implementation. */
function extensionsIn(
  { extensions }: AgentProfile,
  work: AgentImplementation | undefined,
): readonly AgentExtension[] | undefined {
  const declared = new Set(extensions?.map(({ uri }) => uri))
  const added = extensionsOf(work).filter(({ uri }) => !declared.has(uri))
  return added.length > 0 ? [...(extensions ?? []), ...added] : extensions
}

function requireDistinct(skills: readonly SkillProfile[], name: string): void {
  const ids = skills.map(({ id }) => id)
  const duplicate = ids.find((id, index) => ids.indexOf(id) !== index)
  if (duplicate !== undefined) throw new TypeError(`agent(${name}): two skills have the id ${duplicate}`)
}

function profileOf(skill: SkillProfile): SkillProfile {
  if (!isSkill(skill)) return skill
  const { schemas: _, run: __, types: ___, ...profile } = skill
  return profile
}

/** Declares the JSON Schemas of the skills in the card. */
function extensionOf(skills: readonly Skill[]): AgentExtension {
  const entries = skills.map(({ id, schemas: { input, output } }): [string, JsonObject] => [
    id,
    defined({ input: input?.jsonSchema, output: output?.jsonSchema }),
  ])
  const description = 'The JSON Schemas of what skills take and give. Name a skill in metadata.skillId of the message.'
  return { uri: typedSkills, description, required: false, params: { skills: Object.fromEntries(entries) } }
}
