import { type Incoming, isComplete, type Outgoing } from '../core/http/exchange.ts'
import { withPath } from '../core/server/mount.ts'
import type { OperatorSession, Sessions } from './sessions.ts'

/** Milliseconds between two looks at the session of an open stream. */
const checkInterval = 2_000

/**
 * Answers a request of a session. A stream ends with its session, also if the session ends at another replica, and when
 * the operator gets another role.
 */
export async function inSession(
  sessions: Pick<Sessions, 'require'>,
  incoming: Incoming,
  answer: (incoming: Incoming, session: OperatorSession) => Promise<Outgoing>,
): Promise<Outgoing> {
  const session = await sessions.require(incoming)
  const ending = new AbortController()
  const signal = AbortSignal.any([incoming.signal, ending.signal])
  const outgoing = await answer({ ...withPath(incoming, incoming.path), signal }, session)
  const { body } = outgoing
  if (body === undefined || isComplete(body)) return outgoing
  const stop = watchSession(sessions, incoming, session, ending)
  signal.addEventListener('abort', stop, { once: true })
  return { ...outgoing, body: endingWith(body, stop) }
}

/** Aborts `ending` when the session has ended. Returns a function that stops looking. */
function watchSession(
  sessions: Pick<Sessions, 'require'>,
  incoming: Incoming,
  { role, expires = Number.POSITIVE_INFINITY }: OperatorSession,
  ending: AbortController,
): () => void {
  let timer: ReturnType<typeof setTimeout>
  let isStopped = false

  async function check(): Promise<void> {
    const current = await sessions.require(incoming).catch(() => undefined)
    if (isStopped) return
    if (current?.role === role) checkLater()
    else ending.abort()
  }

  function checkLater(): void {
    timer = setTimeout(check, Math.min(checkInterval, Math.max(0, expires - Date.now())))
  }

  checkLater()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

async function* endingWith<T>(body: AsyncIterable<T>, stop: () => void): AsyncGenerator<T> {
  try {
    yield* body
  } finally {
    stop()
  }
}
