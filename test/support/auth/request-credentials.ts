import type { AuthRequest } from '../../../src/core/auth/scheme.ts'

export interface RequestCredentials extends Partial<Omit<AuthRequest, 'header'>> {
  readonly headers?: Readonly<Record<string, string>>
}

/** A request with these credentials, as auth schemes see it. */
export function credentialsIn({ headers = {}, ...options }: RequestCredentials = {}): AuthRequest {
  return {
    method: 'POST',
    path: '/',
    query: '',
    secure: false,
    header: (name) => headers[name],
    certificate: () => undefined,
    ...options,
  }
}

export function bearerToken(token: string): AuthRequest {
  return credentialsIn({ headers: { authorization: `Bearer ${token}` } })
}
