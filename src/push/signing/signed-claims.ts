import { pushHeaders } from '../headers.ts'

/** What of the head of a delivery a token says, too, so that nobody changes it on the way. */
const claimHeaders = {
  taskId: pushHeaders.taskId,
  generation: pushHeaders.generation,
  previousGeneration: pushHeaders.previous,
  attempt: pushHeaders.attempt,
} as const

type Claims = Readonly<Partial<Record<keyof typeof claimHeaders, string>>>

export function signedClaims(header: (name: string) => string | undefined): Claims {
  const claims: Record<string, string> = {}
  for (const [claim, name] of Object.entries(claimHeaders)) {
    const value = header(name)
    if (value !== undefined) claims[claim] = value
  }
  return claims
}

/** The first header that says something else than the token, if there is one. */
export function contradiction(
  claims: Readonly<Record<string, unknown>>,
  header: (name: string) => string | undefined,
): string | undefined {
  for (const [claim, name] of Object.entries(claimHeaders)) {
    const value = header(name)
    if (value !== undefined && claims[claim] !== value) return name
  }
  return undefined
}
