import type { Json, JsonObject } from '../../protocol/model.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/security.ts'
import { isObject } from '../is-object.ts'
import type { TypeOf } from '../shape.ts'
import { cardDecoder } from './card-decoder.ts'
import * as wire from './card-schemas.ts'

export const decodeCard = cardDecoder(wire.AgentCard, decodeAuthentication)

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
