import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { JsonObject, Message } from '../protocol/model.ts'
import { namedSkill } from '../protocol/skills.ts'
import { describeIssues } from './check-answer.ts'
import type { Content } from './content.ts'
import { toJson } from './json-value.ts'
import { perform } from './perform.ts'
import { isSkill, type Skill, type SkillProfile } from './skill.ts'
import { readInput } from './skill-input.ts'
import type { Turn } from './turn.ts'
import type { Direct, DirectRun, Performance } from './work.ts'

/** What begins a task. */
export interface Opening {
  readonly message: Message
  readonly metadata?: JsonObject
}

export interface SkillfulRun {
  readonly run: DirectRun
  /** Throws `invalid-params` for what no skill can take. */
  readonly check: (opening: Opening) => Promise<void>
}

/**
 * Lets the skill run that a message names, or the only one there is; everything else is for `work`, if there is any. A
 * task stays with the skill that it began with.
 */
export function performSkills(profiles: readonly SkillProfile[], work: DirectRun | undefined): SkillfulRun {
  const skills = new Map(profiles.filter(isSkill).map((skill) => [skill.id, skill]))
  const names = profiles.map(({ id }) => id).join(', ')
  const [first] = skills.values()
  const alone = work === undefined && skills.size === 1 ? first : undefined

  function skillFor(named: string | undefined): Skill | undefined {
    if (named === undefined) {
      if (alone || work) return alone
      throw invalidParams('message.metadata.skillId', `expected one of the skills ${names}, got none`)
    }
    if (!profiles.some(({ id }) => id === named)) {
      const came = JSON.stringify(named).slice(0, 100)
      throw invalidParams('message.metadata.skillId', `expected one of the skills ${names}, got ${came}`)
    }
    return skills.get(named)
  }

  return {
    async check(opening) {
      const skill = skillFor(namedSkill(opening))
      if (skill) await readInput(skill, opening.message)
    },
    run(turn, direct): Performance {
      const [opening] = turn.history
      const skill = skillFor((opening && namedSkill({ message: opening })) ?? namedSkill(turn))
      if (skill) return performSkill(skill, turn, direct)
      return work?.(turn, direct)
    },
  }
}

async function performSkill(skill: Skill, turn: Turn, direct: Direct): Promise<Content | undefined> {
  const { message, task } = turn
  let input: unknown
  try {
    input = await readInput(skill, message)
  } catch (error) {
    // The opening was checked before it was stored. What is said later in a task can be said again.
    if (!task || !(error instanceof A2AError)) throw error
    return void (await turn.requireInput(`${error.message}. Please send it again.`))
  }
  // Of a skill with a schema, anything may come.
  const given: unknown = await perform(() => skill.run(input, turn) as Performance, turn, direct)
  return await checkOutput(skill, given, turn)
}

/** What does not fit is the fault of the agent: its author learns of it from the log. */
export async function checkOutput(
  skill: Skill,
  given: unknown,
  { log }: Pick<Turn, 'log'>,
): Promise<Content | undefined> {
  const { id, schemas } = skill
  if (given === undefined || given === null) return undefined
  if (!schemas.output) return given as Content
  const result = await schemas.output.schema['~standard'].validate(given)
  if (result.issues) {
    log.error({ skill: id, problem: describeIssues(result.issues) }, 'a skill gave what does not fit its schema')
    throw new A2AError('internal', `The skill "${id}" has failed: what it gave does not fit its own schema.`)
  }
  return { data: toJson(result.value, `What the skill "${id}" gives`) ?? null, mediaType: 'application/json' }
}
