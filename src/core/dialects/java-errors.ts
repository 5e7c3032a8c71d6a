import { isObject } from '../base/json.ts'
import type { A2AError, ErrorCode } from '../protocol/errors.ts'
import type { CallerSoftware, Dialect, HttpError } from './dialect.ts'
import { kinds } from './v0.3/errors.ts'

/**
 * The same error over REST, for the software that reads it. The clients of the Java SDK 0.3, and of its alpha versions for
 * 1.0, expect the name of a Java class in `error`, and throw an exception about JSON if it is the object of 1.0. They name
 * no version, which 1.0 requires of its clients, so other clients for Java are not taken for them. House clients are others too.
 */
export function adaptHttpError(
  { status, body }: HttpError,
  { code }: Pick<A2AError, 'code'>,
  { userAgent, version }: CallerSoftware,
  dialect: Pick<Dialect, 'name' | 'version'>,
): HttpError {
  const isSdk = version === undefined && userAgent.startsWith('Java-http-client/') && dialect.name !== 'v0.3-house'
  if (!isSdk) return { status, body }
  const newName = dialect.version.startsWith('0.') ? undefined : newClassNames[code]
  const inner = isObject(body.error) ? body.error : {}
  return { status, body: { ...inner, ...body, error: `io.a2a.spec.${newName ?? kinds[code].type}` } }
}

/** The classes that came with 1.0. */
const newClassNames: Readonly<Partial<Record<ErrorCode, string>>> = {
  'extended-card-not-configured': 'ExtendedCardNotConfiguredError',
  'extension-required': 'ExtensionSupportRequiredError',
  'version-not-supported': 'VersionNotSupportedError',
}
