import type { Json, JsonObject, TaskStatus } from '../protocol/model.ts'
import { textOf } from '../protocol/parts.ts'

/** What a task needs before it goes on, as far as the agent says it. To be got by other means than A2A. */
export interface AuthRequired {
  /** In words. */
  readonly text: string
  /** The schemes that are named, such as `Bearer` or `oauth2`. */
  readonly schemes: readonly string[]
  /** Where to go for it. */
  readonly urls: readonly string[]
  /** All that was said as data. */
  readonly details: readonly JsonObject[]
}

/** What the message of a status asks for that waits for credentials. */
export function needsIn({ message }: TaskStatus): AuthRequired {
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

/** As in `AuthenticationInfo`, before and since 1.0, or in a scheme as cards have it. */
function schemesIn({ scheme, schemes, type }: JsonObject): readonly string[] {
  const named = isList(schemes) ? schemes : isObject(schemes) ? Object.keys(schemes) : [scheme, type]
  return named.filter((each) => typeof each === 'string')
}

function urlsIn(value: Json, depth: number): readonly string[] {
  if (typeof value === 'string') return /^https?:\/\/\S+$/.test(value) ? [value] : []
  return typeof value === 'object' && value !== null && depth > 0
    ? Object.values(value).flatMap((each: Json) => urlsIn(each, depth - 1))
    : []
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value)
}
