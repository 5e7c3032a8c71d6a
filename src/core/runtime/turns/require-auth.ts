import { readExpiry } from '../../agent/ask.ts'
import type { AuthNeed, GivenAuth, RequireAuth, RequireAuthOptions } from '../../agent/require-auth.ts'
import { linkSignals } from '../../base/abort.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { aFunction, anything, checkOptions, listOf, type OptionChecks, text } from '../../base/options.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import {
  credentialsExtension,
  credentialsType,
  isRedactedCredentials,
} from '../../protocol/extensions/in-task-credentials.ts'
import type { Part } from '../../protocol/model.ts'
import { runStep, type TurnScope } from './turn-scope.ts'

/** Implements `turn.requireAuth()`: credentials come in a message, with its request, or outside of A2A. */
export function createRequireAuth(scope: TurnScope): RequireAuth {
  const { messageEvent, settings, secrets } = scope
  let requests = 0

  /** The credentials in a message, or those of the request that brought it. */
  function credentialsIn({ ticket, principal, message }: MessageEvent, need: AuthNeed): GivenAuth | undefined {
    const { scheme, scopes = [] } = need
    const messageSecrets = settings.secretStore.get(ticket)
    const inBand = messageSecrets?.inBand.find((credentials) => isSameScheme(credentials.scheme ?? scheme, scheme))
    if (inBand) return createAuth({ scheme, by: 'message', principal }, inBand.credentials)
    const { grants = {} } = principal
    const granted = Object.hasOwn(grants, scheme) ? grants[scheme] : undefined
    if (granted && scopes.every((name) => granted.includes(name))) {
      return createAuth({ scheme, by: 'request', principal }, messageSecrets?.token)
    }
    // The process that held them is gone. A replaying turn does not need them: the results of their use are stored.
    const isRedacted =
      message.parts.some(isRedactedCredentials) || message.metadata?.[credentialsExtension] !== undefined
    return isRedacted && scope.isReplaying() ? createAuth({ scheme, by: 'message', principal }, undefined) : undefined
  }

  function createAuth(auth: Omit<GivenAuth, 'secret'>, secret: string | undefined): GivenAuth {
    if (secret !== undefined) secrets.add(secret)
    return {
      ...auth,
      secret() {
        if (secret === undefined) throw credentialsGone(auth.scheme)
        return secret
      },
    }
  }

  return async (wanted, options = {}) => {
    const need = readNeed(wanted)
    checkRequireAuth(options)
    const present = credentialsIn(messageEvent, need)
    if (present) return present
    const { scheme } = need
    const { outOfBand } = options
    const expiresAt = options.expiresAt === undefined ? undefined : readExpiry('turn.requireAuth()', options.expiresAt)
    for (let complaint: string | undefined; ; complaint = credentialsMissing(need)) {
      const question = createQuestion(scope, need, complaint)
      let answer: MessageEvent | undefined
      if (outOfBand) {
        let secret: string | undefined
        await scope.emit(question, true)
        answer = await messageUnless(scope, `credentials ${++requests} ${scheme}`, async (signal) => {
          secret = await outOfBand(signal)
        })
        if (!answer) return createAuth({ scheme, by: 'out-of-band', principal: messageEvent.principal }, secret)
      } else answer = await scope.ask(question, { expiresAt })
      const credentials = credentialsIn(answer, need)
      if (credentials) return credentials
    }
  }
}

/**
 * Waits, as a step, for the caller's next message, unless `other` is done earlier: then it resolves with undefined.
 * `other` gets a signal that aborts when a message has come, or when the turn or one of `signals` stops.
 */
export async function messageUnless(
  scope: TurnScope,
  step: string,
  other: (signal: AbortSignal) => Promise<void>,
  signals: readonly AbortSignal[] = [],
): Promise<MessageEvent | undefined> {
  const { queue, stop } = scope
  let live: MessageEvent | undefined
  const generation = await runStep(scope, step, async () => {
    scope.beginWaiting()
    const done = new AbortController()
    const { signal, release } = linkSignals([stop.signal, ...signals, done.signal])
    const next = queue.next(signal).catch(() => undefined)
    try {
      await Promise.race([next, other(signal)])
      done.abort('done')
      if (stop.signal.aborted) throw stop.signal.reason
      // A message that came at the same moment must not be lost.
      const message = await next
      scope.endWaiting()
      live = message?.event
      return message?.generation ?? 0
    } finally {
      done.abort('done')
      release()
    }
  })
  if (generation === 0) return undefined
  const message = live ?? queue.takeAt(generation)?.event
  if (message) scope.recordAnswer(message)
  return message
}

function isSameScheme(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function credentialsGone(scheme: string): A2AError {
  const text = `The credentials for "${scheme}" were given to a process that is gone, and are never stored: ask for them again.`
  return new A2AError('unauthenticated', text, { reason: 'credentials-gone' })
}

function readNeed(wanted: AuthNeed | string): AuthNeed {
  const need = typeof wanted === 'string' ? { scheme: wanted } : wanted
  if (typeof need?.scheme === 'string' && need.scheme !== '') {
    checkOptions('turn.requireAuth()', need, needChecks)
    return need
  }
  throw new TypeError(`turn.requireAuth(): expected the name of a scheme, got ${JSON.stringify(wanted)}`)
}

const needChecks: OptionChecks<AuthNeed> = {
  scheme: anything,
  scopes: listOf(text),
  description: anything,
  url: anything,
}

const requireAuthChecks: OptionChecks<RequireAuthOptions> = { expiresAt: anything, outOfBand: aFunction }

function checkRequireAuth(options: RequireAuthOptions): void {
  checkOptions('turn.requireAuth()', options, requireAuthChecks)
  const { expiresAt, outOfBand } = options
  if (expiresAt === undefined || !outOfBand) return
  throw new TypeError('turn.requireAuth(): expiresAt and outOfBand exclude each other: let outOfBand give up by itself')
}

function credentialsMissing({ scheme }: AuthNeed): string {
  return `The last message brought none. Send them in a data part of the type ${credentialsType}, with "scheme": ${JSON.stringify(scheme)} and "credentials", or with the request itself.`
}

/** As text, and as data in the form that clients of every version look for. */
function createQuestion({ agentEvents }: TurnScope, need: AuthNeed, complaint: string | undefined): StatusEvent {
  const { scheme, scopes = [], url, description = `This task needs credentials for "${scheme}" to go on.` } = need
  const data: JsonObject = defined({
    schemes: [scheme],
    scopes: scopes.length > 0 ? scopes : undefined,
    url,
    credentialsType,
  })
  const text = complaint === undefined ? description : `${description} ${complaint}`
  const parts: readonly Part[] = [{ text }, { data, mediaType: 'application/json' }]
  const event = agentEvents.status('auth-required', { parts })
  const { message } = event.status
  const extensions = [credentialsExtension]
  return message ? { ...event, status: { ...event.status, message: { ...message, extensions } } } : event
}
