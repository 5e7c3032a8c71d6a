import type { JsonObject } from '../../protocol/model.ts'
import type { OAuthFlow, SecurityRequirement, SecurityScheme } from '../../protocol/security.ts'
import type { TypeOf } from '../shape.ts'
import { carrying } from './carry.ts'
import type * as wire from './security-schemas.ts'
import { isTwinName, renamed, twinName } from './twins.ts'

export interface DecodedSchemes {
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  readonly unusable: JsonObject
  /** The names of its twins, by the name of the scheme. */
  readonly twins: ReadonlyMap<string, readonly string[]>
}

type Named<T> = readonly [name: string, value: T]
type WireScheme = TypeOf<typeof wire.SecurityScheme>
type OAuth2 = Extract<WireScheme, { readonly oauth2: unknown }>['oauth2']

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

/** The first flow keeps the name of the scheme. */
function decodeOAuth2(name: string, scheme: OAuth2, taken: ReadonlySet<string>): readonly Named<SecurityScheme>[] {
  const { flows, oauth2MetadataUrl: metadataUrl, ...members } = scheme
  const shared = metadataUrl === undefined ? members : { ...members, metadataUrl }
  return decodeFlows(flows).map((flow, index) => {
    const decoded = { type: 'oauth2', ...shared, flow } as const
    if (index > 0) return [freeName(twinName(name, flow), taken), { ...decoded, ...carrying({ twinOf: name }) }]
    // By its name it would be taken for a twin when it is written again.
    return [name, isTwinName(name, flow) ? { ...decoded, ...carrying({ twinOf: null }) } : decoded]
  })
}

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
