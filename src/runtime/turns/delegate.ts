import type { Turn } from '../../agent/turn.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { ownerOf } from '../../protocol/principal.ts'
import type { TurnScope } from './turn-scope.ts'

/** The token is that of the newest message of the same caller that this process has taken. */
export function createDelegate({ messageEvent, settings, stop, secrets }: TurnScope, heard: readonly MessageEvent[]) {
  const owner = ownerOf(messageEvent.principal)

  function subjectToken(): string | undefined {
    for (const { principal, ticket } of [messageEvent, ...heard].reverse()) {
      const token = ownerOf(principal) === owner ? settings.secretStore.get(ticket)?.token : undefined
      if (token !== undefined) return token
    }
    return undefined
  }

  const delegate: Turn['delegate'] = async (audience, scopes = []) => {
    const { delegation } = settings
    if (!delegation) {
      const advice = 'Give one by `auth: { exchange: tokenExchange({ tokenUrl, … }) }`.'
      throw new TypeError(`turn.delegate(): there is no token endpoint to ask. ${advice}`)
    }
    if (typeof audience !== 'string' || audience === '') {
      throw new TypeError(`turn.delegate(): expected for whom the token is, got ${JSON.stringify(audience)}`)
    }
    const token = subjectToken()
    if (token === undefined) throw absent()
    const given = await delegation.exchange({ subjectToken: token, audience, scopes, signal: stop.signal })
    secrets.add(token)
    secrets.add(given)
    return given
  }
  return delegate
}

function absent(): A2AError {
  const text =
    'There is no token of the caller to act with: it came without one, or to a process that is gone, which has taken it along. Tokens are never stored: the caller has to send a message again.'
  return new A2AError('unauthenticated', text, { reason: 'no-subject-token' })
}
