import type { OAuthFlow, SecurityRequirement } from '../../protocol/security.ts'

/**
 * A scheme has any number of OAuth flows here, and one in the model: each further flow is a scheme of its own there, a
 * twin of the first, named after both.
 */
export const flowNames: Readonly<Record<OAuthFlow['type'], string | undefined>> = {
  'authorization-code': 'authorizationCode',
  'client-credentials': 'clientCredentials',
  implicit: 'implicit',
  password: 'password',
  // Only since 1.0.
  'device-code': undefined,
}

export function twinName(name: string, { type }: OAuthFlow): string {
  return `${name}.${flowNames[type]}`
}

export function isTwinName(name: string, { type }: OAuthFlow): boolean {
  return name.endsWith(`.${flowNames[type]}`)
}

export function renamed(requirement: SecurityRequirement, rename: (name: string) => string): SecurityRequirement {
  return Object.fromEntries(Object.entries(requirement).map(([name, scopes]) => [rename(name), scopes]))
}
