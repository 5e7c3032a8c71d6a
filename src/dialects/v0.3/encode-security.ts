import type { AgentCard } from '../../protocol/card.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import type { OAuthFlow, SecurityRequirement, SecurityScheme } from '../../protocol/security.ts'
import type { Draft } from '../draft.ts'
import { isObject } from '../is-object.ts'
import { carried } from './carry.ts'
import { flowNames, isTwinName, renamed } from './twins.ts'

type Schemes = ReadonlyMap<string, SecurityScheme>

export interface EncodedSecurity {
  readonly schemes: JsonObject
  encodeRequirements(requirements: readonly SecurityRequirement[]): readonly SecurityRequirement[]
}

/** Schemes of a type that the version `lacks` are left out, and so are the requirements that name them. */
export function encodeSecurity(card: AgentCard, lacks: readonly SecurityScheme['type'][]): EncodedSecurity {
  const all: Schemes = new Map(Object.entries(card.securitySchemes ?? {}))
  const told: Schemes = new Map([...all].filter(([, scheme]) => !lacks.includes(scheme.type) && !isDeviceCode(scheme)))
  const homes = homesOf(told)
  const { unusable } = carried(card.carry)
  const schemes = new Map<string, Json>(isObject(unusable) ? Object.entries(unusable) : [])
  for (const [name, scheme] of told) {
    const twins = [...told].filter(([twin]) => homes.get(twin) === name).map(([, twin]) => twin)
    if (!homes.has(name)) schemes.set(name, encodeScheme(scheme, twins))
  }
  return {
    schemes: Object.fromEntries(schemes),
    encodeRequirements(requirements) {
      const isTold = (name: string) => told.has(name) || !all.has(name)
      return withoutTwins(
        requirements.filter((requirement) => Object.keys(requirement).every(isTold)),
        homes,
      )
    },
  }
}

function isDeviceCode(scheme: SecurityScheme): boolean {
  return scheme.type === 'oauth2' && scheme.flow.type === 'device-code'
}

/** For the name of each twin, the name of the scheme to which its flow belongs. */
function homesOf(schemes: Schemes): ReadonlyMap<string, string> {
  const homes = new Map<string, string>()
  for (const [name, scheme] of schemes) {
    const home = homeOf(name, scheme, schemes)
    if (home !== undefined) homes.set(name, home)
  }
  return homes
}

function homeOf(name: string, scheme: SecurityScheme, schemes: Schemes): string | undefined {
  if (scheme.type !== 'oauth2') return undefined
  const { flow, description, metadataUrl } = scheme
  const { twinOf = isTwinName(name, flow) ? name.slice(0, name.lastIndexOf('.')) : null } = carried(scheme.carry)
  if (typeof twinOf !== 'string') return undefined
  const home = schemes.get(twinOf)
  if (home?.type !== 'oauth2' || home.flow.type === flow.type) return undefined
  const isSame = home.description === description && home.metadataUrl === metadataUrl
  return isSame && homeOf(twinOf, home, schemes) === undefined ? twinOf : undefined
}

/** What can be met by a twin can be met by the scheme to which it belongs, and is usually said of both. */
function withoutTwins(
  requirements: readonly SecurityRequirement[],
  homes: ReadonlyMap<string, string>,
): readonly SecurityRequirement[] {
  const namesTwin = (requirement: SecurityRequirement) => Object.keys(requirement).some((name) => homes.has(name))
  const said = new Set(requirements.filter((each) => !namesTwin(each)).map((each) => JSON.stringify(each)))
  return requirements.flatMap((requirement) => {
    if (!namesTwin(requirement)) return [requirement]
    const meant = renamed(requirement, (name) => homes.get(name) ?? name)
    const text = JSON.stringify(meant)
    if (said.has(text)) return []
    said.add(text)
    return [meant]
  })
}

function encodeScheme(scheme: SecurityScheme, twins: readonly SecurityScheme[]): JsonObject {
  const wire = draftScheme(scheme, twins)
  if (scheme.description !== undefined) wire.description = scheme.description
  return wire
}

function draftScheme(scheme: SecurityScheme, twins: readonly SecurityScheme[]): Draft {
  switch (scheme.type) {
    case 'api-key':
      return { type: 'apiKey', in: scheme.location, name: scheme.name }
    case 'http': {
      const wire: Draft = { type: 'http', scheme: scheme.scheme }
      if (scheme.bearerFormat !== undefined) wire.bearerFormat = scheme.bearerFormat
      return wire
    }
    case 'oauth2': {
      const flows = [scheme, ...twins].flatMap((each) => (each.type === 'oauth2' ? [each.flow] : []))
      const wire: Draft = { type: 'oauth2', flows: Object.fromEntries(flows.map(encodeFlow)) }
      if (scheme.metadataUrl !== undefined) wire.oauth2MetadataUrl = scheme.metadataUrl
      return wire
    }
    case 'openid':
      return { type: 'openIdConnect', openIdConnectUrl: scheme.url }
    case 'mutual-tls':
      return { type: 'mutualTLS' }
  }
}

function encodeFlow(flow: OAuthFlow): [string | undefined, JsonObject] {
  const wire: Draft = { scopes: flow.scopes }
  if ('authorizationUrl' in flow) wire.authorizationUrl = flow.authorizationUrl
  if ('tokenUrl' in flow) wire.tokenUrl = flow.tokenUrl
  if (flow.refreshUrl !== undefined) wire.refreshUrl = flow.refreshUrl
  return [flowNames[flow.type], wire]
}
