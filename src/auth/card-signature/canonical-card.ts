import canonicalize from 'canonicalize'
import type { Json, JsonObject } from '../../protocol/model.ts'
import { cardFields, type Kind, type Message } from './card-fields.ts'
import { pythonJson } from './python-json.ts'

/** What a signature may have been made of. */
export interface CanonicalForm {
  /** The members of the card that are covered. All others are to be believed of nobody. */
  readonly covered: JsonObject
  /** In the form of RFC 8785, but where that is not what was signed. */
  readonly text: string
}

/** As A2A 1.0 says it (§8.4.1). Throws if the card has something that 1.0 has not in that place. */
export function specifiedForm(card: JsonObject): CanonicalForm {
  return formOf(messageOf(cardFields, card, ''))
}

/** As the official SDKs make it: nothing that is empty is covered. */
export function cleanedForm(card: JsonObject): CanonicalForm {
  const cleaned = clean(messageOf(cardFields, card, ''))
  return formOf(isObject(cleaned) ? cleaned : {})
}

/** As the official SDK for JavaScript makes it of cards that it has read: it loses the security schemes, too. */
export function schemelessForm({ securitySchemes: _, ...card }: JsonObject): CanonicalForm {
  return cleanedForm(card)
}

/** The same members as that of the other SDKs, but as Python writes them. */
export function pythonForm(card: JsonObject): CanonicalForm {
  const { covered } = cleanedForm(card)
  return { covered, text: pythonJson(covered) }
}

/** The card as it came, with members of all versions. */
export function wholeForm({ signatures: _, ...card }: JsonObject): CanonicalForm {
  return formOf(card)
}

/** Whether a card has nothing, but what is empty, that 1.0 does not have in that place. */
export function isOf1_0({ signatures: _, ...card }: JsonObject): boolean {
  return canonicalize(clean(card)) === cleanedForm(card).text
}

function formOf(covered: JsonObject): CanonicalForm {
  return { covered, text: canonicalize(covered) ?? '' }
}

function messageOf(fields: Message, given: JsonObject, at: string): JsonObject {
  const members: [string, Json][] = []
  for (const [name, { presence, kind }] of Object.entries(fields)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    const isSet = value !== undefined && value !== null
    if (!isSet && presence !== 'required') continue
    const known = isSet ? knownOf(kind, value, at === '' ? name : `${at}.${name}`) : emptyOf(kind)
    if (presence !== 'implicit' || !isDefault(known)) members.push([name, known])
  }
  return Object.fromEntries(members)
}

function knownOf(kind: Kind, given: Json, at: string): Json {
  switch (kind) {
    case 'text':
      return typeof given === 'string' ? given : fail(at, 'text')
    case 'flag':
      return typeof given === 'boolean' ? given : fail(at, 'true or false')
    case 'texts':
      return listOf(given, at).map((each, n) => knownOf('text', each, `${at}[${n}]`))
    case 'struct':
      return objectOf(given, at)
  }
  if ('list' in kind) return listOf(given, at).map((each, n) => knownOf({ message: kind.list }, each, `${at}[${n}]`))
  if ('message' in kind) return messageOf(kind.message, objectOf(given, at), at)
  const entries = Object.entries(objectOf(given, at))
  return Object.fromEntries(entries.map(([name, each]) => [name, knownOf(kind.map, each, `${at}.${name}`)]))
}

function emptyOf(kind: Kind): Json {
  if (kind === 'text') return ''
  if (kind === 'flag') return false
  if (kind === 'texts' || (typeof kind === 'object' && 'list' in kind)) return []
  return typeof kind === 'object' && 'message' in kind ? messageOf(kind.message, {}, '') : {}
}

function isDefault(value: Json): boolean {
  return value === '' || value === false || isEmpty(value)
}

function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** Undefined if nothing is left. */
function clean(value: Json): Json | undefined {
  if (value === '' || value === null) return undefined
  if (typeof value !== 'object') return value
  const left: Json = isList(value)
    ? value.map(clean).filter((each) => each !== undefined)
    : Object.fromEntries(
        Object.entries(value).flatMap(([name, each]) => {
          const cleaned = clean(each)
          return cleaned === undefined ? [] : [[name, cleaned] as const]
        }),
      )
  return isEmpty(left) ? undefined : left
}

function listOf(given: Json, at: string): readonly Json[] {
  return isList(given) ? given : fail(at, 'a list')
}

function objectOf(given: Json, at: string): JsonObject {
  return isObject(given) ? given : fail(at, 'an object')
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value)
}

function fail(at: string, expected: string): never {
  throw new TypeError(`${at} must be ${expected} in a card of A2A 1.0`)
}
