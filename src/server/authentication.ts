import type { AgentProfile } from '../agent/agent.ts'
import { type Auth, type AuthOptions, createAuth } from '../auth/auth.ts'
import { authorizationOf } from '../auth/scheme.ts'
import type { Logger } from '../base/logger.ts'
import type { AgentCard, SecurityScheme } from '../protocol/card.ts'
import { anonymous, type Principal } from '../protocol/model.ts'
import type { TokenExchange } from '../protocol/principal.ts'
import type { SendRequest } from '../protocol/service.ts'
import type { DelegationOptions, Policy } from '../runtime/options.ts'
import type { WireOptions } from '../transports/server/options.ts'

/** Who may call, and what they may see and use. */
export interface AuthSettings extends AuthOptions {
  /** Lets a caller see more than its own tasks: of a team, of a tenant, or of everyone. Asked for every call. */
  readonly policy?: Policy
  /** Gives agents tokens in the name of their callers, for `turn.delegate`, as by `tokenExchange(…)`. */
  readonly exchange?: TokenExchange
  /** Which skill a message asks for. By default what its metadata says as `skillId` or `skill`. */
  readonly skillOf?: (request: SendRequest) => string | undefined
}

/** `none`: whoever can reach the agent may call it. */
export type AuthChoice = AuthSettings | 'none'

export interface Authentication extends Pick<WireOptions, 'principalOf'> {
  readonly settings: AuthSettings
  /** Undefined if nobody needs credentials. */
  readonly auth: Auth | undefined
  /** What the card says of it. */
  readonly card: Pick<AgentCard, 'securitySchemes' | 'security'>
  readonly delegation?: DelegationOptions
}

export function createAuthentication(
  choice: AuthChoice,
  { profile, logger }: { readonly profile: AgentProfile; readonly logger: Logger },
): Authentication {
  const settings = choice === 'none' ? { anonymous: true } : choice
  const auth = createAuth(settings, { realm: profile.name, logger })
  const { securitySchemes, security } = auth
  requireDeclared(profile, securitySchemes)
  // Nothing to ask and nothing to wait for.
  if (security.length === 0) return { settings, auth: undefined, card: {}, principalOf: () => anonymous }
  const { exchange } = settings
  const card = { securitySchemes, security }
  if (!exchange) return { settings, auth, card, principalOf: auth.principalOf }
  const { principalOf, tokenOf } = rememberingTokens(auth)
  return { settings, auth, card, principalOf, delegation: { exchange, tokenOf } }
}

/** What types ask for, also of those who have none: who says nothing, or nothing known, does not let everybody in. */
export function requireAuthOption(where: string, options: { readonly auth: unknown } | undefined): void {
  const choice = options?.auth
  if (choice === 'none' || (typeof choice === 'object' && choice !== null)) return
  const came = choice === undefined ? 'nothing says who may call' : `auth is ${JSON.stringify(choice)}`
  throw new TypeError(
    `${where}: ${came}. Declare it: \`auth: { schemes: … }\`, or \`auth: 'none'\` to let in whoever can reach it.`,
  )
}

/** What a card says of a skill is what is checked, and so must be something that can be. */
function requireDeclared({ name, skills = [] }: AgentProfile, schemes: Auth['securitySchemes']): void {
  for (const { id, security = [] } of skills) {
    const unknown = security.flatMap(Object.keys).filter((scheme) => !Object.hasOwn(schemes, scheme))
    if (unknown.length === 0) continue
    const declared = Object.keys(schemes).join(', ') || 'none'
    throw new TypeError(
      `agent(${name}): the skill ${id} asks for ${unknown.join(', ')}, and auth.schemes has ${declared}`,
    )
  }
}

/** The token of a caller is known as long as what it has proved is in memory, and is not part of it. */
function rememberingTokens({ principalOf, securitySchemes }: Auth) {
  const tokens = new WeakMap<Principal, string>()
  const schemes = Object.keys(securitySchemes).filter((name) => takesTokens(securitySchemes[name]))

  const remembering: Authentication['principalOf'] = async (incoming) => {
    const principal = await principalOf(incoming)
    const token = authorizationOf(incoming, 'bearer')
    // One that was not accepted proves nothing, whatever else did.
    const isAccepted = schemes.some((name) => principal.grants?.[name] !== undefined)
    if (isAccepted && typeof token === 'string') tokens.set(principal, token)
    return principal
  }
  return { principalOf: remembering, tokenOf: (principal: Principal) => tokens.get(principal) }
}

function takesTokens(scheme: SecurityScheme | undefined): boolean {
  if (scheme?.type === 'http') return scheme.scheme.toLowerCase() === 'bearer'
  return scheme?.type === 'oauth2' || scheme?.type === 'openid'
}
