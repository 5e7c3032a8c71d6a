import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { AgentCard, OAuthFlow, SecurityRequirement, SecurityScheme } from '../../protocol/card.ts'
import type { Infer } from '../../schema/schema.ts'
import type { Draft } from '../codec.ts'
import { carried, carrying } from './parts.ts'
import type * as wire from './schemas.ts'

export interface DecodedSchemes {
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  readonly unusable: JsonObject
  /** The names of its twins, by the name of the scheme. */
  readonly twins: ReadonlyMap<string, readonly string[]>
}

/** `taken` are the names that no twin can have. */
export function decodeSchemes(given: Readonly<Record<string, WireScheme>>, taken: ReadonlySet<string>): DecodedSchemes {
  const schemes: Named<SecurityScheme>[] = []
  const unusable: Named<JsonObject>[] = []
  const twins = new Map<string, readonly string[]>()
  for (const [name, scheme] of Object.entries(given)) {
    if ('unusable' in scheme) unusable.push([name, scheme.unusable])
    else if ('oauth2' in scheme) {
      const decoded = decodeOAuth2(name, scheme.oauth2, taken)
      schemes.push(...decoded)
      const [, ...others] = decoded.map(([flowName]) => flowName)
      twins.set(name, others)
    } else schemes.push([name, decodeScheme(scheme)])
  }
  return { schemes: Object.fromEntries(schemes), unusable: Object.fromEntries(unusable), twins }
}

/**
 * Whoever may call by a scheme may call by a twin of it. One is exchanged at a time: all combinations of all of them
 * could be more than anybody can read.
 */
export function decodeRequirements(
  requirements: readonly SecurityRequirement[],
  twins: DecodedSchemes['twins'],
): readonly SecurityRequirement[] {
  return requirements.flatMap((requirement) => [
    requirement,
    ...Object.keys(requirement).flatMap((name) =>
      (twins.get(name) ?? []).map((twin) => renamed(requirement, (each) => (each === name ? twin : each))),
    ),
  ])
}

export interface EncodedSecurity {
  readonly schemes: JsonObject
  encodeRequirements(requirements: readonly SecurityRequirement[]): readonly SecurityRequirement[]
}

/** Schemes of a type that the version `lacks` are left out, and so are the requirements that name them. */
export function encodeSecurity(card: AgentCard, lacks: readonly SecurityScheme['type'][]): EncodedSecurity {
  const all: Schemes = new Map(Object.entries(card.securitySchemes ?? {}))
  const told: Schemes = new Map([...all].filter(([, scheme]) => !lacks.includes(scheme.type) && !isDeviceCode(scheme)))
  const homes = mainSchemes(told)
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
      return mergeFlowRequirements(
        requirements.filter((requirement) => Object.keys(requirement).every(isTold)),
        homes,
      )
    },
  }
}

type WireScheme = Infer<typeof wire.SecurityScheme>

type Named<T> = readonly [name: string, value: T]

/** The first flow keeps the name of the scheme. */
function decodeOAuth2(name: string, scheme: OAuth2, taken: ReadonlySet<string>): readonly Named<SecurityScheme>[] {
  const { flows, oauth2MetadataUrl: metadataUrl, ...members } = scheme
  const shared = metadataUrl === undefined ? members : { ...members, metadataUrl }
  return decodeFlows(flows).map((flow, index) => {
    const decoded = { type: 'oauth2', ...shared, flow } as const
    if (index > 0) return [freeName(flowSchemeName(name, flow), taken), { ...decoded, ...carrying({ twinOf: name }) }]
    // By its name it would be taken for a twin when it is written again.
    return [name, isFlowSchemeName(name, flow) ? { ...decoded, ...carrying({ twinOf: null }) } : decoded]
  })
}

type OAuth2 = Extract<WireScheme, { readonly oauth2: unknown }>['oauth2']

function decodeFlows({ authorizationCode, clientCredentials, implicit, password }: OAuth2['flows']): OAuthFlow[] {
  const flows: OAuthFlow[] = []
  if (authorizationCode) flows.push({ type: 'authorization-code', ...authorizationCode })
  if (clientCredentials) flows.push({ type: 'client-credentials', ...clientCredentials })
  if (implicit) flows.push({ type: 'implicit', ...implicit })
  if (password) flows.push({ type: 'password', ...password })
  return flows
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`${name}_`, taken) : name
}

function flowSchemeName(name: string, { type }: OAuthFlow): string {
  return `${name}.${flowNames[type]}`
}

/**
 * A scheme has any number of OAuth flows here, and one in the model: each further flow is a scheme of its own there, a
 * twin of the first, named after both.
 */
const flowNames: Readonly<Record<OAuthFlow['type'], string | undefined>> = {
  'authorization-code': 'authorizationCode',
  'client-credentials': 'clientCredentials',
  implicit: 'implicit',
  password: 'password',
  // Only since 1.0.
  'device-code': undefined,
}

function isFlowSchemeName(name: string, { type }: OAuthFlow): boolean {
  return name.endsWith(`.${flowNames[type]}`)
}

function decodeScheme(
  scheme: Exclude<WireScheme, { readonly unusable: unknown } | { readonly oauth2: unknown }>,
): SecurityScheme {
  if ('apiKey' in scheme) {
    const { in: location, ...members } = scheme.apiKey
    return { type: 'api-key', ...members, location }
  }
  if ('openIdConnect' in scheme) {
    const { openIdConnectUrl: url, ...members } = scheme.openIdConnect
    return { type: 'openid', ...members, url }
  }
  return 'http' in scheme ? { type: 'http', ...scheme.http } : { type: 'mutual-tls', ...scheme.mutualTLS }
}

function renamed(requirement: SecurityRequirement, rename: (name: string) => string): SecurityRequirement {
  return Object.fromEntries(Object.entries(requirement).map(([name, scopes]) => [rename(name), scopes]))
}

type Schemes = ReadonlyMap<string, SecurityScheme>

function isDeviceCode(scheme: SecurityScheme): boolean {
  return scheme.type === 'oauth2' && scheme.flow.type === 'device-code'
}

/** For the name of each twin, the name of the scheme to which its flow belongs. */
function mainSchemes(schemes: Schemes): ReadonlyMap<string, string> {
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
  const { twinOf = isFlowSchemeName(name, flow) ? name.slice(0, name.lastIndexOf('.')) : null } = carried(scheme.carry)
  if (typeof twinOf !== 'string') return undefined
  const home = schemes.get(twinOf)
  if (home?.type !== 'oauth2' || home.flow.type === flow.type) return undefined
  const isSame = home.description === description && home.metadataUrl === metadataUrl
  return isSame && homeOf(twinOf, home, schemes) === undefined ? twinOf : undefined
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

/** What can be met by a twin can be met by the scheme to which it belongs, and is usually said of both. */
function mergeFlowRequirements(
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
