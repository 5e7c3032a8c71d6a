import { readExpiry } from '../../agent/ask.ts'
import type { AuthNeed, GivenAuth, RequireAuth, RequireAuthOptions } from '../../agent/require-auth.ts'
import { linkSignals } from '../../base/abort.ts'
import type { JsonObject } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import {
  credentialsExtension,
  credentialsType,
  isRedactedCredentials,
} from '../../protocol/extensions/in-task-credentials.ts'
import type { Part } from '../../protocol/model.ts'
import { runStep, type TurnScope } from './turn-scope.ts'

/** Waits for credentials: those of a message, of the request that brings it, or of another way than A2A. */
export function createRequireAuth(scene: TurnScope): RequireAuth {
  const { messageEvent, settings, secrets } = scene
  let asked = 0

  /** What of a message, or of who sent it, is what is needed. */
  function givenBy({ ticket, principal, message }: MessageEvent, need: AuthNeed): GivenAuth | undefined {
    const { scheme, scopes = [] } = need
    const kept = settings.secretStore.get(ticket)
    const fitting = kept?.inBand.find((each) => isSame(each.scheme ?? scheme, scheme))
    if (fitting) return handed({ scheme, by: 'message', principal }, fitting.credentials)
    const { grants = {} } = principal
    const granted = Object.hasOwn(grants, scheme) ? grants[scheme] : undefined
    if (granted && scopes.every((scope) => granted.includes(scope))) {
      return handed({ scheme, by: 'request', principal }, kept?.token)
    }
    // They were there, and are with a process that is gone. While the turn goes through what it has done, nobody needs
    // them: what was done with them is stored.
    const wasGiven = message.parts.some(isRedactedCredentials) || message.metadata?.[credentialsExtension] !== undefined
    return wasGiven && scene.isReplaying() ? handed({ scheme, by: 'message', principal }, undefined) : undefined
  }

  function handed(given: Omit<GivenAuth, 'secret'>, secret: string | undefined): GivenAuth {
    if (secret !== undefined) secrets.add(secret)
    return { ...given, secret: () => secret ?? gone(given.scheme) }
  }

  async function elsewhere(question: StatusEvent, name: string, outOfBand: OutOfBand): Promise<Elsewhere> {
    let secret: string | undefined
    let live: MessageEvent | undefined
    await scene.emit(question)
    const generation = await runStep(scene, name, async () => {
      scene.beginWaiting()
      const { stop, queue } = scene
      const done = new AbortController()
      const { signal, release } = linkSignals([stop.signal, done.signal])
      const letter = queue.next(signal).catch(() => undefined)
      try {
        const arrived = outOfBand(signal).then((given) => {
          secret = given
        })
        await Promise.race([letter, arrived])
        done.abort('done')
        if (stop.signal.aborted) throw stop.signal.reason
        const first = await letter
        live = first?.event
        scene.endWaiting()
        return first?.generation ?? 0
      } finally {
        release()
      }
    })
    if (generation === 0) return { secret }
    const message = live ?? scene.queue.drop(generation)?.event
    if (message) scene.recordAnswer(message)
    return { message, secret }
  }

  return async (wanted, options = {}) => {
    const need = readNeed(wanted)
    requireSane(options)
    const at = givenBy(messageEvent, need)
    if (at) return at
    const { expiresAt, outOfBand } = options
    const moment = expiresAt === undefined ? undefined : readExpiry('turn.requireAuth()', expiresAt)
    for (let complaint: string | undefined; ; complaint = again(need)) {
      const question = asQuestion(scene, need, complaint)
      if (!outOfBand) {
        const given = givenBy(await scene.ask(question, { expiresAt: moment }), need)
        if (given) return given
        continue
      }
      const { message, secret } = await elsewhere(question, `credentials ${++asked} ${need.scheme}`, outOfBand)
      if (!message) return handed({ scheme: need.scheme, by: 'out-of-band', principal: messageEvent.principal }, secret)
      const given = givenBy(message, need)
      if (given) return given
    }
  }
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function gone(scheme: string): never {
  const text = `The credentials for "${scheme}" were given to a process that is gone, and are never stored: ask for them again.`
  throw new A2AError('unauthenticated', text, { reason: 'credentials-gone' })
}

type OutOfBand = NonNullable<RequireAuthOptions['outOfBand']>

interface Elsewhere {
  readonly message?: MessageEvent | undefined
  readonly secret?: string | undefined
}

function readNeed(wanted: AuthNeed | string): AuthNeed {
  const need = typeof wanted === 'string' ? { scheme: wanted } : wanted
  if (typeof need?.scheme === 'string' && need.scheme !== '') return need
  throw new TypeError(`turn.requireAuth(): expected the name of a scheme, got ${JSON.stringify(wanted)}`)
}

function requireSane({ expiresAt, outOfBand }: RequireAuthOptions): void {
  if (expiresAt === undefined || !outOfBand) return
  throw new TypeError('turn.requireAuth(): expiresAt and outOfBand exclude each other: let outOfBand give up by itself')
}

function again({ scheme }: AuthNeed): string {
  return `The last message brought none. Send them in a data part of the type ${credentialsType}, with "scheme": ${JSON.stringify(scheme)} and "credentials", or with the request itself.`
}

/** In words, and as data that clients of every version look for. */
function asQuestion({ agentEvents }: TurnScope, need: AuthNeed, complaint: string | undefined): StatusEvent {
  const { scheme, scopes = [], url, description = `This task needs credentials for "${scheme}" to go on.` } = need
  const data: JsonObject = {
    schemes: [scheme],
    ...(scopes.length > 0 && { scopes }),
    ...(url !== undefined && { url }),
    credentialsType,
  }
  const text = complaint === undefined ? description : `${description} ${complaint}`
  const parts: readonly Part[] = [{ text }, { data, mediaType: 'application/json' }]
  const event = agentEvents.status('auth-required', parts)
  const { message } = event.status
  const extensions = [credentialsExtension]
  return message ? { ...event, status: { ...event.status, message: { ...message, extensions } } } : event
}
