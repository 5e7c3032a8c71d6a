import canonicalize from 'canonicalize'
import { isObject, type Json, type JsonObject } from '../../base/json.ts'

/** A text that a signature may cover. */
export interface CanonicalForm {
  /** The members of the card that the text contains. A verifier must ignore all others. */
  readonly covered: JsonObject
  /** As RFC 8785 writes it, except for the Python form. */
  readonly text: string
}

/** The form that A2A 1.0 specifies (§8.4.1). Throws if a member has another type than in 1.0. */
export function specifiedForm(card: JsonObject): CanonicalForm {
  return formOf(encodeMessage(cardMembers, card, ''))
}

/** The whole card as it is, with members of all versions. Ours, for cards that 0.2 and 0.3 clients read as well. */
export function completeForm({ signatures: _, ...card }: JsonObject): CanonicalForm {
  return formOf(card)
}

/** The specified form without empty values, as all official SDKs clean it. The next two differ from it in one point each. */
export function cleanedForm(card: JsonObject): CanonicalForm {
  const cleaned = removeEmpty(encodeMessage(cardMembers, card, ''))
  return formOf(isObject(cleaned) ? cleaned : {})
}

/** As `@a2a-js/sdk` 1.0.1 to 1.3.0 signs cards: reading a card again, it loses the security schemes. */
export function schemelessForm({ securitySchemes: _, ...card }: JsonObject): CanonicalForm {
  return cleanedForm(card)
}

/** As the Python SDK `a2a-sdk` signs cards: written by `json.dumps` instead of by RFC 8785. */
export function pythonForm(card: JsonObject): CanonicalForm {
  const { covered } = cleanedForm(card)
  return { covered, text: pythonJson(covered) }
}

/** Whether the card has no members, except empty ones, that 1.0 does not have. */
export function hasOnly1_0Members({ signatures: _, ...card }: JsonObject): boolean {
  return canonicalize(removeEmpty(card)) === cleanedForm(card).text
}

/**
 * A value as Python's `json.dumps` writes it after protobuf has read it: like RFC 8785, but in ASCII, with members in
 * the order of code points, and with all numbers as floats.
 */
export function pythonJson(value: Json): string {
  switch (typeof value) {
    case 'string':
      return ascii(JSON.stringify(value))
    case 'number':
      return pythonFloat(value)
    case 'boolean':
      return `${value}`
  }
  if (value === null) return 'null'
  if (isList(value)) return `[${value.map(pythonJson).join(',')}]`
  const members = Object.entries(value).toSorted(([one], [other]) => byCodePoint(one, other))
  return `{${members.map(([name, member]) => `${pythonJson(name)}:${pythonJson(member)}`).join(',')}}`
}

/** The type of a member of a card, as far as the canonical form depends on it. */
type MemberKind =
  | 'text'
  | 'flag'
  | 'texts'
  /** Any JSON object, covered as it is. */
  | 'struct'
  | { readonly message: MessageMembers }
  | { readonly list: MessageMembers }
  | { readonly map: MemberKind }

/**
 * `required` members are always present, even when empty; `optional` ones whenever they are set; `implicit` ones unless
 * they have their default value.
 */
interface Member {
  readonly presence: 'required' | 'optional' | 'implicit'
  readonly kind: MemberKind
}

type MessageMembers = Readonly<Record<string, Member>>

function formOf(covered: JsonObject): CanonicalForm {
  return { covered, text: canonicalize(covered) ?? '' }
}

function encodeMessage(members: MessageMembers, value: JsonObject, path: string): JsonObject {
  const encoded: [string, Json][] = []
  for (const [name, { presence, kind }] of Object.entries(members)) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    const isSet = member !== undefined && member !== null
    if (!isSet && presence !== 'required') continue
    const result = isSet ? encodeMember(kind, member, path === '' ? name : `${path}.${name}`) : emptyOf(kind)
    if (presence !== 'implicit' || !isDefault(result)) encoded.push([name, result])
  }
  return Object.fromEntries(encoded)
}

function encodeMember(kind: MemberKind, value: Json, path: string): Json {
  switch (kind) {
    case 'text':
      return typeof value === 'string' ? value : fail(path, 'text')
    case 'flag':
      return typeof value === 'boolean' ? value : fail(path, 'true or false')
    case 'texts':
      return requireList(value, path).map((item, n) => encodeMember('text', item, `${path}[${n}]`))
    case 'struct':
      return requireObject(value, path)
  }
  if ('list' in kind) {
    return requireList(value, path).map((item, n) => encodeMember({ message: kind.list }, item, `${path}[${n}]`))
  }
  if ('message' in kind) return encodeMessage(kind.message, requireObject(value, path), path)
  const entries = Object.entries(requireObject(value, path))
  return Object.fromEntries(entries.map(([name, entry]) => [name, encodeMember(kind.map, entry, `${path}.${name}`)]))
}

function requireList(value: Json, path: string): readonly Json[] {
  return isList(value) ? value : fail(path, 'a list')
}

function requireObject(value: Json, path: string): JsonObject {
  return isObject(value) ? value : fail(path, 'an object')
}

function fail(path: string, expected: string): never {
  throw new TypeError(`${path} must be ${expected} in a card of A2A 1.0`)
}

function emptyOf(kind: MemberKind): Json {
  if (kind === 'text') return ''
  if (kind === 'flag') return false
  if (kind === 'texts' || (typeof kind === 'object' && 'list' in kind)) return []
  return typeof kind === 'object' && 'message' in kind ? encodeMessage(kind.message, {}, '') : {}
}

function isDefault(value: Json): boolean {
  return value === '' || value === false || isEmpty(value)
}

const required = (kind: MemberKind): Member => ({ presence: 'required', kind })

const optional = (kind: MemberKind): Member => ({ presence: 'optional', kind })

const implicit = (kind: MemberKind): Member => ({ presence: 'implicit', kind })

const requirement: MessageMembers = { schemes: implicit({ map: { message: { list: implicit('texts') } } }) }

const tokenMembers = { tokenUrl: required('text'), refreshUrl: implicit('text'), scopes: required({ map: 'text' }) }

const flows: MessageMembers = {
  authorizationCode: optional({
    message: { ...tokenMembers, authorizationUrl: required('text'), pkceRequired: implicit('flag') },
  }),
  clientCredentials: optional({ message: tokenMembers }),
  implicit: optional({
    message: { authorizationUrl: implicit('text'), refreshUrl: implicit('text'), scopes: implicit({ map: 'text' }) },
  }),
  password: optional({
    message: { tokenUrl: implicit('text'), refreshUrl: implicit('text'), scopes: implicit({ map: 'text' }) },
  }),
  deviceCode: optional({ message: { ...tokenMembers, deviceAuthorizationUrl: required('text') } }),
}

const description = implicit('text')

const scheme: MessageMembers = {
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

const extension: MessageMembers = {
  uri: implicit('text'),
  description,
  required: implicit('flag'),
  params: optional('struct'),
}

const skill: MessageMembers = {
  id: required('text'),
  name: required('text'),
  description: required('text'),
  tags: required('texts'),
  examples: implicit('texts'),
  inputModes: implicit('texts'),
  outputModes: implicit('texts'),
  securityRequirements: implicit({ list: requirement }),
}

const agentInterface: MessageMembers = {
  url: required('text'),
  protocolBinding: required('text'),
  tenant: implicit('text'),
  protocolVersion: required('text'),
}

/** All members of an A2A 1.0 card except its signatures. */
const cardMembers: MessageMembers = {
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

/** Removes empty values at every depth. Undefined if nothing is left. */
function removeEmpty(value: Json): Json | undefined {
  if (value === '' || value === null) return undefined
  if (typeof value !== 'object') return value
  const rest: Json = isList(value)
    ? value.map(removeEmpty).filter((item) => item !== undefined)
    : Object.fromEntries(
        Object.entries(value).flatMap(([name, member]) => {
          const cleaned = removeEmpty(member)
          return cleaned === undefined ? [] : [[name, cleaned] as const]
        }),
      )
  return isEmpty(rest) ? undefined : rest
}

function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Both languages write the shortest digits that identify a number, but switch to exponents at different sizes. */
function pythonFloat(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e16 || (size < 1e-4 && size > 0)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  }
  const text = Object.is(value, -0) ? '-0' : `${value}`
  return Number.isInteger(value) ? `${text}.0` : text
}

function byCodePoint(one: string, other: string): number {
  const left = Array.from(one, (character) => character.codePointAt(0) ?? 0)
  const right = Array.from(other, (character) => character.codePointAt(0) ?? 0)
  const at = left.findIndex((point, n) => point !== right[n])
  return at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1)
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
