import type { JsonObject } from '../base/json.ts'
import type { AgentExtension, AgentProvider } from '../protocol/card.ts'
import { type SkillMap, typedSkills } from '../protocol/extensions/typed-skills.ts'
import { type AgentImplementation, extensionsOf, type RuntimeFunction, toFunction } from './agent-function.ts'
import type { ResolveAgent } from './call-agent.ts'
import { runSkills, type SkillRunner } from './run-skill.ts'
import { isSkill, type Skill, type SkillProfile, type SkillTypes } from './skill.ts'

export type RecoveryPolicy = 'fail' | 'retry' | 'resume'

/**
 * A turn whose process is gone is failed, retried from its start, or resumed where it was (see docs/durable-turns.md).
 * At most so many attempts are made, 3 unless said; for `resume`, so many in a row that bring nothing new.
 */
export type Recovery = RecoveryPolicy | { readonly policy: RecoveryPolicy; readonly attempts?: number }

/** What an author says of an agent. The rest of its card is derived from how it is served. */
export interface AgentProfile<S extends readonly SkillProfile[] = readonly SkillProfile[]> {
  readonly name: string
  readonly description?: string
  /** The version of the agent itself. */
  readonly version?: string
  /** Those of `skill(…)` do their work themselves. */
  readonly skills?: S
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly provider?: AgentProvider
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly extensions?: readonly AgentExtension[]
  /** What becomes of its turns when their process is gone; `fail` unless said. */
  readonly recovery?: Recovery
}

export interface Agent<Skills extends SkillMap = SkillMap> {
  readonly profile: AgentProfile
  readonly run: RuntimeFunction
  /** Throws for a message that none of its skills can take, before anything is stored. */
  readonly check?: SkillRunner['check']
  /** Never there: what a client learns from the type of the agent. */
  readonly skillTypes?: Skills
  /** How it finds other agents, unless its options say otherwise. */
  readonly reach?: ResolveAgent
}

/** Without `work`, it can do what its skills can do. */
export function agent<const S extends readonly SkillProfile[] = readonly []>(
  profile: AgentProfile<S>,
  work?: AgentImplementation,
): Agent<SkillTypes<S>> {
  requireText('name', profile.name)
  for (const skill of profile.skills ?? []) {
    requireText('skills[].id', skill.id)
    requireText('skills[].name', skill.name)
  }
  for (const { uri } of profile.extensions ?? []) requireText('extensions[].uri', uri)
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

function requireText(what: string, value: unknown): void {
  if (typeof value === 'string' && value.trim() !== '') return
  throw new TypeError(`agent(): expected ${what} to be a text that is not empty, got ${JSON.stringify(value)}`)
}

/** Those that the author names, and those that come with the work. */
function extensionsIn(
  { extensions }: AgentProfile,
  work: AgentImplementation | undefined,
): readonly AgentExtension[] | undefined {
  const own = extensionsOf(work).filter(({ uri }) => !extensions?.some((each) => each.uri === uri))
  return own.length > 0 ? [...(extensions ?? []), ...own] : extensions
}

function requireDistinct(skills: readonly SkillProfile[], name: string): void {
  const ids = skills.map(({ id }) => id)
  const twice = ids.find((id, at) => ids.indexOf(id) !== at)
  if (twice !== undefined) throw new TypeError(`agent(${name}): two skills have the id ${twice}`)
}

function profileOf(skill: SkillProfile): SkillProfile {
  if (!isSkill(skill)) return skill
  const { schemas: _, run: __, types: ___, ...profile } = skill
  return profile
}

/** What the card says of what its skills take and give. */
function extensionOf(skills: readonly Skill[]): AgentExtension {
  const said = skills.map(({ id, schemas: { input, output } }): [string, JsonObject] => [
    id,
    {
      ...(input?.jsonSchema && { input: input.jsonSchema }),
      ...(output?.jsonSchema && { output: output.jsonSchema }),
    },
  ])
  const description = 'The JSON Schemas of what skills take and give. Name a skill in metadata.skillId of the message.'
  return { uri: typedSkills, description, required: false, params: { skills: Object.fromEntries(said) } }
}

export type { AgentFunction } from './agent-function.ts'

export type { SkillProfile } from './skill.ts'
