import { defined, isObject, type JsonObject } from '../../base/json.ts'
import type { AgentCard } from '../card.ts'
import { invalidParams } from '../errors.ts'
import type { SendRequest } from '../service.ts'

/**
 * The URI of the typed skills extension, by which a card declares the input and output of its skills: `params.skills`
 * has the JSON Schemas `input` and `output`, by skill id. A caller selects a skill by `skillId` in the metadata of a
 * message, with a data part that matches `input`. A data part of the answer matches `output`.
 */
export const typedSkills = 'https://parley.dev/ext/typed-skills/v1'

/** The JSON Schemas of a skill, as far as its card declares them. */
export interface SkillSchemas {
  readonly input?: JsonObject
  readonly output?: JsonObject
}

/** The input and output types of a skill. */
export interface SkillType {
  readonly input: unknown
  readonly output: unknown
}

/** The types of an agent's skills, by skill id. */
export type SkillMap = Readonly<Record<string, SkillType>>

/**
 * Returns the id of the skill that a request selects, by `skillId` or `skill` in the metadata of its message or its own.
 * Throws `invalid-params` unless all of them agree: one might decide what the caller may use, and another what runs.
 */
export function requestedSkill({ message, metadata }: Pick<SendRequest, 'message' | 'metadata'>): string | undefined {
  const inMessage = readNames('message.metadata', message.metadata, undefined)
  return readNames('metadata', metadata, inMessage)
}

const skillMembers = ['skillId', 'skill'] as const

function readNames(field: string, members: JsonObject | undefined, requested: string | undefined): string | undefined {
  let skill = requested
  for (const member of skillMembers) {
    const name = members?.[member]
    if (name === undefined || name === null) continue
    if (typeof name !== 'string') {
      throw invalidParams(`${field}.${member}`, `expected the id of a skill, got ${JSON.stringify(name).slice(0, 100)}`)
    }
    if (skill !== undefined && skill !== name) {
      const names = [skill, name].map((id) => JSON.stringify(id).slice(0, 100)).join(' and ')
      throw invalidParams(`${field}.${member}`, `expected one skill, got ${names}: name the same skill everywhere`)
    }
    skill = name
  }
  return skill
}

/** Reads the schemas of a card's skills, by skill id. Anything malformed is skipped. */
export function readSkillSchemas({ capabilities }: Pick<AgentCard, 'capabilities'>): ReadonlyMap<string, SkillSchemas> {
  const { params } = capabilities.extensions?.find(({ uri }) => uri === typedSkills) ?? {}
  const skills = isObject(params?.skills) ? Object.entries(params.skills) : []
  return new Map(skills.flatMap(([id, schemas]) => (isObject(schemas) ? [[id, readSchemas(schemas)] as const] : [])))
}

function readSchemas({ input, output }: JsonObject): SkillSchemas {
  return defined({ input: isObject(input) ? input : undefined, output: isObject(output) ? output : undefined })
}
