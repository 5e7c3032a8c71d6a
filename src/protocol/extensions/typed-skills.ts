import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { AgentCard } from '../card.ts'
import type { SendRequest } from '../service.ts'

/** The skill that a message is for, if it says so: in its own metadata, or in that of the request. */
export function requestedSkill({ message, metadata }: Pick<SendRequest, 'message' | 'metadata'>): string | undefined {
  const said = [message.metadata, metadata].flatMap((each) => [each?.skillId, each?.skill])
  return said.find((each: Json | undefined) => typeof each === 'string') as string | undefined
}

/** What a skill takes and gives, as far as it is said. */
export interface SkillSchemas {
  readonly input?: JsonObject
  readonly output?: JsonObject
}

/** By the ids of those skills of a card that say it. What others have written there may be anything. */
export function readSkillSchemas({ capabilities }: Pick<AgentCard, 'capabilities'>): ReadonlyMap<string, SkillSchemas> {
  const { params } = capabilities.extensions?.find(({ uri }) => uri === typedSkills) ?? {}
  const skills = isObject(params?.skills) ? Object.entries(params.skills) : []
  return new Map(skills.flatMap(([id, said]) => (isObject(said) ? [[id, schemasOf(said)] as const] : [])))
}

/**
 * The extension by which a card says what its skills take and give: `params.skills`, by the id of the skill, has the
 * JSON Schemas `input` and `output`. A skill is called by a message that names it in its metadata, as `skillId`, with a
 * data part that fits `input`; the data part of the answer fits `output`.
 */
export const typedSkills = 'https://parley.dev/ext/typed-skills/v1'

export interface SkillType {
  readonly input: unknown
  readonly output: unknown
}

/** The types of what skills take and give, by their ids. */
export type SkillMap = Readonly<Record<string, SkillType>>

function schemasOf({ input, output }: JsonObject): SkillSchemas {
  return { ...(isObject(input) && { input }), ...(isObject(output) && { output }) }
}
