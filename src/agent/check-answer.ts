import type { StandardSchemaV1 } from '@standard-schema/spec'
import { toolResult } from '../protocol/client-tools.ts'
import type { Json, Message, Part } from '../protocol/model.ts'
import { textOf } from '../protocol/parts.ts'

export type Checked<T> = { readonly value: T } | { readonly problem: string }

/**
 * What a schema makes of an answer: of its data, if it has a part of that kind, else of its text, as it is or as the
 * JSON that it may be.
 */
export async function checkAnswer<S extends StandardSchemaV1>(
  schema: S,
  message: Message,
): Promise<Checked<StandardSchemaV1.InferOutput<S>>> {
  let problem = 'it is empty'
  for (const candidate of candidatesIn(message)) {
    const result = await schema['~standard'].validate(candidate)
    if (!result.issues) return { value: result.value as StandardSchemaV1.InferOutput<S> }
    problem = describeIssues(result.issues)
  }
  return { problem }
}

/** The last of them is the one whose problem is told. */
function candidatesIn(message: Message): readonly unknown[] {
  const data = message.parts.flatMap((part) => ('data' in part ? [contentOf(part)] : []))
  if (data.length > 0) return data.slice(0, 1)
  const text = textOf(message)
  const parsed = parse(text)
  return parsed === undefined ? [text] : [text, parsed]
}

/** The answer to a request by its id is within what names the request. */
export function contentOf({ data, mediaType }: Extract<Part, { data: Json }>): Json {
  const isResult = mediaType === toolResult && typeof data === 'object' && data !== null && 'result' in data
  return isResult ? (data.result ?? null) : data
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues.map(describeIssue).join('; ') || 'it does not fit'
}

function describeIssue({ message, path = [] }: StandardSchemaV1.Issue): string {
  const place = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
  return place ? `${place}: ${message}` : message
}
