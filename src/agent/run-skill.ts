import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type JsonObject, toJson } from '../base/json.ts'
import { A2AError, type FieldViolation, invalidParams } from '../protocol/errors.ts'
import { requestedSkill } from '../protocol/extensions/typed-skills.ts'
import { type Message, textOf } from '../protocol/model.ts'
import { type AgentReturn, type RuntimeAccess, type RuntimeFunction, runAgentFunction } from './agent-function.ts'
import { describeIssues } from './ask.ts'
import { isSkill, type Skill, type SkillProfile } from './skill.ts'
import type { Turn } from './turn.ts'
import type { Content } from './turn-output.ts'

/** What begins a task. */
export interface FirstMessage {
  readonly message: Message
  readonly metadata?: JsonObject
}

export interface SkillRunner {
  readonly run: RuntimeFunction
  /** Throws `invalid-params` for what no skill can take. */
  readonly check: (opening: FirstMessage) => Promise<void>
}

/**
 * Lets the skill run that a message names, or the only one there is; everything else is for `work`, if there is any. A
 * task stays with the skill that it began with.
 */
export function runSkills(profiles: readonly SkillProfile[], work: RuntimeFunction | undefined): SkillRunner {
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
      const skill = skillFor(requestedSkill(opening))
      if (skill) await readInput(skill, opening.message)
    },
    run(turn, direct): AgentReturn {
      const [opening] = turn.history
      const skill = skillFor((opening && requestedSkill({ message: opening })) ?? requestedSkill(turn))
      if (skill) return performSkill(skill, turn, direct)
      return work?.(turn, direct)
    },
  }
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

/**
 * What a skill makes of a message: of its data; or, if it has none, of its text, as it is or as the JSON that it may be.
 * Throws `invalid-params` that names every field which does not fit.
 */
async function readInput({ id, schemas }: Skill, message: Message): Promise<unknown> {
  if (!schemas.input) return textOf(message)
  const { schema } = schemas.input
  let violations: readonly FieldViolation[] = []
  for (const { value, place } of candidatesIn(message)) {
    const result = await schema['~standard'].validate(value)
    if (!result.issues) return result.value
    violations = result.issues.map((issue) => ({ field: place + pathOf(issue), description: issue.message }))
  }
  const problems = violations.map(({ field, description }) => `${field}: ${description}`).join('; ')
  throw new A2AError('invalid-params', `The skill "${id}" cannot take this: ${problems}`, { violations })
}

/** The last of them is the one whose problems are told. */
function candidatesIn(message: Message): readonly Candidate[] {
  const { parts } = message
  const at = parts.findIndex((part) => 'data' in part)
  const part = parts[at]
  if (part && 'data' in part) return [{ value: part.data, place: `message.parts[${at}].data` }]
  const place = `message.parts[${Math.max(
    0,
    parts.findIndex((each) => 'text' in each),
  )}]`
  const text = textOf(message)
  const parsed = parse(text)
  const asText = { value: text, place }
  return parsed === undefined ? [asText] : [asText, { value: parsed, place }]
}

interface Candidate {
  readonly value: unknown
  readonly place: string
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function pathOf({ path = [] }: StandardSchemaV1.Issue): string {
  return path
    .map((segment) => (typeof segment === 'object' ? segment.key : segment))
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
}

async function performSkill(skill: Skill, turn: Turn, direct: RuntimeAccess): Promise<Content | undefined> {
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
  const given: unknown = await runAgentFunction(() => skill.run(input, turn) as AgentReturn, turn, direct)
  return await checkOutput(skill, given, turn)
}
