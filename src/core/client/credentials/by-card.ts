import { defined } from '../../base/json.ts'
import type { Fetch } from '../../http/fetch.ts'
import type { AgentCard, SecurityRequirement, SecurityScheme } from '../../protocol/card.ts'
import type { CredentialProvider, Credentials } from '../../protocol/credentials.ts'
import type { A2AError } from '../../protocol/errors.ts'
import { type Authorize, credentialError } from './authorize.ts'

/** Returns credentials for all schemes of one requirement of the card: the first for which there are providers. */
export function byCard(providers: readonly CredentialProvider[], fetch: Fetch): Authorize {
  return async ({ card, challenge, refused }) => {
    const matches = matchesFor(card, challenge, providers)
    if (!matches) return undefined
    const credentials = await Promise.all(
      matches.map(({ provider, scheme, scopes }) => provider.credentialsFor({ scheme, scopes, fetch, refused })),
    )
    return mergeCredentials(credentials)
  }
}

/** A scheme, and the provider of its credentials. */
interface Match {
  readonly provider: CredentialProvider
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
}

function matchesFor(
  card: AgentCard | undefined,
  challenge: string | undefined,
  providers: readonly CredentialProvider[],
): readonly Match[] | undefined {
  const schemes = card?.securitySchemes ?? {}
  const requirements = (card?.security ?? []).filter((requirement) => Object.keys(requirement).length > 0)
  for (const requirement of requirements) {
    const matches = meetRequirement(requirement, schemes, providers)
    if (matches) return matches
  }
  // Credentials that the card does not require are sent only after a challenge.
  if (challenge === undefined) return undefined
  if (requirements.length > 0) throw noMatch(requirements, schemes)
  const optional = Object.keys(schemes).map((name): SecurityRequirement => ({ [name]: [] }))
  for (const requirement of optional) {
    const matches = meetRequirement(requirement, schemes, providers)
    if (matches) return matches
  }
  const match = matchByChallenge(challenge, providers)
  if (!match) throw noMatch(optional, schemes)
  return [match]
}

function meetRequirement(
  requirement: SecurityRequirement,
  schemes: Readonly<Record<string, SecurityScheme>>,
  providers: readonly CredentialProvider[],
): readonly Match[] | undefined {
  const matches: Match[] = []
  for (const [name, scopes] of Object.entries(requirement)) {
    const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined
    const provider = scheme && providers.find((candidate) => candidate.fits(scheme))
    if (!scheme || !provider) return undefined
    matches.push({ provider, scheme, scopes })
  }
  return matches
}

/** If the card is protected or names no schemes, only the challenge shows which credentials the agent expects. */
function matchByChallenge(challenge: string, providers: readonly CredentialProvider[]): Match | undefined {
  const names = Array.from(challenge.matchAll(/(?:^|,)\s*([a-z][\w-]*)(?=\s|,|$)/gi), ([, name = '']) =>
    name.toLowerCase(),
  )
  const candidates = providers.flatMap((provider) =>
    provider.assumed ? [{ provider, scheme: provider.assumed, scopes: [] }] : [],
  )
  return candidates.find(({ scheme }) => names.includes(challengeName(scheme))) ?? candidates[0]
}

/** The name of the scheme in `WWW-Authenticate` (RFC 9110 §11.3). */
function challengeName(scheme: SecurityScheme): string {
  switch (scheme.type) {
    case 'http':
      return scheme.scheme.toLowerCase()
    case 'oauth2':
    case 'openid':
      return 'bearer'
    case 'api-key':
      return 'apikey'
    case 'mutual-tls':
      return 'mutual'
  }
}

function noMatch(
  requirements: readonly SecurityRequirement[],
  schemes: Readonly<Record<string, SecurityScheme>>,
): A2AError {
  const alternatives = requirements.map((requirement) =>
    Object.keys(requirement)
      .map((name) => describeScheme(name, schemes[name]))
      .join(' and '),
  )
  const requirement = alternatives.join(', or ') || 'credentials even for its card'
  return credentialError(
    'unfit',
    `None of the credentials fits what the agent requires: ${requirement}.`,
    'Pass connect() credentials for it: auth: [bearer(…)] of parley-a2a/client/auth.',
  )
}

function describeScheme(name: string, scheme: SecurityScheme | undefined): string {
  switch (scheme?.type) {
    case 'http':
      return `${name} (HTTP ${scheme.scheme})`
    case 'api-key':
      return `${name} (API key in the ${scheme.location} ${scheme.name})`
    case 'oauth2':
      return `${name} (OAuth 2, ${scheme.flow.type})`
    case 'openid':
      return `${name} (OpenID Connect)`
    case 'mutual-tls':
      return `${name} (mutual TLS)`
    case undefined:
      return `${name}, which the card does not explain`
  }
}

function mergeCredentials(all: readonly Credentials[]): Credentials {
  const cookies = all.flatMap(({ headers }) => (headers?.cookie === undefined ? [] : [headers.cookie]))
  return {
    headers: {
      ...Object.assign({}, ...all.map(({ headers }) => headers)),
      ...defined({ cookie: cookies.length > 0 ? cookies.join('; ') : undefined }),
    },
    query: Object.assign({}, ...all.map(({ query }) => query)),
  }
}
