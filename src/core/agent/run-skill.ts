import type { JsonObject } from '../base/json.ts'
import { A2AError, type FieldViolation, invalidParams } from '../protocol/errors.ts'
import { requestedSkill } from '../protocol/extensions/typed-skills.ts'
import { type Message, textOf } from '../protocol/model.ts'
import { type AgentReturn, type RuntimeAccess, type RuntimeFunction, runAgentFunction } from './agent-function.ts'
import { type Content, dataPart } from './content.ts'
import { isSkill, type Skill, type SkillProfile } from './skill.ts'
import { describeIssues, issuePath, textCandidates } from './standard-schema.ts'
import type { Turn } from './turn.ts'

/** The message that creates a task. */
export interface FirstMessage {
  readonly message: Message
  readonly metadata?: JsonObject
}

export interface SkillRunner {
  readonly run: RuntimeFunction
  /** Throws `invalid-params` if no skill accepts the message. */
  readonly check: (first: FirstMessage) => Promise<void>
}

/**
 * Runs the skill that a message names, or the only skill; everything else goes to `fallback`. A task stays with the
 * skill that its first message chose.
 */
export function runSkills(profiles: readonly SkillProfile[], fallback: RuntimeFunction | undefined): SkillRunner {
  const skills = new Map(profiles.filter(isSkill).map((skill) => [skill.id, skill]))
  const ids = profiles.map(({ id }) => id).join(', ')
  const [first] = skills.values()
  const onlySkill = fallback === undefined && skills.size === 1 ? first : undefined

  function chooseSkill(name: string | undefined): Skill | undefined {
    if (name === undefined) {
      if (onlySkill || fallback) return onlySkill
      throw invalidParams('message.metadata.skillId', `expected one of the skills ${ids}, got none`)
    }
    if (!profiles.some(({ id }) => id === name)) {
      const quoted = JSON.stringify(name).slice(0, 100)
      throw invalidParams('message.metadata.skillId', `expected one of the skills ${ids}, got ${quoted}`)
    }
    return skills.get(name)
  }

  return {
    async check(message) {
      const skill = chooseSkill(requestedSkill(message))
      if (skill) await readInput(skill, message.message)
    },
    run(turn, runtime): AgentReturn {
      const [opening] = turn.history
      const skill = chooseSkill((opening && requestedSkill({ message: opening })) ?? requestedSkill(turn))
      return skill ? runSkill(skill, turn, runtime) : fallback?.(turn, runtime)
    },
  }
}

/** Validates the output of a skill. An invalid output is a defect of the agent, so its details are only logged. */
export async function checkOutput(
  skill: Skill,
  output: unknown,
  { log }: Pick<Turn, 'log'>,
): Promise<Content | undefined> {
  const { id, schemas } = skill
  if (output === undefined || output === null) return undefined
  if (!schemas.output) return output as Content
  const result = await schemas.output.schema['~standard'].validate(output)
  if (result.issues) {
    // Without the messages, which may contain the output. They are in the cause.
    const fields = result.issues.map((issue) => issuePath(issue).replace(/^\./, ''))
    log.error({ skill: id, fields }, 'a skill gave what does not fit its schema')
    const text = `The skill "${id}" has failed: what it gave does not fit its own schema.`
    throw new A2AError('invalid-agent-response', text, { cause: new TypeError(describeIssues(result.issues)) })
  }
  return dataPart(result.value ?? null)
}

async function runSkill(skill: Skill, turn: Turn, runtime: RuntimeAccess): Promise<Content | undefined> {
  const { message, task } = turn
  let input: unknown
  try {
    input = await readInput(skill, message)
  } catch (error) {
    // The first message was checked before it was stored. The caller can repeat a later one.
    if (!task || !(error instanceof A2AError)) throw error
    return void (await turn.requireInput(`${error.message}. Please send it again.`))
  }
  // A skill with an output schema may return any value.
  const output: unknown = await runAgentFunction(() => skill.run(input, turn) as AgentReturn, turn, runtime)
  return await checkOutput(skill, output, turn)
}

/**
 * Reads the input of a skill from the first data part of a message, or else from its text, as it is or as JSON. Throws
 * `invalid-params` with every violation.
 */
async function readInput({ id, schemas }: Skill, message: Message): Promise<unknown> {
  if (!schemas.input) return textOf(message)
  const { schema } = schemas.input
  const { values, field } = inputIn(message)
  let violations: readonly FieldViolation[] = []
  for (const value of values) {
    const result = await schema['~standard'].validate(value)
    if (!result.issues) return result.value
    violations = result.issues.map((issue) => ({ field: field + issuePath(issue), description: issue.message }))
  }
  const problems = violations.map(({ field, description }) => `${field}: ${description}`).join('; ')
  throw new A2AError('invalid-params', `The skill "${id}" cannot take this: ${problems}`, { violations })
}

/** The candidates for the input and their field. If none is valid, the violations of the last one are reported. */
function inputIn(message: Message): { readonly values: readonly unknown[]; readonly field: string } {
  const { parts } = message
  const dataIndex = parts.findIndex((part) => 'data' in part)
  const part = parts[dataIndex]
  if (part && 'data' in part) return { values: [part.data], field: `message.parts[${dataIndex}].data` }
  const textIndex = parts.findIndex((candidate) => 'text' in candidate)
  return { values: textCandidates(textOf(message)), field: `message.parts[${Math.max(0, textIndex)}]` }
}
