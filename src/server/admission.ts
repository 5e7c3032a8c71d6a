import type { AgentProfile } from '../agent/agent.ts'
import { type Auth, createAuth } from '../auth/auth.ts'
import type { AuthOptions } from '../auth/options.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Logger } from '../protocol/logger.ts'
import { anonymous } from '../protocol/model.ts'
import type { SendRequest } from '../protocol/service.ts'
import type { Policy } from '../runtime/options.ts'
import type { WireOptions } from '../transports/options.ts'

/** Who may call, and what they may see and use. */
export interface AuthSettings extends AuthOptions {
  /** Lets a caller see more than its own tasks: of a team, of a tenant, or of everyone. Asked for every call. */
  readonly policy?: Policy
  /** Which skill a message asks for. By default what its metadata says as `skillId` or `skill`. */
  readonly skillOf?: (request: SendRequest) => string | undefined
}

/** `none`: whoever can reach the agent may call it. */
export type AuthChoice = AuthSettings | 'none'

export interface Admission extends Pick<WireOptions, 'principalOf'> {
  readonly settings: AuthSettings
  /** Undefined if nobody needs credentials. */
  readonly auth: Auth | undefined
  /** What the card says of it. */
  readonly card: Pick<AgentCard, 'securitySchemes' | 'security'>
}

export function createAdmission(
  choice: AuthChoice | undefined,
  { profile, logger }: { readonly profile: AgentProfile; readonly logger: Logger },
): Admission {
  const settings = typeof choice === 'object' ? choice : { anonymous: true }
  const auth = createAuth(settings, { realm: profile.name, logger })
  const { securitySchemes, security } = auth
  requireDeclared(profile, securitySchemes)
  // Nothing to ask and nothing to wait for.
  if (security.length === 0) return { settings, auth: undefined, card: {}, principalOf: () => anonymous }
  return { settings, auth, card: { securitySchemes, security }, principalOf: auth.principalOf }
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
