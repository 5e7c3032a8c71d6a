import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { CallerVariants, ServerDialect } from '../dialect.ts'

/**
 * fasta2a 2 calls the methods of 0.3 with the parts of 1.0, and expects answers as 1.0 wraps them: in a member that names
 * their type, with the files of 1.0. Such callers get both: the answer of 0.3, and the same in that member. Its parts
 * without a `kind` identify it.
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
  return member === undefined ? wire : { ...wire, [member]: withBareFiles(wire) }
}

/** The object with its files as 1.0 has them, beside the form of 0.3. */
function withBareFiles(wire: Json): Json {
  if (Array.isArray(wire)) return wire.map(withBareFiles)
  if (!isObject(wire)) return wire
  const members = Object.entries(wire).map(([name, value]) => [name, isContent(name) ? value : withBareFiles(value)])
  const copy: JsonObject = Object.fromEntries(members)
  return wire.kind === 'file' && isObject(wire.file) ? { ...copy, ...bareFile(wire.file) } : copy
}

function isContent(name: string): boolean {
  return name === 'data' || name === 'metadata'
}

function bareFile({ bytes: raw, uri: url, name: filename, mimeType: mediaType }: JsonObject): JsonObject {
  return defined({ raw, url, filename, mediaType })
}

/** Whether the first part of a message has its content but no `kind`. */
function hasBareParts(params: unknown): boolean {
  if (!isObject(params as Json) || !isObject((params as JsonObject).message)) return false
  const { parts } = (params as { readonly message: JsonObject }).message
  const [part] = Array.isArray(parts) ? parts : []
  return isObject(part) && part.kind === undefined && part.type === undefined && ('text' in part || 'data' in part)
}
