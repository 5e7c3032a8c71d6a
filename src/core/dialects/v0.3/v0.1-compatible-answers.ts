import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { ServerDialect } from '../dialect.ts'
import { indexIn } from '../v0.1/encode.ts'

/**
 * The answers of 0.3 about tasks, with the fields that 0.1 clients expect, whose calls look the same: the session, the
 * type of a part, the index of an artifact, and the task id of an event. Both versions allow unknown fields.
 */
export function v0_1CompatibleAnswers({ encodeResult, encodeEvent }: ServerDialect): CompatibleAnswers {
  return {
    encodeResult: {
      ...encodeResult,
      getTask: (task, request) => addV0_1Fields(encodeResult.getTask(task, request)),
      cancelTask: (task, request) => addV0_1Fields(encodeResult.cancelTask(task, request)),
    },
    encodeEvent(event, request) {
      const wires = encodeEvent(event, request)
      return 'message' in request ? wires : wires.map((wire) => addV0_1EventFields(wire, request))
    },
    isReaderIndependent: false,
  }
}

type CompatibleAnswers = Pick<ServerDialect, 'encodeResult' | 'encodeEvent' | 'isReaderIndependent'>

function addV0_1Fields(task: Json): Json {
  if (!isObject(task)) return task
  const { contextId, status, artifacts, history } = task
  return {
    ...task,
    ...defined({
      sessionId: contextId,
      status: isObject(status) ? addMessagePartTypes(status) : undefined,
      artifacts: Array.isArray(artifacts) ? artifacts.map(addArtifactFields) : undefined,
      history: Array.isArray(history) ? history.map(addPartTypes) : undefined,
    }),
  }
}

function addV0_1EventFields(event: JsonObject, stream: object): JsonObject {
  const { kind, taskId, status, artifact } = event
  if (kind === 'task') return addV0_1Fields(event) as JsonObject
  return {
    ...event,
    ...defined({
      id: taskId,
      status: isObject(status) ? addMessagePartTypes(status) : undefined,
      artifact: isObject(artifact) ? addArtifactFields(artifact, indexIn(stream, `${artifact.artifactId}`)) : undefined,
    }),
  }
}

function addMessagePartTypes(status: JsonObject): JsonObject {
  return status.message === undefined ? status : { ...status, message: addPartTypes(status.message) }
}

function addArtifactFields(artifact: Json, index: number): Json {
  const wire = addPartTypes(artifact)
  return isObject(wire) ? { index, ...wire } : wire
}

/** Adds a `type` beside the `kind` of each part of a message or an artifact. */
function addPartTypes(wire: Json): Json {
  if (!isObject(wire) || !Array.isArray(wire.parts)) return wire
  return { ...wire, parts: wire.parts.map(addType) }
}

function addType(part: Json): Json {
  return isObject(part) && part.kind !== undefined ? { type: part.kind, ...part } : part
}
