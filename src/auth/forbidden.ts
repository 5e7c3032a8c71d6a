import { A2AError } from '../protocol/errors.ts'
import type { Gap } from './requirements.ts'

/** Who calls is known, and may not do this: with what is missing, for people and for programs. */
export function forbidden({ schemes, scopes }: Gap, challenge: string, skill?: string): A2AError {
  const lacking = [
    ...(scopes.length > 0 ? [`the scope ${scopes.join(', ')}`] : []),
    ...(schemes.length > 0 ? [`credentials of ${schemes.join(', ')}`] : []),
  ]
  const what = skill === undefined ? 'Insufficient permissions' : `Insufficient permissions for skill '${skill}'`
  return new A2AError('forbidden', `${what}: missing ${lacking.join(' and ')}.`, {
    challenge,
    metadata: {
      ...(skill !== undefined && { skill }),
      ...(scopes.length > 0 && { missingScopes: scopes.join(' ') }),
      ...(schemes.length > 0 && { missingSchemes: schemes.join(' ') }),
    },
  })
}
