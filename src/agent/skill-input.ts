import type { StandardSchemaV1 } from '@standard-schema/spec'
import { A2AError, type FieldViolation } from '../protocol/errors.ts'
import type { Message } from '../protocol/model.ts'
import { textOf } from '../protocol/parts.ts'
import type { Skill } from './skill.ts'

/**
 * What a skill makes of a message: of its data; or, if it has none, of its text, as it is or as the JSON that it may be.
 * Throws `invalid-params` that names every field which does not fit.
 */
export async function readInput({ id, schemas }: Skill, message: Message): Promise<unknown> {
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

interface Candidate {
  readonly value: unknown
  readonly place: string
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
