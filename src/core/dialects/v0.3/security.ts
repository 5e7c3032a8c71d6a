import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { AgentCard, OAuthFlow, SecurityRequirement, SecurityScheme } from '../../protocol/card.ts'
import type { Infer } from '../../schema/schema.ts'
import type { Draft } from '../codec.ts'
import { readCarry, toCarry } from './parts.ts'
import type * as wire from './schemas.ts'

// A 0.3 scheme has any number of OAuth flows, a scheme of the model has one. The first flow becomes the main scheme and
// keeps the name. Each further flow becomes a scheme of its own, a flow scheme, named after the main scheme and the flow.

/** The names of the OAuth flows in 0.3. */
const flowNames: Readonly<Record<OAuthFlow['type'], string | undefined>> = {
  'authorization-code': 'authorizationCode',
  'client-credentials': 'clientCredentials',
  implicit: 'implicit',
  password: 'password',
  // Only since 1.0.
  'device-code': undefined,
}

export interface DecodedSchemes {
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  /** Schemes of an unknown type or with unknown flows, as received. */
  readonly unusable: JsonObject
  /** The names of the flow schemes, by the name of their main scheme. */
  readonly flowSchemes: ReadonlyMap<string, readonly string[]>
}

/** `reserved` are the names that no flow scheme can have. */
export function decodeSchemes(
  wireSchemes: Readonly<Record<string, WireScheme>>,
  reserved: ReadonlySet<string>,
): DecodedSchemes {
  const schemes: Named<SecurityScheme>[] = []
  const unusable: Named<JsonObject>[] = []
  const flowSchemes = new Map<string, readonly string[]>()
  for (const [name, scheme] of Object.entries(wireSchemes)) {
    if ('unusable' in scheme) unusable.push([name, scheme.unusable])
    else if ('oauth2' in scheme) {
      const decoded = decodeOAuth2(name, scheme.oauth2, reserved)
      schemes.push(...decoded)
      const [, ...others] = decoded.map(([schemeName]) => schemeName)
      flowSchemes.set(name, others)
    } else schemes.push([name, decodeScheme(scheme)])
  }
  return { schemes: Object.fromEntries(schemes), unusable: Object.fromEntries(unusable), flowSchemes }
}

/**
 * Adds alternatives with flow schemes: a caller may satisfy a main scheme by any of its flows. Each alternative replaces
 * one scheme only, since the number of all combinations is unbounded.
 */
export function decodeRequirements(
  requirements: readonly SecurityRequirement[],
  flowSchemes: DecodedSchemes['flowSchemes'],
): readonly SecurityRequirement[] {
  return requirements.flatMap((requirement) => [
    requirement,
    ...Object.keys(requirement).flatMap((name) =>
      (flowSchemes.get(name) ?? []).map((flowScheme) =>
        renameSchemes(requirement, (scheme) => (scheme === name ? flowScheme : scheme)),
      ),
    ),
  ])
}

export interface EncodedSecurity {
  readonly schemes: JsonObject
  encodeRequirements(requirements: readonly SecurityRequirement[]): readonly SecurityRequirement[]
}

/** Leaves out schemes that the version does not have, and requirements that name them. */
export function encodeSecurity(card: AgentCard, { isBefore0_3 = false }: { isBefore0_3?: boolean }): EncodedSecurity {
  const all: Schemes = new Map(Object.entries(card.securitySchemes ?? {}))
  const isUnsupported = (scheme: SecurityScheme) =>
    isDeviceCode(scheme) || (isBefore0_3 && scheme.type === 'mutual-tls')
  const supported: Schemes = new Map(
    [...all]
      .filter(([, scheme]) => !isUnsupported(scheme))
      .map(([name, scheme]) => [name, isBefore0_3 ? withoutMetadata(scheme) : scheme]),
  )
  const mainOf = mainSchemes(supported)
  const { unusable } = readCarry(card.carry)
  const schemes = new Map<string, Json>(isObject(unusable) ? Object.entries(unusable) : [])
  for (const [name, scheme] of supported) {
    if (mainOf.has(name)) continue
    const flowSchemes = [...supported].filter(([other]) => mainOf.get(other) === name).map(([, other]) => other)
    schemes.set(name, encodeScheme(scheme, flowSchemes))
  }
  return {
    schemes: Object.fromEntries(schemes),
    encodeRequirements(requirements) {
      const isSupported = (name: string) => supported.has(name) || !all.has(name)
      return mergeFlowRequirements(
        requirements.filter((requirement) => Object.keys(requirement).every(isSupported)),
        mainOf,
      )
    },
  }
}

type WireScheme = Infer<typeof wire.SecurityScheme>

type Named<T> = readonly [name: string, value: T]

/** Decodes each flow as a scheme. `mainScheme` in the carry is the name of the main scheme, or null for a main scheme. */
function decodeOAuth2(name: string, scheme: OAuth2, reserved: ReadonlySet<string>): readonly Named<SecurityScheme>[] {
  const { flows, oauth2MetadataUrl: metadataUrl, ...members } = scheme
  const shared = metadataUrl === undefined ? members : { ...members, metadataUrl }
  return decodeFlows(flows).map((flow, index) => {
    const decoded = { type: 'oauth2', ...shared, flow } as const
    if (index > 0) {
      return [unusedName(flowSchemeName(name, flow), reserved), { ...decoded, ...toCarry({ mainScheme: name }) }]
    }
    // Without the mark, a main scheme with such a name would be encoded as a flow scheme.
    return [name, isFlowSchemeName(name, flow) ? { ...decoded, ...toCarry({ mainScheme: null }) } : decoded]
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

function unusedName(name: string, reserved: ReadonlySet<string>): string {
  return reserved.has(name) ? unusedName(`${name}_`, reserved) : name
}

function flowSchemeName(name: string, { type }: OAuthFlow): string {
  return `${name}.${flowNames[type]}`
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

function renameSchemes(requirement: SecurityRequirement, rename: (name: string) => string): SecurityRequirement {
  return Object.fromEntries(Object.entries(requirement).map(([name, scopes]) => [rename(name), scopes]))
}

type Schemes = ReadonlyMap<string, SecurityScheme>

function isDeviceCode(scheme: SecurityScheme): boolean {
  return scheme.type === 'oauth2' && scheme.flow.type === 'device-code'
}

function withoutMetadata(scheme: SecurityScheme): SecurityScheme {
  if (scheme.type !== 'oauth2') return scheme
  const { metadataUrl: _, ...rest } = scheme
  return rest
}

/** The names of main schemes, by the names of their flow schemes. */
function mainSchemes(schemes: Schemes): ReadonlyMap<string, string> {
  const mainOf = new Map<string, string>()
  for (const [name, scheme] of schemes) {
    const main = mainSchemeOf(name, scheme, schemes)
    if (main !== undefined) mainOf.set(name, main)
  }
  return mainOf
}

function mainSchemeOf(name: string, scheme: SecurityScheme, schemes: Schemes): string | undefined {
  if (scheme.type !== 'oauth2') return undefined
  const { flow, description, metadataUrl } = scheme
  const nameBefore = isFlowSchemeName(name, flow) ? name.slice(0, name.lastIndexOf('.')) : null
  const { mainScheme: mainName = nameBefore } = readCarry(scheme.carry)
  if (typeof mainName !== 'string') return undefined
  const main = schemes.get(mainName)
  if (main?.type !== 'oauth2' || main.flow.type === flow.type) return undefined
  const isSame = main.description === description && main.metadataUrl === metadataUrl
  return isSame && mainSchemeOf(mainName, main, schemes) === undefined ? mainName : undefined
}

function encodeScheme(scheme: SecurityScheme, flowSchemes: readonly SecurityScheme[]): JsonObject {
  const wire = draftScheme(scheme, flowSchemes)
  if (scheme.description !== undefined) wire.description = scheme.description
  return wire
}

function draftScheme(scheme: SecurityScheme, flowSchemes: readonly SecurityScheme[]): Draft {
  switch (scheme.type) {
    case 'api-key':
      return { type: 'apiKey', in: scheme.location, name: scheme.name }
    case 'http': {
      const wire: Draft = { type: 'http', scheme: scheme.scheme }
      if (scheme.bearerFormat !== undefined) wire.bearerFormat = scheme.bearerFormat
      return wire
    }
    case 'oauth2': {
      const flows = [scheme, ...flowSchemes].flatMap((holder) => (holder.type === 'oauth2' ? [holder.flow] : []))
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

/** Replaces flow schemes by their main schemes, and drops the duplicates that result. */
function mergeFlowRequirements(
  requirements: readonly SecurityRequirement[],
  mainOf: ReadonlyMap<string, string>,
): readonly SecurityRequirement[] {
  const hasFlowScheme = (requirement: SecurityRequirement) => Object.keys(requirement).some((name) => mainOf.has(name))
  const seen = new Set(
    requirements.filter((requirement) => !hasFlowScheme(requirement)).map((plain) => JSON.stringify(plain)),
  )
  return requirements.flatMap((requirement) => {
    if (!hasFlowScheme(requirement)) return [requirement]
    const merged = renameSchemes(requirement, (name) => mainOf.get(name) ?? name)
    const text = JSON.stringify(merged)
    if (seen.has(text)) return []
    seen.add(text)
    return [merged]
  })
}
