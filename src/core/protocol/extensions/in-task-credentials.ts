import { defined, isList, isObject, type Json, type JsonObject } from '../../base/json.ts'
import { type Part, type TaskStatus, textOf } from '../model.ts'
import type { SendRequest } from '../service.ts'

/**
 * The URI of the credentials extension, by which a caller sends credentials to a task that waits for them: as a data part
 * of `credentialsType`, or under this URI in the metadata, with `scheme` and `credentials`. They are never stored.
 */
export const credentialsExtension = 'https://parley.dev/ext/credentials/v1'

/** The media type of a data part with credentials. */
export const credentialsType = 'application/vnd.a2a.credentials+json'

/** The credentials that a task needs to continue, as far as the agent describes them. The caller obtains them outside A2A. */
export interface AuthRequired {
  /** The agent's message. */
  readonly text: string
  /** The schemes that the agent names, such as `Bearer` or `oauth2`. */
  readonly schemes: readonly string[]
  /** Where to obtain the credentials. */
  readonly urls: readonly string[]
  /** The data parts of the agent's message. */
  readonly details: readonly JsonObject[]
}

/** Credentials in a message. */
export interface InBand {
  readonly scheme?: string
  readonly credentials: string
}

export interface ExtractedCredentials {
  /** The request, with `redacted: true` in place of every secret. */
  readonly request: SendRequest
  /** The removed credentials, in the order of the message. */
  readonly credentials: readonly InBand[]
}

/**
 * Removes credentials from a request; returns undefined if there are none. While a task waits for credentials
 * (`isAwaited`), data parts in the form of `AuthenticationInfo` count as well: callers of every version send them.
 */
export function extractCredentials(request: SendRequest, isAwaited = false): ExtractedCredentials | undefined {
  const { message, metadata } = request
  const extracted: InBand[] = []
  const parts = message.parts.map((part) => {
    const isCandidate = 'data' in part && (isAwaited || part.mediaType === credentialsType)
    const credentials = isCandidate ? readCredentials(part.data) : undefined
    if (!credentials) return part
    extracted.push(credentials)
    return { ...part, data: redact(credentials) }
  })
  const redactMetadata = (members: JsonObject | undefined) => {
    const credentials = members && readCredentials(members[credentialsExtension])
    if (!credentials) return members
    extracted.push(credentials)
    return { ...members, [credentialsExtension]: redact(credentials) }
  }
  const messageMetadata = redactMetadata(message.metadata)
  const requestMetadata = redactMetadata(metadata)
  if (extracted.length === 0) return undefined
  const redacted = { ...message, parts, ...defined({ metadata: messageMetadata }) }
  return {
    request: { ...request, message: redacted, ...defined({ metadata: requestMetadata }) },
    credentials: extracted,
  }
}

/**
 * Puts removed credentials back where they were. Returns undefined if some of them are missing: the process that received
 * them is gone.
 */
export function restoreCredentials(request: SendRequest, credentials: readonly InBand[]): SendRequest | undefined {
  const rest = [...credentials]
  let isMissing = false
  const take = (value: Json | undefined): Json | undefined => {
    if (!isObject(value) || value.redacted !== true) return value
    const next = rest.shift()
    isMissing ||= next === undefined
    return next && defined({ scheme: next.scheme, credentials: next.credentials })
  }
  const takeMetadata = (members: JsonObject | undefined) =>
    members && defined({ ...members, [credentialsExtension]: take(members[credentialsExtension]) })
  const { message } = request
  const parts = message.parts.map((part) => ('data' in part ? { ...part, data: take(part.data) } : part))
  const restored = defined({ ...message, parts, metadata: takeMetadata(message.metadata) }) as SendRequest['message']
  const whole = defined({ ...request, message: restored, metadata: takeMetadata(request.metadata) })
  return isMissing ? undefined : whole
}

/** Reads what an agent says about the credentials that its task needs. */
export function readAuthRequired({ message }: Pick<TaskStatus, 'message'>): AuthRequired {
  const parts = message?.parts ?? []
  const details = parts.flatMap((part) => ('data' in part && isObject(part.data) ? [part.data] : []))
  const links = parts.flatMap((part) => ('url' in part ? [part.url] : []))
  return {
    text: message ? textOf(message) : '',
    schemes: unique(details.flatMap(schemesIn)),
    urls: unique([...links, ...details.flatMap((detail) => urlsIn(detail, 3))]),
    details,
  }
}

/** Returns a message part with credentials. */
export function credentialsPart({ scheme, credentials }: InBand): Part {
  return { data: defined({ scheme, credentials }), mediaType: credentialsType }
}

/** Whether a part stands for credentials that were removed. */
export function isRedactedCredentials(part: Part): boolean {
  return 'data' in part && isObject(part.data) && part.data.redacted === true
}

function readCredentials(value: Json | undefined): InBand | undefined {
  if (!isObject(value)) return undefined
  const { credentials, scheme, schemes } = value
  if (typeof credentials !== 'string' || credentials === '') return undefined
  const name = scheme ?? (Array.isArray(schemes) ? (schemes[0] as Json | undefined) : undefined)
  return typeof name === 'string' ? { scheme: name, credentials } : { credentials }
}

function redact({ scheme }: InBand): JsonObject {
  return defined({ scheme, redacted: true })
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}

/** Reads `AuthenticationInfo` of any version, or a security scheme as cards have it. */
function schemesIn({ scheme, schemes, type }: JsonObject): readonly string[] {
  const names = isList(schemes) ? schemes : isObject(schemes) ? Object.keys(schemes) : [scheme, type]
  return names.filter((name) => typeof name === 'string')
}

function urlsIn(value: Json, depth: number): readonly string[] {
  if (typeof value === 'string') return /^https?:\/\/\S+$/.test(value) ? [value] : []
  return typeof value === 'object' && value !== null && depth > 0
    ? Object.values(value).flatMap((member: Json) => urlsIn(member, depth - 1))
    : []
}
