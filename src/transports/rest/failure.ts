import type { ClientDialect } from '../../dialects/dialect.ts'
import { isObject } from '../../dialects/is-object.ts'
import { type A2AError, inContext } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import { errorsOf } from '../errors-of.ts'
import { foreignAnswer, toldError } from '../foreign-answer.ts'
import type { Answer } from '../read-answer.ts'

/** What an answer tells that has no result. A path that does not exist, and a task that does not, may be told alike. */
export async function readRefusal(answer: Answer, operation: Operation, dialect: ClientDialect): Promise<A2AError> {
  const { status, body } = answer
  const foreign = foreignAnswer(answer)
  if (!isObject(body)) return foreign
  const { decodeHttpError } = await errorsOf(dialect)
  const told = toldError(decodeHttpError({ status, body }), answer)
  if (isOfA2A(body)) return told
  if (foreign.reason !== 'wrong-path') return isObject(body.error) ? told : foreign
  return status === 404 && isAboutTask(operation) ? inContext(told, { reason: 'wrong-path' }) : foreign
}

/** In a stream the agent tells an error in an event, as the body that it would have been before it. */
export async function readToldRefusal(body: JsonObject, dialect: ClientDialect): Promise<A2AError> {
  const { decodeHttpError } = await errorsOf(dialect)
  return decodeHttpError({ status: 500, body })
}

function isAboutTask(operation: Operation): boolean {
  return operation !== 'sendMessage' && operation !== 'streamMessage' && operation !== 'listTasks'
}

/** Frameworks and proxies also answer in JSON, but not with a reason, a code of JSON-RPC or the type of an error. */
function isOfA2A({ error, code, type }: JsonObject): boolean {
  const details = isObject(error) && Array.isArray(error.details) ? error.details : []
  return details.length > 0 || (typeof code === 'number' && code < 0) || typeof type === 'string'
}
