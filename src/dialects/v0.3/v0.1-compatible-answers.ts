import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { ServerDialect } from '../dialect.ts'
import { indexIn } from '../v0.1/encode.ts'

/**
 * The answers of 0.3 about tasks so that callers of 0.1, whose calls look the same, find what they look for beside it:
 * the session, the type of a part, the number of an artifact, and the task of an event. Neither forbids what it does
 * not know.
 */
export function v0_1CompatibleAnswers({ encodeResult, encodeEvent }: ServerDialect): Answers {
  return {
    encodeResult: {
      ...encodeResult,
      getTask: (task, request) => addV0_1Fields(encodeResult.getTask(task, request)),
      cancelTask: (task, request) => addV0_1Fields(encodeResult.cancelTask(task, request)),
    },
    encodeEvent(event, request) {
      const wires = encodeEvent(event, request)
      return 'message' in request ? wires : wires.map((wire) => widenEvent(wire, request))
    },
    isReaderIndependent: false,
  }
}

type Answers = Pick<ServerDialect, 'encodeResult' | 'encodeEvent' | 'isReaderIndependent'>

function addV0_1Fields(wire: Json): Json {
  if (!isObject(wire)) return wire
  const { contextId, status, artifacts, history } = wire
  return {
    ...wire,
    ...(contextId !== undefined && { sessionId: contextId }),
    ...(isObject(status) && { status: withTyped(status, 'message') }),
    ...(Array.isArray(artifacts) && { artifacts: artifacts.map((each, index) => widenArtifact(each, index)) }),
    ...(Array.isArray(history) && { history: history.map(withTypes) }),
  }
}

function withTyped(wire: JsonObject, member: string): JsonObject {
  const { [member]: inner } = wire
  return inner === undefined ? wire : { ...wire, [member]: withTypes(inner) }
}

/** A message or an artifact whose parts say what they are in both ways. */
function withTypes(wire: Json): Json {
  if (!isObject(wire) || !Array.isArray(wire.parts)) return wire
  return { ...wire, parts: wire.parts.map(withType) }
}

function withType(part: Json): Json {
  return isObject(part) && part.kind !== undefined ? { type: part.kind, ...part } : part
}

function widenArtifact(artifact: Json, index: number): Json {
  const wire = withTypes(artifact)
  return isObject(wire) ? { index, ...wire } : wire
}

function widenEvent(wire: JsonObject, stream: object): JsonObject {
  const { kind, taskId, status, artifact } = wire
  if (kind === 'task') return addV0_1Fields(wire) as JsonObject
  return {
    ...wire,
    ...(taskId !== undefined && { id: taskId }),
    ...(isObject(status) && { status: withTyped(status, 'message') }),
    ...(isObject(artifact) && { artifact: widenArtifact(artifact, indexIn(stream, `${artifact.artifactId}`)) }),
  }
}
