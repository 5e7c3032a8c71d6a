import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { CallerVariants, ServerDialect } from '../dialect.ts'

/**
 * python-a2a sends tasks of 0.1 whose messages have one `content` instead of parts, and reads nothing but artifacts. Such
 * callers get the text of the last status as an artifact if the task has none.
 */
export function withAnswersForContent(dialect: ServerDialect): ServerDialect {
  const { encodeResult } = dialect
  const forCaller: CallerVariants['forCaller'] = ({ params }) => ({
    dialect: hasContent(params) ? forContent : plain,
    learned: {},
  })
  const plain: ServerDialect = { ...dialect, callers: { variant: 'plain', forCaller } }
  const forContent: ServerDialect = {
    ...dialect,
    encodeResult: {
      ...encodeResult,
      sendMessage: (outcome, request) => withArtifact(encodeResult.sendMessage(outcome, request) as JsonObject),
    },
    callers: { variant: 'content', forCaller },
  }
  return plain
}

function withArtifact(task: JsonObject): JsonObject {
  const { artifacts, status } = task
  const message = isObject(status) ? status.message : undefined
  if (artifacts !== undefined || !isObject(message) || message.parts === undefined) return task
  return { ...task, artifacts: [{ parts: message.parts, index: 0 }] }
}

function hasContent(params: unknown): boolean {
  const message = isObject(params as Json) ? (params as JsonObject).message : undefined
  return isObject(message) && message.parts === undefined && isObject(message.content)
}
