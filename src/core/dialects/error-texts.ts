import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import type { ServerDialect } from './dialect.ts'

export const unsupportedText = 'This operation is not supported'

/** The texts of A2A 1.0 for its errors. Errors that A2A does not define have none. */
export const errorTexts: Readonly<Partial<Record<ErrorCode, string>>> = {
  'parse-error': 'Invalid JSON payload',
  'invalid-request': 'Request payload validation error',
  'method-not-found': 'Method not found',
  'invalid-params': 'Invalid parameters',
  internal: 'Internal error',
  'task-not-found': 'Task not found',
  'task-expired': 'Task not found',
  'task-not-cancelable': 'Task cannot be canceled',
  'push-not-supported': 'Push Notification is not supported',
  'unsupported-operation': unsupportedText,
  'streaming-not-supported': unsupportedText,
  'task-ended': unsupportedText,
  'content-type-not-supported': 'Incompatible content types',
  'invalid-agent-response': 'Invalid agent response',
  'extended-card-not-configured': 'Extended Agent Card is not configured',
  'extension-required': 'Extension support required',
  'version-not-supported': 'Version not supported',
}

/** The message of an error on the wire: the text of the specification, which some readers compare, then the detail. */
export function messageOf(text: string | undefined, { message }: A2AError): string {
  return text === undefined || message.startsWith(text) ? message : `${text}: ${message}`
}

/** Names of the model, such as `configuration.push`, and what a dialect calls them. */
export type WireNames = Readonly<Record<string, string>>

type ErrorEncoders = Pick<ServerDialect, 'encodeError' | 'encodeHttpError'>

/** Encodes errors with the names of a dialect: callers do not know those of the model. */
export function withWireNames(names: WireNames, { encodeError, encodeHttpError }: ErrorEncoders): ErrorEncoders {
  const models = Object.keys(names).map((name) => name.replaceAll('.', '\\.'))
  const pattern = new RegExp(`(?<![\\w.-])(?:${models.join('|')})(?![\\w-])\\.?`, 'g')
  const rename = (text: string): string =>
    text.replace(pattern, (match) => {
      const isPrefix = match.endsWith('.')
      const name = names[isPrefix ? match.slice(0, -1) : match] ?? match
      // The members of an object that the dialect does not have are members of the object around it.
      return isPrefix && name !== '' ? `${name}.` : name
    })
  const renamed = (error: A2AError): A2AError => {
    const { code, cause, metadata, retryAfter, challenge } = error
    const message = rename(error.message)
    // The message names every field that the violations name.
    if (message === error.message) return error
    const violations = error.violations.map(({ field, description }) => ({
      field: rename(field),
      description: rename(description),
    }))
    return new A2AError(code, message, { cause, metadata, retryAfter, challenge, violations })
  }
  return {
    encodeError: (error) => encodeError(renamed(error)),
    encodeHttpError: (error) => encodeHttpError(renamed(error)),
  }
}
