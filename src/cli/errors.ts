import { type CertificateFault, certificateFaultOf } from '../conformance/doctor/certificates.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import { A2AError, type ErrorCode } from '../core/protocol/errors.ts'

/** The failures of the command line itself, and their exit codes. Protocol errors keep their A2A names. */
const exitCodes = {
  A2ACLI_ERR_USAGE: 2,
  A2ACLI_ERR_CARD_NOT_FOUND: 3,
  A2ACLI_ERR_CARD_INVALID: 1,
  A2ACLI_ERR_UNREACHABLE: 3,
  A2ACLI_ERR_CREDENTIALS_MISSING: 4,
  A2ACLI_ERR_AUTH_FAILED: 4,
  A2ACLI_ERR_TIMEOUT: 5,
  A2ACLI_ERR_INTERNAL: 1,
} as const

export type LocalCode = keyof typeof exitCodes

/** A failure of the command line: wrong usage, no connection, no credentials. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: LocalCode
  readonly hint: string | undefined

  constructor(code: LocalCode, message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.hint = options.hint
  }
}

export function usageError(message: string, hint?: string): CliError {
  return new CliError('A2ACLI_ERR_USAGE', message, hint === undefined ? {} : { hint })
}

/** Thrown when the user has interrupted the command. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** A failure as it is printed, with the exit code of the process. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** The number of the error in A2A, which is the same over all transports. */
  readonly a2aCode?: number
  readonly exitCode: number
}

/** `path` names the command that failed, for the hint of errors that have none. */
export function toFailure(error: unknown, path = 'help'): Failure {
  if (error instanceof CliError) {
    const { code, hint = code === 'A2ACLI_ERR_USAGE' ? `See parley ${helpOf(path)}.` : debugHint } = error
    return { message: oneLine(error.message), hint: oneLine(hint), code, exitCode: exitCodes[code] }
  }
  if (error instanceof A2AError) return fromA2AError(error)
  const message = error instanceof Error ? error.message : `${error}`
  return {
    code: 'A2ACLI_ERR_INTERNAL',
    message: `parley failed: ${message}`,
    hint: 'Run the command with --debug to see where it failed, and report it.',
    exitCode: 1,
  }
}

/** The error envelope of `-o json`. */
export function toEnvelope({ code, message, hint, a2aCode }: Failure): JsonObject {
  return { error: defined({ code, message, hint, a2aCode }) }
}

const debugHint = 'Run the command with --debug to see the request and the response.'

function helpOf(path: string): string {
  return path === 'help' ? path : `${path} --help`
}

function fromA2AError(error: A2AError): Failure {
  const local = localCodeOf(error)
  const hint = hintFor(error) ?? debugHint
  const message = oneLine(error.message)
  if (local) return { message, hint, code: local, exitCode: exitCodes[local] }
  const { name, number } = protocolErrors[error.code]
  return { message, hint, code: name, a2aCode: number, exitCode: 1 }
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim()
}

/** The hints of the client are for programmers; some need other words on the command line. */
function hintFor(error: A2AError): string | undefined {
  const { reason, hint, code } = error
  if (reason === 'certificate') return certificateHints[certificateFaultOf(error)]
  const own = reason === undefined ? undefined : commandLineHints[reason]
  if (own !== undefined) return own
  if (code === 'unauthenticated' && reason?.startsWith('credentials-')) return loginHint
  return hint === undefined ? undefined : oneLine(hint)
}

const loginHint =
  'Pass the credentials by A2ACLI_BEARER or A2ACLI_API_KEY, or log in: parley auth login --agent-card <ref>.'

const commandLineHints: Readonly<Record<string, string>> = {
  'card-not-found': 'Check the address, or pass the URL of the card itself: --agent-card https://host/path/card.json.',
  'card-protected': 'Even the card requires credentials: pass A2ACLI_BEARER, or --bearer.',
  'credentials-missing': loginHint,
  'credentials-unfit': loginHint,
  'credentials-refused': 'The credentials are wrong or expired. Check them, or log in again: parley auth login.',
  guarded: 'The card names a private address. If you trust it, allow it: --allow-host <host>.',
  deadline: 'Raise --timeout, or use --async and look at the task later: parley task get <task-id>.',
  'extension-missing': 'Declare that you support the extension: --extension <uri>.',
  'answer-too-large': 'The answer is larger than the command line accepts.',
  'may-have-run': 'Look for the task before you send again: parley task list.',
  'no-common-interface': 'See what the agent offers: parley card get.',
}

const certificateHints: Readonly<Record<CertificateFault, string>> = {
  expired: 'The certificate of the agent has expired: its operator must renew it. For tests only: --insecure.',
  'not-yet-valid': 'The certificate is not valid yet: check the clock of this machine. For tests only: --insecure.',
  'other-host': 'The certificate is for another host: use the name that it has. For tests only: --insecure.',
  'unknown-authority': 'Trust its authority by --ca-cert <file>. For tests only: --insecure.',
}

const unreachable: ReadonlySet<string> = new Set([
  'connection-refused',
  'name-not-found',
  'host-unreachable',
  'local-address',
  'certificate',
  'not-tls',
  'needs-https',
  'not-http',
  'redirect-loop',
  'guarded',
  'blocked',
  'connection-lost',
  'gateway',
  'silent',
])

/** The local code of an error that is not one of the protocol. */
function localCodeOf({ code, reason = '', cause }: A2AError): LocalCode | undefined {
  if (reason === 'bad-url' || reason === 'file') return 'A2ACLI_ERR_USAGE'
  if (reason === 'card-not-found') return 'A2ACLI_ERR_CARD_NOT_FOUND'
  if (reason === 'not-a-card' || reason === 'card-verification-failed') return 'A2ACLI_ERR_CARD_INVALID'
  if (code === 'unauthenticated') {
    const isMissing = reason === 'credentials-missing' || reason === 'card-protected' || reason === 'credentials-unfit'
    return isMissing ? 'A2ACLI_ERR_CREDENTIALS_MISSING' : 'A2ACLI_ERR_AUTH_FAILED'
  }
  if (code === 'forbidden') return 'A2ACLI_ERR_AUTH_FAILED'
  if (code === 'timeout') return 'A2ACLI_ERR_TIMEOUT'
  if (unreachable.has(reason) || code === 'unavailable' || code === 'rate-limited') return 'A2ACLI_ERR_UNREACHABLE'
  if (reason === 'may-have-run' && cause instanceof A2AError) return localCodeOf(cause)
  if (reason === 'client') return 'A2ACLI_ERR_INTERNAL'
  return undefined
}

interface ProtocolError {
  readonly name: string
  readonly number: number
}

const invalidRequest: ProtocolError = { name: 'InvalidRequestError', number: -32600 }
const invalidParams: ProtocolError = { name: 'InvalidParamsError', number: -32602 }
const internal: ProtocolError = { name: 'InternalError', number: -32603 }
const taskNotFound: ProtocolError = { name: 'TaskNotFoundError', number: -32001 }
const unsupported: ProtocolError = { name: 'UnsupportedOperationError', number: -32004 }

/** Errors that A2A does not define have the name of the nearest one that it defines. */
const protocolErrors: Readonly<Record<ErrorCode, ProtocolError>> = {
  'parse-error': { name: 'JSONParseError', number: -32700 },
  'invalid-request': invalidRequest,
  'method-not-found': { name: 'MethodNotFoundError', number: -32601 },
  'invalid-params': invalidParams,
  internal,
  'task-not-found': taskNotFound,
  'task-expired': taskNotFound,
  'task-not-cancelable': { name: 'TaskNotCancelableError', number: -32002 },
  'push-not-supported': { name: 'PushNotificationNotSupportedError', number: -32003 },
  'unsupported-operation': unsupported,
  'streaming-not-supported': unsupported,
  'task-ended': unsupported,
  'content-type-not-supported': { name: 'ContentTypeNotSupportedError', number: -32005 },
  'invalid-agent-response': { name: 'InvalidAgentResponseError', number: -32006 },
  'extended-card-not-configured': { name: 'ExtendedAgentCardNotConfiguredError', number: -32007 },
  'extension-required': { name: 'ExtensionSupportRequiredError', number: -32008 },
  'version-not-supported': { name: 'VersionNotSupportedError', number: -32009 },
  'task-generation-mismatch': { name: 'TaskGenerationMismatchError', number: -32010 },
  conflict: invalidParams,
  'context-not-found': invalidParams,
  'payload-too-large': invalidRequest,
  unauthenticated: internal,
  forbidden: internal,
  'rate-limited': internal,
  unavailable: internal,
  timeout: internal,
  'input-timeout': internal,
  'tool-failed': internal,
}
