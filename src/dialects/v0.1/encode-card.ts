import type { AgentCard, AgentSkill } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/security.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'

/** Throws if the agent cannot be reached by 0.1: then there is nothing that such a card could say. */
export function encodeCard(card: AgentCard): JsonObject {
  const kept = carried(card.carry)
  const authentication = kept.authentication ?? encodeAuthentication(card)
  const wire: Draft = {
    name: card.name,
    url: urlOf(card),
    version: card.version,
    capabilities: encodeCapabilities(card),
    skills: card.skills.map(encodeSkill),
  }
  if (card.description) wire.description = card.description
  if (card.provider) {
    const { organization, url } = card.provider
    wire.provider = url ? { organization, url } : { organization }
  }
  if (card.documentationUrl !== undefined) wire.documentationUrl = card.documentationUrl
  if (authentication !== undefined) wire.authentication = authentication
  if (!kept.anyInput) wire.defaultInputModes = card.defaultInputModes
  if (!kept.anyOutput) wire.defaultOutputModes = card.defaultOutputModes
  return wire
}

function urlOf({ interfaces }: AgentCard): string {
  const own = interfaces.find(({ binding, protocolVersion }) => binding === 'JSONRPC' && protocolVersion === '0.1')
  if (own === undefined) throw new A2AError('version-not-supported', 'This agent does not speak A2A 0.1.')
  return own.url
}

function encodeCapabilities({ capabilities, carry }: AgentCard): JsonObject {
  const { streaming, pushNotifications } = capabilities
  const { stateTransitionHistory } = carried(carry)
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

/** Only what callers must have. The credentials are no secret, but what else they must know of the one scheme. */
function encodeAuthentication({ security = [], securitySchemes = {} }: AgentCard): JsonObject | undefined {
  const required = new Set(security.flatMap((requirement) => Object.keys(requirement)))
  const known = new Map(Object.entries(securitySchemes))
  const schemes = [...required].flatMap((name) => known.get(name) ?? [])
  if (schemes.length === 0) return undefined
  const names = [...new Set(schemes.map(nameOf))]
  const [details, ...others] = schemes.flatMap((scheme) => detailsOf(scheme) ?? [])
  const isClear = details !== undefined && others.length === 0
  return isClear ? { schemes: names, credentials: JSON.stringify(details) } : { schemes: names }
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

/** A flow is known by which addresses it has, so that one with the addresses of another cannot be told. */
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
