import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { CallerVariants, ServerDialect } from '../dialect.ts'

/**
 * fasta2a 2 calls the methods of 0.3 with the parts of 1.0, and expects answers as 1.0 wraps them: in a member that names
 * their type. Such callers get both: the answer of 0.3, and the same in that member. Its parts without a `kind`
 * identify it.
 */
export function withWrappedAnswers(dialect: ServerDialect): ServerDialect {
  const { encodeResult, encodeEvent } = dialect
  const forCaller: CallerVariants['forCaller'] = ({ params }) => ({
    dialect: hasBareParts(params) ? wrapping : plain,
    learned: {},
  })
  const plain: ServerDialect = { ...dialect, callers: { variant: 'plain', forCaller } }
  const wrapping: ServerDialect = {
    ...dialect,
    encodeResult: {
      ...encodeResult,
      sendMessage: (outcome, request) => wrap(encodeResult.sendMessage(outcome, request) as JsonObject),
    },
    encodeEvent: (event, request) => encodeEvent(event, request).map(wrap),
    isReaderIndependent: false,
    callers: { variant: 'wrapped', forCaller },
  }
  return plain
}

const memberByKind: Readonly<Record<string, string>> = {
  task: 'task',
  message: 'message',
  'status-update': 'statusUpdate',
  'artifact-update': 'artifactUpdate',
}

function wrap(wire: JsonObject): JsonObject {
  const member = memberByKind[`${wire.kind}`]
  return member === undefined ? wire : { ...wire, [member]: wire }
}

/** Whether the first part of a message has its content but no `kind`. */
function hasBareParts(params: unknown): boolean {
  if (!isObject(params as Json) || !isObject((params as JsonObject).message)) return false
  const { parts } = (params as { readonly message: JsonObject }).message
  const [part] = Array.isArray(parts) ? parts : []
  return isObject(part) && part.kind === undefined && part.type === undefined && ('text' in part || 'data' in part)
}
