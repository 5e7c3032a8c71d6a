import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { pushHeaders } from '../headers.ts'

/** What nobody could take for anything else than a random word. */
const word = /^[\w.~+/=-]{1,512}$/

/**
 * Answers a sender that asks, before it posts here, whether somebody here wants it to: by repeating its random word. It
 * comes in a header or, as older guides have it, in the query.
 */
export function answerChallenge(incoming: Incoming): Outgoing | undefined {
  const asked = incoming.header(pushHeaders.challenge) ?? (incoming.method === 'GET' ? inQuery(incoming) : undefined)
  if (asked === undefined || !word.test(asked)) return undefined
  return {
    status: 200,
    headers: { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
    body: asked,
  }
}

function inQuery({ query }: Incoming): string | undefined {
  const given = new URLSearchParams(query)
  return given.get('challenge') ?? given.get('validationToken') ?? undefined
}
