import canonicalize from 'canonicalize'
import { isList, isObject, type Json, type JsonObject } from '../../base/json.ts'

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

/** As the official SDKs make it: nothing that is empty is covered. */
export function cleanedForm(card: JsonObject): CanonicalForm {
  const cleaned = clean(messageOf(cardFields, card, ''))
  return formOf(isObject(cleaned) ? cleaned : {})
}

/**
 * A value as `json.dumps` of Python writes it after protobuf has read it, which is what the official SDK for Python
 * signs: like RFC 8785, but in ASCII, with members by code point, and with all numbers as those with a fraction.
 */
export function pythonJson(value: Json): string {
  switch (typeof value) {
    case 'string':
      return ascii(JSON.stringify(value))
    case 'number':
      return floatOf(value)
    case 'boolean':
      return `${value}`
  }
  if (value === null) return 'null'
  if (isListPythonJson(value)) return `[${value.map(pythonJson).join(',')}]`
  const members = Object.entries(value).toSorted(([one], [other]) => byCodePoint(one, other))
  return `{${members.map(([name, each]) => `${pythonJson(name)}:${pythonJson(each)}`).join(',')}}`
}

/**
 * `required` members are always there, also if they are empty; `optional` ones whenever they are set; and `implicit`
 * ones unless they have the value that they would have anyway.
 */
export interface Field {
  readonly presence: 'required' | 'optional' | 'implicit'
  readonly kind: Kind
}

export type Message = Readonly<Record<string, Field>>

/** What a member of a card is, as far as the canonical form has to know (A2A 1.0 §8.4.1). */
export type Kind =
  | 'text'
  | 'flag'
  | 'texts'
  /** Any JSON object, covered as it is. */
  | 'struct'
  | { readonly message: Message }
  | { readonly list: Message }
  | { readonly map: Kind }

function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Both languages write the fewest digits that tell a number, but go over to exponents at other sizes. */
function floatOf(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e16 || (size < 1e-4 && size > 0)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  }
  const text = Object.is(value, -0) ? '-0' : `${value}`
  return Number.isInteger(value) ? `${text}.0` : text
}

function isListPythonJson(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function byCodePoint(one: string, other: string): number {
  const left = Array.from(one, (each) => each.codePointAt(0) ?? 0)
  const right = Array.from(other, (each) => each.codePointAt(0) ?? 0)
  const at = left.findIndex((point, n) => point !== right[n])
  return at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1)
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

function fail(at: string, expected: string): never {
  throw new TypeError(`${at} must be ${expected} in a card of A2A 1.0`)
}

function listOf(given: Json, at: string): readonly Json[] {
  return isList(given) ? given : fail(at, 'a list')
}

function objectOf(given: Json, at: string): JsonObject {
  return isObject(given) ? given : fail(at, 'an object')
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

const required = (kind: Kind): Field => ({ presence: 'required', kind })

const optional = (kind: Kind): Field => ({ presence: 'optional', kind })

const implicit = (kind: Kind): Field => ({ presence: 'implicit', kind })

const requirement: Message = { schemes: implicit({ map: { message: { list: implicit('texts') } } }) }

const ofToken = { tokenUrl: required('text'), refreshUrl: implicit('text'), scopes: required({ map: 'text' }) }

const flows: Message = {
  authorizationCode: optional({
    message: { ...ofToken, authorizationUrl: required('text'), pkceRequired: implicit('flag') },
  }),
  clientCredentials: optional({ message: ofToken }),
  implicit: optional({
    message: { authorizationUrl: implicit('text'), refreshUrl: implicit('text'), scopes: implicit({ map: 'text' }) },
  }),
  password: optional({
    message: { tokenUrl: implicit('text'), refreshUrl: implicit('text'), scopes: implicit({ map: 'text' }) },
  }),
  deviceCode: optional({ message: { ...ofToken, deviceAuthorizationUrl: required('text') } }),
}

const description = implicit('text')

const scheme: Message = {
  apiKeySecurityScheme: optional({
    message: { description, location: required('text'), name: required('text') },
  }),
  httpAuthSecurityScheme: optional({
    message: { description, scheme: required('text'), bearerFormat: implicit('text') },
  }),
  oauth2SecurityScheme: optional({
    message: { description, flows: required({ message: flows }), oauth2MetadataUrl: implicit('text') },
  }),
  openIdConnectSecurityScheme: optional({ message: { description, openIdConnectUrl: required('text') } }),
  mtlsSecurityScheme: optional({ message: { description } }),
}

const extension: Message = {
  uri: implicit('text'),
  description,
  required: implicit('flag'),
  params: optional('struct'),
}

const skill: Message = {
  id: required('text'),
  name: required('text'),
  description: required('text'),
  tags: required('texts'),
  examples: implicit('texts'),
  inputModes: implicit('texts'),
  outputModes: implicit('texts'),
  securityRequirements: implicit({ list: requirement }),
}

const agentInterface: Message = {
  url: required('text'),
  protocolBinding: required('text'),
  tenant: implicit('text'),
  protocolVersion: required('text'),
}

/** All that a card of A2A 1.0 has, but its signatures. */
const cardFields: Message = {
  name: required('text'),
  description: required('text'),
  supportedInterfaces: required({ list: agentInterface }),
  provider: optional({ message: { url: required('text'), organization: required('text') } }),
  version: required('text'),
  documentationUrl: optional('text'),
  capabilities: required({
    message: {
      streaming: optional('flag'),
      pushNotifications: optional('flag'),
      extensions: implicit({ list: extension }),
      extendedAgentCard: optional('flag'),
    },
  }),
  securitySchemes: implicit({ map: { message: scheme } }),
  securityRequirements: implicit({ list: requirement }),
  defaultInputModes: required('texts'),
  defaultOutputModes: required('texts'),
  skills: required({ list: skill }),
  iconUrl: optional('text'),
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
