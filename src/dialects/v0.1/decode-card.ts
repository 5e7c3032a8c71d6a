import type { AgentCard, AgentProvider } from '../../protocol/card.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/security.ts'
import type { Draft } from '../draft.ts'
import { isObject } from '../is-object.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import * as wire from './card-schemas.ts'
import { carrying } from './carry.ts'

/** By the text of 0.1; its schema has `text`, which is no media type. */
const defaultModes = ['text/plain']

export function decodeCard(result: unknown): AgentCard {
  const { url, provider, capabilities, authentication, skills, ...card } = readResult(wire.AgentCard, result)
  const { stateTransitionHistory, ...others } = capabilities
  const { defaultInputModes, defaultOutputModes } = card
  const kept: Draft = {}
  if (stateTransitionHistory !== undefined) kept.stateTransitionHistory = stateTransitionHistory
  if (authentication !== undefined) kept.authentication = { ...authentication }
  if (defaultInputModes === undefined) kept.anyInput = true
  if (defaultOutputModes === undefined) kept.anyOutput = true
  return {
    description: '',
    ...card,
    interfaces: [{ url, binding: 'JSONRPC', protocolVersion: '0.1' }],
    capabilities: others,
    defaultInputModes: defaultInputModes ?? defaultModes,
    defaultOutputModes: defaultOutputModes ?? defaultModes,
    skills: skills.map((skill) => ({ description: '', tags: [], ...skill })),
    ...(provider !== undefined && { provider: { url: '', ...provider } satisfies AgentProvider }),
    ...(authentication !== undefined && decodeAuthentication(authentication)),
    ...carrying(kept),
  }
}

/** Each of the schemes will do. */
function decodeAuthentication({ schemes, credentials = '' }: TypeOf<typeof wire.Authentication>) {
  const details = detailsIn(credentials)
  return {
    securitySchemes: Object.fromEntries(schemes.map((name) => [name, decodeScheme(name, details)])),
    security: schemes.map((name) => ({ [name]: [] })),
  }
}

/** A scheme of which too little is told is the one of HTTP by that name. */
function decodeScheme(name: string, details: JsonObject): SecurityScheme {
  const word = name.toLowerCase()
  switch (word) {
    case 'bearer':
    case 'basic':
      return { type: 'http', scheme: word }
    case 'apikey':
      return { type: 'api-key', name: textOf(details.name) ?? 'X-API-Key', location: textOf(details.in) ?? 'header' }
    case 'oauth2': {
      const flow = decodeFlow(details)
      if (flow !== undefined) return { type: 'oauth2', flow }
      break
    }
    case 'openidconnect': {
      const url = textOf(details.openIdConnectUrl)
      if (url !== undefined) return { type: 'openid', url }
    }
  }
  return { type: 'http', scheme: name }
}

function decodeFlow(details: JsonObject): OAuthFlow | undefined {
  const authorizationUrl = textOf(details.authorizationUrl)
  const tokenUrl = textOf(details.tokenUrl)
  const scopes = textsOf(details.scopes)
  if (authorizationUrl === undefined) {
    return tokenUrl === undefined ? undefined : { type: 'client-credentials', tokenUrl, scopes }
  }
  return tokenUrl === undefined
    ? { type: 'implicit', authorizationUrl, scopes }
    : { type: 'authorization-code', authorizationUrl, tokenUrl, scopes }
}

/** Mostly JSON, as a text; or just the address of an OpenID provider. */
function detailsIn(credentials: string): JsonObject {
  if (URL.canParse(credentials)) return { openIdConnectUrl: credentials }
  try {
    const details: unknown = JSON.parse(credentials)
    return isObject(details) ? details : {}
  } catch {
    return {}
  }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function textsOf(value: Json | undefined): Readonly<Record<string, string>> {
  if (!isObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
