import type { AgentProfile } from '../agent/agent.ts'
import { type AnonymousOptions, type Auth, type AuthOptions, createAuth } from '../auth/auth.ts'
import { authorizationOf } from '../auth/scheme.ts'
import { defined } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import {
  aFunction,
  anObject,
  anyOf,
  flag,
  group,
  having,
  listOf,
  milliseconds,
  type OptionCheck,
  oneOf,
  recordOf,
} from '../base/options.ts'
import type { Incoming } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import { type CountedRate, type Limits, requireAllowed } from '../limits/limits.ts'
import type { AgentCard, SecurityScheme } from '../protocol/card.ts'
import type { TokenExchange } from '../protocol/credentials.ts'
import { anonymous, type Principal } from '../protocol/model.ts'
import type { SendRequest } from '../protocol/service.ts'
import type { DelegationOptions, Policy } from '../runtime/options.ts'
import { overloaded } from '../transports/server/call.ts'
import { rateHeaders } from './rate-limits.ts'

/** Which callers are accepted, and what they may see and use. */
export interface AuthSettings extends AuthOptions {
  /** Lets a caller see tasks of others: of a team, of a tenant, or of everyone. Evaluated for every call. */
  readonly policy?: Policy
  /** Exchanges the tokens of callers for tokens that agents use in their name (`turn.delegate`), as `tokenExchange(…)` does. */
  readonly exchange?: TokenExchange
  /** Returns the skill that a message is for. Defaults to `skillId` or `skill` in its metadata. */
  readonly skillOf?: (request: SendRequest) => string | undefined
}

/** `none` accepts every caller that can reach the agent. */
export type AuthChoice = AuthSettings | 'none'

export const authCheck: OptionCheck = anyOf(
  "an object such as { schemes }, or 'none'",
  oneOf('none'),
  group<AuthSettings>({
    schemes: recordOf(having('a scheme such as apiKey(…) of parley-a2a/auth', 'authenticate')),
    require: listOf(anObject),
    timeout: milliseconds({ min: 1, infinite: false }),
    anonymous: anyOf('true, false or { listAll }', flag, group<AnonymousOptions>({ listAll: flag })),
    policy: aFunction,
    exchange: aFunction,
    skillOf: aFunction,
  }),
)

export interface Authentication {
  readonly settings: AuthSettings
  /** Undefined if no caller needs credentials. */
  readonly auth: Auth | undefined
  /** Whether callers without credentials are accepted. */
  readonly acceptsAnonymous: boolean
  /** The part of the card that declares the schemes. */
  readonly card: Pick<AgentCard, 'securitySchemes' | 'security'>
  readonly delegation?: DelegationOptions
  /**
   * Returns the principal of a request, or throws the error to answer with. Three steps, in this order: the overload
   * check, the security schemes, the request count.
   */
  authenticate(incoming: Incoming): Principal | Promise<Principal>
  /** Only the second step, for pages that stay available under load and count against no limit. */
  identify(incoming: Incoming): Principal | Promise<Principal>
  /** The other two steps, for a principal that another transport has identified. */
  admit(principal: Principal): Promise<void>
  /** Rate-limit headers for the response to a request that was counted. Undefined without request limits. */
  readonly rateHeaders: ((incoming: Incoming) => Readonly<Record<string, string>> | undefined) | undefined
}

export interface AuthenticationContext {
  readonly profile: AgentProfile
  readonly logger: Logger
  readonly load?: Pick<Load, 'isOverloaded'> | undefined
  readonly limits?: Limits | undefined
  /** Whether the address of a caller is in the headers that a proxy sets. */
  readonly trustProxy?: boolean | undefined
}

export function createAuthentication(choice: AuthChoice, context: AuthenticationContext): Authentication {
  const { profile, logger, load, limits, trustProxy } = context
  const settings = choice === 'none' ? { anonymous: true } : choice
  const auth = createAuth(settings, { realm: profile.name, logger, trustProxy })
  const { securitySchemes, security } = auth
  requireDeclaredSchemes(profile, securitySchemes)
  const isOpen = security.length === 0
  const { exchange } = settings
  const tokens = exchange && !isOpen ? createTokenMemory(auth) : undefined
  /** Rates counted for a request, until its response has their headers. */
  const counts = new WeakMap<Incoming, readonly CountedRate[]>()

  // None of these functions is async unless it counts: most principals are known without waiting.
  function authenticate(incoming: Incoming): Principal | Promise<Principal> {
    requireCapacity()
    const principal = identify(incoming)
    return limits ? countRequest(principal, limits, incoming) : principal
  }

  /** Comes first: an overloaded server should not even check credentials. */
  function requireCapacity(): void {
    if (load?.isOverloaded()) throw overloaded()
  }

  function identify(incoming: Incoming): Principal | Promise<Principal> {
    if (isOpen) return anonymous
    const principal = auth.authenticate(incoming)
    if (!tokens) return principal
    return principal instanceof Promise
      ? principal.then((late) => tokens.remember(late, incoming))
      : tokens.remember(principal, incoming)
  }

  /** Comes before anything of the call is read. */
  async function countRequest(
    identified: Principal | Promise<Principal>,
    limits: Limits,
    incoming: Incoming,
  ): Promise<Principal> {
    const principal = await identified
    const rates = await limits.count(principal)
    counts.set(incoming, rates)
    requireAllowed(rates)
    return principal
  }

  return {
    settings,
    auth: isOpen ? undefined : auth,
    acceptsAnonymous: Boolean(settings.anonymous),
    card: isOpen ? {} : { securitySchemes, security },
    ...defined({ delegation: exchange && tokens && { exchange, tokenOf: tokens.tokenOf } }),
    authenticate,
    identify,
    async admit(principal) {
      requireCapacity()
      if (limits) requireAllowed(await limits.count(principal))
    },
    rateHeaders: limits && ((incoming) => rateHeaders(counts.get(incoming))),
  }
}

/** Checks in JavaScript what the types require: a missing or misspelled `auth` must not accept every caller. */
export function requireAuthOption(where: string, options: { readonly auth: unknown } | undefined): void {
  const choice = options?.auth
  if (choice === 'none' || (typeof choice === 'object' && choice !== null)) return
  const problem = choice === undefined ? 'nothing says who may call' : `auth is ${JSON.stringify(choice)}`
  throw new TypeError(
    `${where}: ${problem}. Declare it: \`auth: { schemes: … }\`, or \`auth: 'none'\` to accept every caller.`,
  )
}

/** Cards publish what skills require, so each of these schemes must be one that the server can check. */
function requireDeclaredSchemes({ name, skills = [] }: AgentProfile, schemes: Auth['securitySchemes']): void {
  for (const { id, security = [] } of skills) {
    const unknown = security.flatMap(Object.keys).filter((scheme) => !Object.hasOwn(schemes, scheme))
    if (unknown.length === 0) continue
    const declared = Object.keys(schemes).join(', ') || 'none'
    throw new TypeError(
      `agent(${name}): the skill ${id} asks for ${unknown.join(', ')}, and auth.schemes has ${declared}`,
    )
  }
}

/** Remembers the token of a principal for as long as the principal is in memory, without making it part of it. */
function createTokenMemory({ securitySchemes }: Auth) {
  const tokens = new WeakMap<Principal, string>()
  const schemes = Object.keys(securitySchemes).filter((name) => takesTokens(securitySchemes[name]))
  return {
    remember(principal: Principal, incoming: Incoming): Principal {
      const token = authorizationOf(incoming, 'bearer')
      // A token that no scheme accepted proves nothing, even if other credentials of the request did.
      const isAccepted = schemes.some((name) => principal.grants?.[name] !== undefined)
      if (isAccepted && typeof token === 'string') tokens.set(principal, token)
      return principal
    },
    tokenOf: (principal: Principal) => tokens.get(principal),
  }
}

function takesTokens(scheme: SecurityScheme | undefined): boolean {
  if (scheme?.type === 'http') return scheme.scheme.toLowerCase() === 'bearer'
  return scheme?.type === 'oauth2' || scheme?.type === 'openid'
}
