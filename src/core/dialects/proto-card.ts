import { isObject, type Json, type JsonObject } from '../base/json.ts'
import type {
  AgentExtension,
  AgentSkill,
  CardSignature,
  OAuthFlow,
  SecurityRequirement,
  SecurityScheme,
} from '../protocol/card.ts'
import type { Infer, Schema } from '../schema/schema.ts'
import { boolean, defaultsTo, implicit, list, map, object, optional, string, struct } from '../schema/values.ts'
import type { Draft } from './codec.ts'

// The parts of cards in ProtoJSON that A2A 1.0 and the proto of 0.3 share.

const text = defaultsTo(string(), '')

const strings = defaultsTo(list(string()), [])

const optionalStrings = implicit(list(string()))

const description = implicit(string())

export const skillFields = {
  id: text,
  name: text,
  description: text,
  tags: strings,
  examples: optionalStrings,
  inputModes: optionalStrings,
  outputModes: optionalStrings,
}

const Extension = object({
  uri: string({ min: 1 }),
  description,
  required: implicit(boolean()),
  params: optional(struct()),
})

export const extensions = implicit(list(Extension))

const Signature = object({ protected: string(), signature: string(), header: optional(struct()) })

export const cardFields = {
  name: string({ min: 1 }),
  description: text,
  version: text,
  defaultInputModes: strings,
  defaultOutputModes: strings,
  provider: optional(object({ organization: text, url: text })),
  signatures: implicit(list(Signature)),
}

const flowFields = { refreshUrl: implicit(string()), scopes: defaultsTo(map(string()), {}) }

/** The flows of the proto of 0.3, which has no device code flow and no PKCE. */
export const v0_3Flows = {
  authorizationCode: object({ authorizationUrl: text, tokenUrl: text, ...flowFields }),
  clientCredentials: object({ tokenUrl: text, ...flowFields }),
  implicit: object({ authorizationUrl: text, ...flowFields }),
  password: object({ tokenUrl: text, ...flowFields }),
}

const flows = {
  ...v0_3Flows,
  authorizationCode: object({
    authorizationUrl: text,
    tokenUrl: text,
    pkceRequired: implicit(boolean()),
    ...flowFields,
  }),
  deviceCode: object({ deviceAuthorizationUrl: text, tokenUrl: text, ...flowFields }),
}

export const Scheme = schemeWith(object({}, { oneOf: flows }))

/** `schemes` is required: cards of older versions lack it, and would be read as if no credentials were required. */
export const Requirement = object({ schemes: map(object({ list: implicit(list(string())) })) })

export function schemeWith<F>(oauthFlows: Schema<F>) {
  const choices = {
    apiKeySecurityScheme: object({ description, location: text, name: text }),
    httpAuthSecurityScheme: object({ description, scheme: text, bearerFormat: implicit(string()) }),
    oauth2SecurityScheme: object({ description, flows: oauthFlows, oauth2MetadataUrl: implicit(string()) }),
    openIdConnectSecurityScheme: object({ description, openIdConnectUrl: text }),
    mtlsSecurityScheme: object({ description }),
  }
  return object({}, { oneOf: choices })
}

/** Encodes a skill except for its security requirements. */
export function draftSkill({ id, name, description, tags, examples, inputModes, outputModes }: AgentSkill): Draft {
  const wire: Draft = { id, name, description, tags }
  if (examples?.length) wire.examples = examples
  if (inputModes?.length) wire.inputModes = inputModes
  if (outputModes?.length) wire.outputModes = outputModes
  return wire
}

export function encodeExtension({ uri, description, required, params }: AgentExtension): JsonObject {
  const wire: Draft = { uri }
  if (description) wire.description = description
  if (required) wire.required = true
  if (params) wire.params = params
  return wire
}

export function encodeSignature({ protected: protectedHeader, signature, header }: CardSignature): JsonObject {
  const wire: Draft = { protected: protectedHeader, signature }
  if (header) wire.header = header
  return wire
}

export function decodeScheme(wire: Infer<typeof Scheme>): SecurityScheme {
  if ('apiKeySecurityScheme' in wire) return { type: 'api-key', ...wire.apiKeySecurityScheme }
  if ('httpAuthSecurityScheme' in wire) return { type: 'http', ...wire.httpAuthSecurityScheme }
  if ('oauth2SecurityScheme' in wire) {
    const { flows, oauth2MetadataUrl: metadataUrl, ...scheme } = wire.oauth2SecurityScheme
    return { type: 'oauth2', ...scheme, flow: decodeFlow(flows), metadataUrl }
  }
  if ('openIdConnectSecurityScheme' in wire) {
    const { openIdConnectUrl: url, ...scheme } = wire.openIdConnectSecurityScheme
    return { type: 'openid', ...scheme, url }
  }
  return { type: 'mutual-tls', ...wire.mtlsSecurityScheme }
}

export function decodeRequirement({ schemes }: Infer<typeof Requirement>): SecurityRequirement {
  return mapValues(schemes, ({ list = [] }) => list)
}

/** `unusable` are schemes of unknown types, which are written as they were received. */
export function encodeSchemes(schemes: Readonly<Record<string, SecurityScheme>>, unusable: Json = {}): JsonObject {
  const encoded = mapValues(schemes, encodeScheme)
  return isObject(unusable) ? { ...unusable, ...encoded } : encoded
}

/** ProtoJSON omits empty lists: a scheme without scopes is an empty object. */
export function encodeRequirement(requirement: SecurityRequirement): JsonObject {
  return { schemes: mapValues(requirement, (scopes): JsonObject => (scopes.length > 0 ? { list: scopes } : {})) }
}

export function mapValues<T, U>(from: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, change(value)]))
}

function decodeFlow(wire: Flows): OAuthFlow {
  if ('authorizationCode' in wire) return { type: 'authorization-code', ...wire.authorizationCode }
  if ('clientCredentials' in wire) return { type: 'client-credentials', ...wire.clientCredentials }
  if ('implicit' in wire) return { type: 'implicit', ...wire.implicit }
  if ('password' in wire) return { type: 'password', ...wire.password }
  return { type: 'device-code', ...wire.deviceCode }
}

type Flows = Extract<Infer<typeof Scheme>, { readonly oauth2SecurityScheme: unknown }>['oauth2SecurityScheme']['flows']

function encodeScheme(scheme: SecurityScheme): JsonObject {
  const wire: Draft = {}
  if (scheme.description) wire.description = scheme.description
  switch (scheme.type) {
    case 'api-key':
      return { apiKeySecurityScheme: { ...wire, location: scheme.location, name: scheme.name } }
    case 'http':
      wire.scheme = scheme.scheme
      if (scheme.bearerFormat) wire.bearerFormat = scheme.bearerFormat
      return { httpAuthSecurityScheme: wire }
    case 'oauth2':
      wire.flows = encodeFlow(scheme.flow)
      if (scheme.metadataUrl) wire.oauth2MetadataUrl = scheme.metadataUrl
      return { oauth2SecurityScheme: wire }
    case 'openid':
      return { openIdConnectSecurityScheme: { ...wire, openIdConnectUrl: scheme.url } }
    case 'mutual-tls':
      return { mtlsSecurityScheme: wire }
  }
}

function encodeFlow(flow: OAuthFlow): JsonObject {
  const wire: Draft = { scopes: flow.scopes }
  if (flow.refreshUrl) wire.refreshUrl = flow.refreshUrl
  switch (flow.type) {
    case 'authorization-code':
      if (flow.pkceRequired) wire.pkceRequired = true
      return { authorizationCode: { ...wire, authorizationUrl: flow.authorizationUrl, tokenUrl: flow.tokenUrl } }
    case 'client-credentials':
      return { clientCredentials: { ...wire, tokenUrl: flow.tokenUrl } }
    case 'device-code': {
      const { deviceAuthorizationUrl, tokenUrl } = flow
      return { deviceCode: { ...wire, deviceAuthorizationUrl, tokenUrl } }
    }
    case 'implicit':
      return { implicit: { ...wire, authorizationUrl: flow.authorizationUrl } }
    case 'password':
      return { password: { ...wire, tokenUrl: flow.tokenUrl } }
  }
}
