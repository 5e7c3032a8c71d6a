import type { Turn } from '../../agent/turn.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { ownerOf } from '../../protocol/model.ts'
import type { TurnScope } from './turn-scope.ts'

/**
 * Implements `turn.delegate()`. Exchanges the token of the newest message that the same caller sent to this process.
 */
export function createDelegate(scope: TurnScope, answers: readonly MessageEvent[]): Turn['delegate'] {
  const { messageEvent, settings, stop, secrets } = scope
  const owner = ownerOf(messageEvent.principal)

  function subjectToken(): string | undefined {
    for (const { principal, ticket } of [messageEvent, ...answers].reverse()) {
      const token = ownerOf(principal) === owner ? settings.secretStore.get(ticket)?.token : undefined
      if (token !== undefined) return token
    }
    return undefined
  }

  return async (audience, scopes = []) => {
    const { delegation } = settings
    if (!delegation) {
      const advice = 'Give one by `auth: { exchange: tokenExchange({ tokenUrl, … }) }`.'
      throw new TypeError(`turn.delegate(): there is no token endpoint to ask. ${advice}`)
    }
    if (typeof audience !== 'string' || audience === '') {
      throw new TypeError(
        `turn.delegate(): expected audience to be a text that is not empty, got ${JSON.stringify(audience)}`,
      )
    }
    const callerToken = subjectToken()
    if (callerToken === undefined) throw noSubjectToken()
    const token = await delegation.exchange({ subjectToken: callerToken, audience, scopes, signal: stop.signal })
    secrets.add(callerToken)
    secrets.add(token)
    return token
  }
}

function noSubjectToken(): A2AError {
  const text =
    'There is no token of the caller to act with: the message came without one, or to a process that is gone. Tokens are never stored: the caller has to send a message again.'
  return new A2AError('unauthenticated', text, { reason: 'no-subject-token' })
}
