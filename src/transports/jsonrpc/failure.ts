import type { ClientDialect, WireError } from '../../dialects/dialect.ts'
import { isObject } from '../../dialects/is-object.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import { errorsOf } from '../errors-of.ts'
import { foreignAnswer, toldError } from '../foreign-answer.ts'
import type { Answer } from '../read-answer.ts'

/** What an answer says that is not just a result. Throws the error that it tells, or that it is. */
export async function readOddAnswer(answer: Answer, operation: Operation, dialect: ClientDialect): Promise<unknown> {
  const { body, form, status } = answer
  const error = isObject(body) ? errorIn(body) : undefined
  if (error) throw toldError(await readError(error, dialect), answer)
  if (isObject(body) && body.result !== undefined) return body.result
  // Some servers leave out a result that is null; to be told nothing is only enough where nothing is to be told.
  const isNothing = form === 'empty' || (isObject(body) && body.jsonrpc !== undefined)
  if (operation === 'deletePushConfig' && status < 300 && isNothing) return null
  throw foreignAnswer(answer)
}

/** Who does not speak our dialect cannot tell us so in it; Parley at least names those that it speaks. */
async function readError(error: WireError, dialect: ClientDialect): Promise<A2AError> {
  const { decodeError } = await errorsOf(dialect)
  const told = decodeError(error)
  if (!JSON.stringify(error.data ?? null).includes('"supportedVersions"')) return told
  return new A2AError('version-not-supported', told.message, { cause: error, metadata: told.metadata })
}

/** The error that an event of a stream tells. */
export function readToldError(error: JsonObject, dialect: ClientDialect): Promise<A2AError> {
  return readError(wireError(error), dialect)
}

/** One of JSON-RPC: proxies and frameworks also answer with an `error`. Servers of 0.1 may say that there is none. */
function errorIn({ jsonrpc, error }: JsonObject): WireError | undefined {
  if (!isObject(error)) return undefined
  const isOurs = jsonrpc !== undefined || (typeof error.code === 'number' && error.code < 0)
  return isOurs ? wireError(error) : undefined
}

function wireError({ code, message, data }: JsonObject): WireError {
  return {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : '',
    ...(data !== undefined && { data }),
  }
}
