import type { CredentialProvider } from '../entries/client-auth.ts'
import type { Context } from './command.ts'

/** The credentials of earlier logins at this agent. */
export function storedCredentials(_context: Context, _agent: string): readonly CredentialProvider[] {
  return []
}
