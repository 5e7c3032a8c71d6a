import type { A2AError } from '../protocol/errors.ts'

/** What HTTP itself says of an error, beside its status. */
export function refusalHeaders({ retryAfter, challenge }: A2AError): Readonly<Record<string, string>> {
  return {
    ...(retryAfter !== undefined && { 'retry-after': `${Math.ceil(retryAfter)}` }),
    ...(challenge !== undefined && { 'www-authenticate': challenge }),
  }
}
