import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Part } from '../model.ts'
import type { SendRequest } from '../service.ts'

/** Credentials that came in a message. */
export interface InBand {
  readonly scheme?: string
  readonly credentials: string
}

export interface ExtractedCredentials {
  /** With a mark in the place of every secret. */
  readonly request: SendRequest
  /** What was there, the first one first. */
  readonly credentials: readonly InBand[]
}

/**
 * Takes credentials out of a request. While a task waits for them, also out of data that has the form of
 * `AuthenticationInfo`, as callers of every version send them.
 */
export function extractCredentials(request: SendRequest, isAwaited = false): ExtractedCredentials | undefined {
  const { message, metadata } = request
  // Most messages are text, and cost no more than this look.
  if (!metadata && !message.metadata && message.parts.every((part) => !('data' in part))) return undefined
  const found: InBand[] = []
  const parts = message.parts.map((part) => {
    const given = 'data' in part && (isAwaited || part.mediaType === credentialsType) ? read(part.data) : undefined
    if (given) found.push(given)
    return given ? { ...part, data: mark(given) } : part
  })
  const cleaned = (told: JsonObject | undefined) => {
    const given = told && read(told[credentialsExtension])
    if (given) found.push(given)
    return given ? { ...told, [credentialsExtension]: mark(given) } : told
  }
  const told = cleaned(message.metadata)
  const beside = cleaned(metadata)
  if (found.length === 0) return undefined
  const clean = { ...message, parts, ...(told && { metadata: told }) }
  return { request: { ...request, message: clean, ...(beside && { metadata: beside }) }, credentials: found }
}

/** As a part of a message. */
export function credentialsPart({ scheme, credentials }: InBand): Part {
  return { data: { ...(scheme !== undefined && { scheme }), credentials }, mediaType: credentialsType }
}

/** Whether a part stands for credentials that were taken out. */
export function isRedactedCredentials(part: Part): boolean {
  return 'data' in part && isObject(part.data) && part.data.redacted === true
}

export const credentialsType = 'application/vnd.a2a.credentials+json'

/**
 * The extension by which a caller hands credentials to a task that waits for them: a data part of this media type, or
 * this member of the metadata, with `scheme` and `credentials`. What comes so is never stored.
 */
export const credentialsExtension = 'https://parley.dev/ext/credentials/v1'

function read(value: Json | undefined): InBand | undefined {
  if (!isObject(value)) return undefined
  const { credentials, scheme, schemes } = value
  if (typeof credentials !== 'string' || credentials === '') return undefined
  const named = scheme ?? (Array.isArray(schemes) ? (schemes[0] as Json | undefined) : undefined)
  return typeof named === 'string' ? { scheme: named, credentials } : { credentials }
}

function mark({ scheme }: InBand): JsonObject {
  return { ...(scheme !== undefined && { scheme }), redacted: true }
}
