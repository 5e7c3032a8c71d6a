import type { Fetch } from '../../http/fetch.ts'
import type { AgentCard, SecurityRequirement, SecurityScheme } from '../../protocol/card.ts'
import type { CredentialProvider, Credentials } from '../../protocol/principal.ts'
import type { Authorize } from './authorize.ts'
import { credentialError } from './oauth-client.ts'

/** Gives what the card asks for: all schemes of one of its requirements, the first that can be met. */
export function byCard(providers: readonly CredentialProvider[], fetch: Fetch): Authorize {
  return async ({ card, challenge, refused }) => {
    const matches = matchesFor(card, challenge, providers)
    if (!matches) return undefined
    const given = await Promise.all(
      matches.map(({ provider, scheme, scopes }) =>
        provider.credentialsFor({ scheme, scopes, fetch, ...(refused && { refused }) }),
      ),
    )
    return joined(given)
  }
}

function matchesFor(
  card: AgentCard | undefined,
  challenge: string | undefined,
  providers: readonly CredentialProvider[],
): readonly Match[] | undefined {
  const schemes = card?.securitySchemes ?? {}
  const required = (card?.security ?? []).filter((requirement) => Object.keys(requirement).length > 0)
  for (const requirement of required) {
    const matches = meet(requirement, schemes, providers)
    if (matches) return matches
  }
  // Nothing more is sent unasked.
  if (challenge === undefined) return undefined
  if (required.length > 0) throw unfit(required, schemes)
  for (const name of Object.keys(schemes)) {
    const matches = meet({ [name]: [] }, schemes, providers)
    if (matches) return matches
  }
  const guess = guessed(challenge, providers)
  if (!guess)
    throw unfit(
      Object.keys(schemes).map((name) => ({ [name]: [] })),
      schemes,
    )
  return [guess]
}

/** One scheme that is to be met, and who meets it. */
interface Match {
  readonly provider: CredentialProvider
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
}

function meet(
  requirement: SecurityRequirement,
  schemes: Readonly<Record<string, SecurityScheme>>,
  providers: readonly CredentialProvider[],
): readonly Match[] | undefined {
  const matches: Match[] = []
  for (const [name, scopes] of Object.entries(requirement)) {
    const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined
    const provider = scheme && providers.find((each) => each.fits(scheme))
    if (!scheme || !provider) return undefined
    matches.push({ provider, scheme, scopes })
  }
  return matches
}

function unfit(required: readonly SecurityRequirement[], schemes: Readonly<Record<string, SecurityScheme>>) {
  const wishes = required.map((each) =>
    Object.keys(each)
      .map((name) => sayScheme(name, schemes[name]))
      .join(' and '),
  )
  const wish = wishes.join(', or ') || 'credentials before it even shows a card'
  const problem = `None of the given credentials fits what the agent asks for: ${wish}.`
  return credentialError(
    'unfit',
    problem,
    'Give connect() credentials for it: auth: [bearer(…)] of parley-a2a/client/auth.',
  )
}

function sayScheme(name: string, scheme: SecurityScheme | undefined): string {
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

/** Where the card is protected, or says nothing, only the challenge tells what is wanted. */
function guessed(challenge: string, providers: readonly CredentialProvider[]): Match | undefined {
  const words = Array.from(challenge.matchAll(/(?:^|,)\s*([a-z][\w-]*)(?=\s|,|$)/gi), ([, word = '']) =>
    word.toLowerCase(),
  )
  const able = providers.flatMap((provider) =>
    provider.assumed ? [{ provider, scheme: provider.assumed, scopes: [] }] : [],
  )
  return able.find(({ scheme }) => words.includes(wordFor(scheme))) ?? able[0]
}

function wordFor(scheme: SecurityScheme): string {
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

function joined(all: readonly Credentials[]): Credentials {
  const cookies = all.flatMap(({ headers }) => (headers?.cookie === undefined ? [] : [headers.cookie]))
  return {
    headers: {
      ...Object.assign({}, ...all.map(({ headers }) => headers)),
      ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
    },
    query: Object.assign({}, ...all.map(({ query }) => query)),
  }
}
