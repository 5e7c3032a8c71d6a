import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type {
  AgentCapabilities,
  AgentCard,
  AgentProvider,
  AgentSkill,
  OAuthFlow,
  SecurityScheme,
} from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Infer } from '../../schema/schema.ts'
import { type Draft, readResult } from '../codec.ts'
import { readCarry, toCarry } from './parts.ts'
import * as wire from './schemas.ts'

/** The default of the text of 0.1. Its schema has `text`, which is no media type. */
const defaultModes = ['text/plain']

export function decodeCard(result: unknown): AgentCard {
  const { url, provider, capabilities, authentication, skills, ...card } = readResult(wire.AgentCard, result)
  const { defaultInputModes, defaultOutputModes } = card
  const extras: Draft = {}
  if (authentication !== undefined) extras.authentication = { ...authentication }
  if (defaultInputModes === undefined) extras.anyInput = true
  if (defaultOutputModes === undefined) extras.anyOutput = true
  return {
    description: '',
    ...card,
    interfaces: [{ url, binding: 'JSONRPC', protocolVersion: '0.1' }],
    capabilities,
    defaultInputModes: defaultInputModes ?? defaultModes,
    defaultOutputModes: defaultOutputModes ?? defaultModes,
    skills: skills.map((skill) => ({ description: '', tags: [], ...skill })),
    ...defined({ provider: provider === undefined ? undefined : ({ url: '', ...provider } satisfies AgentProvider) }),
    ...(authentication !== undefined && decodeAuthentication(authentication)),
    ...toCarry(extras),
  }
}

/** Throws if the agent has no 0.1 interface. */
export function encodeCard(card: AgentCard): JsonObject {
  const extras = readCarry(card.carry)
  const authentication = extras.authentication ?? encodeAuthentication(card)
  const wire: Draft = {
    name: card.name,
    url: urlOf(card),
    version: card.version,
    capabilities: encodeCapabilities(card.capabilities),
    skills: card.skills.map(encodeSkill),
  }
  if (card.description) wire.description = card.description
  if (card.provider) {
    const { organization, url } = card.provider
    wire.provider = url ? { organization, url } : { organization }
  }
  if (card.documentationUrl !== undefined) wire.documentationUrl = card.documentationUrl
  if (authentication !== undefined) wire.authentication = authentication
  if (!extras.anyInput) wire.defaultInputModes = card.defaultInputModes
  if (!extras.anyOutput) wire.defaultOutputModes = card.defaultOutputModes
  return wire
}

/** Each scheme is an alternative. */
function decodeAuthentication({ schemes, credentials = '' }: Infer<typeof wire.Authentication>) {
  const details = detailsIn(credentials)
  return {
    securitySchemes: Object.fromEntries(schemes.map((name) => [name, decodeScheme(name, details)])),
    security: schemes.map((name) => ({ [name]: [] })),
  }
}

/** The credentials are usually JSON in a string, or the URL of an OpenID provider. */
function detailsIn(credentials: string): JsonObject {
  if (URL.canParse(credentials)) return { openIdConnectUrl: credentials }
  try {
    const details: unknown = JSON.parse(credentials)
    return isObject(details) ? details : {}
  } catch {
    return {}
  }
}

/** A scheme with too few details becomes the HTTP scheme of the same name. */
function decodeScheme(name: string, details: JsonObject): SecurityScheme {
  const lowerCase = name.toLowerCase()
  switch (lowerCase) {
    case 'bearer':
    case 'basic':
      return { type: 'http', scheme: lowerCase }
    case 'apikey':
      return {
        type: 'api-key',
        name: stringOf(details.name) ?? 'X-API-Key',
        location: stringOf(details.in) ?? 'header',
      }
    case 'oauth2': {
      const flow = decodeFlow(details)
      if (flow !== undefined) return { type: 'oauth2', flow }
      break
    }
    case 'openidconnect': {
      const url = stringOf(details.openIdConnectUrl)
      if (url !== undefined) return { type: 'openid', url }
    }
  }
  return { type: 'http', scheme: name }
}

function stringOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function decodeFlow(details: JsonObject): OAuthFlow | undefined {
  const authorizationUrl = stringOf(details.authorizationUrl)
  const tokenUrl = stringOf(details.tokenUrl)
  const scopes = stringsIn(details.scopes)
  if (authorizationUrl === undefined) {
    return tokenUrl === undefined ? undefined : { type: 'client-credentials', tokenUrl, scopes }
  }
  return tokenUrl === undefined
    ? { type: 'implicit', authorizationUrl, scopes }
    : { type: 'authorization-code', authorizationUrl, tokenUrl, scopes }
}

function stringsIn(value: Json | undefined): Readonly<Record<string, string>> {
  if (!isObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** The required schemes. The credentials are not secret: they hold the details of the scheme, if only one has any. */
function encodeAuthentication({ security = [], securitySchemes = {} }: AgentCard): JsonObject | undefined {
  const required = new Set(security.flatMap((requirement) => Object.keys(requirement)))
  const schemesByName = new Map(Object.entries(securitySchemes))
  const schemes = [...required].flatMap((name) => schemesByName.get(name) ?? [])
  if (schemes.length === 0) return undefined
  const names = [...new Set(schemes.map(nameOf))]
  const [details, ...others] = schemes.flatMap((scheme) => detailsOf(scheme) ?? [])
  const isUnambiguous = details !== undefined && others.length === 0
  return isUnambiguous ? { schemes: names, credentials: JSON.stringify(details) } : { schemes: names }
}

function nameOf(scheme: SecurityScheme): string {
  switch (scheme.type) {
    case 'http':
      return httpNames.get(scheme.scheme.toLowerCase()) ?? scheme.scheme
    case 'api-key':
      return 'ApiKey'
    case 'oauth2':
      return 'OAuth2'
    case 'openid':
      return 'OpenIdConnect'
    case 'mutual-tls':
      return 'MutualTLS'
  }
}

const httpNames: ReadonlyMap<string, string> = new Map([
  ['bearer', 'Bearer'],
  ['basic', 'Basic'],
])

function detailsOf(scheme: SecurityScheme): JsonObject | undefined {
  switch (scheme.type) {
    case 'api-key':
      return { in: scheme.location, name: scheme.name }
    case 'oauth2':
      return detailsOfFlow(scheme.flow)
    case 'openid':
      return { openIdConnectUrl: scheme.url }
    case 'http':
    case 'mutual-tls':
      return undefined
  }
}

/** A flow is identified by its URLs, so flows with the same URLs as another one cannot be encoded. */
function detailsOfFlow(flow: OAuthFlow): JsonObject | undefined {
  switch (flow.type) {
    case 'authorization-code':
      return { authorizationUrl: flow.authorizationUrl, tokenUrl: flow.tokenUrl, scopes: flow.scopes }
    case 'client-credentials':
      return { tokenUrl: flow.tokenUrl, scopes: flow.scopes }
    case 'implicit':
      return { authorizationUrl: flow.authorizationUrl, scopes: flow.scopes }
    case 'device-code':
    case 'password':
      return undefined
  }
}

function urlOf({ interfaces }: AgentCard): string {
  const v0_1 = interfaces.find(({ binding, protocolVersion }) => binding === 'JSONRPC' && protocolVersion === '0.1')
  if (v0_1 === undefined) throw new A2AError('version-not-supported', 'This agent does not speak A2A 0.1.')
  return v0_1.url
}

function encodeCapabilities(capabilities: AgentCapabilities): JsonObject {
  const { streaming, pushNotifications, stateTransitionHistory } = capabilities
  const wire: Draft = {}
  if (streaming !== undefined) wire.streaming = streaming
  if (pushNotifications !== undefined) wire.pushNotifications = pushNotifications
  if (stateTransitionHistory !== undefined) wire.stateTransitionHistory = stateTransitionHistory
  return wire
}

function encodeSkill({ id, name, description, tags, examples, inputModes, outputModes }: AgentSkill): JsonObject {
  const wire: Draft = { id, name }
  if (description) wire.description = description
  if (tags.length > 0) wire.tags = tags
  if (examples !== undefined) wire.examples = examples
  if (inputModes !== undefined) wire.inputModes = inputModes
  if (outputModes !== undefined) wire.outputModes = outputModes
  return wire
}
