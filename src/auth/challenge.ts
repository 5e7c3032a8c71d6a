import type { SecurityRequirement } from '../protocol/security.ts'
import type { Asked, Scheme } from './scheme.ts'

/** One challenge: a scheme and its parameters (RFC 9110 §11.3). */
export function challengeOf(scheme: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const told = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '')
  return `${scheme} ${told.map(([name, value]) => `${name}=${quoted(value ?? '')}`).join(', ')}`.trimEnd()
}

/** The same as most schemes have it that take a token. */
export function bearerChallenge({ realm, scopes, error }: Asked): string {
  return challengeOf('Bearer', { realm, scope: scopes.join(' '), error })
}

/** The whole `WWW-Authenticate`: a challenge for every scheme that the requirements name. */
export function challengesOf(schemes: Readonly<Record<string, Scheme>>, realm: string) {
  return (
    requirements: readonly SecurityRequirement[],
    error?: Asked['error'],
    lacking?: readonly string[],
  ): string => {
    const scopes = new Map<string, readonly string[]>()
    for (const [name, needed] of requirements.flatMap(Object.entries<readonly string[]>)) {
      if (Object.hasOwn(schemes, name) && !scopes.has(name)) scopes.set(name, lacking ?? needed)
    }
    const told = [...scopes].map(([name, needed]) =>
      schemes[name]?.challenge({ realm, scopes: needed, ...(error && { error }) }),
    )
    return [...new Set(told)].join(', ')
  }
}

/** A header can carry printable ASCII. */
function quoted(text: string): string {
  return `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
