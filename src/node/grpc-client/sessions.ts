import { type ClientHttp2Session, connect } from 'node:http2'
import type { LookupFunction } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { Exceeded } from '../guard/exceeded.ts'
import { after } from '../guard/limits.ts'

export interface SessionOptions {
  readonly tls: TlsOptions
  readonly lookup: LookupFunction
  /** Milliseconds until there must be a connection. */
  readonly connectTimeout: number
  /** Milliseconds after which a connection with open calls is asked whether it is still there. */
  readonly keepAlive: number
}

/** Who we are to servers that ask (mutual TLS), and whom we trust besides the authorities of the system. */
export type TlsOptions = Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase' | 'ca'>

/** Connections of HTTP/2, one for each origin, that are there as long as they are used. */
export interface Sessions {
  /** A connection for a call, which may still be coming about. `done` when the call has ended. */
  take(origin: string): { readonly session: ClientHttp2Session; readonly done: () => void }
  close(): void
}

/** Milliseconds for which an idle connection is kept. */
const kept = 30_000

/** Bytes that a server may send ahead of a reader, per call. */
const initialWindowSize = 2 ** 20

export function createSessions(options: SessionOptions): Sessions {
  const sessions = new Map<string, Used>()

  function open(origin: string): Used {
    const { tls, lookup, connectTimeout } = options
    const settings = { enablePush: false, initialWindowSize }
    const session = connect(origin, { ...(origin.startsWith('https:') && tls), lookup, settings })
    const used: Used = { session, calls: 0, release: () => {} }
    sessions.set(origin, used)
    const clear = after(connectTimeout, () => session.destroy(new Exceeded('connect', connectTimeout)))
    session.once('connect', clear)
    const forget = () => {
      if (sessions.get(origin) === used) sessions.delete(origin)
    }
    // Calls hear of it by themselves.
    session.on('error', forget)
    session.once('goaway', forget)
    session.once('close', () => {
      clear()
      used.release()
      forget()
    })
    return used
  }

  return {
    take(origin) {
      const known = sessions.get(origin)
      const isOpen = known && !known.session.closed && !known.session.destroyed
      const used = isOpen ? known : open(origin)
      if (used.calls++ === 0) {
        used.release()
        used.session.ref()
        used.release = watch(used.session, options.keepAlive)
      }
      return { session: used.session, done: () => leave(used) }
    },
    close() {
      for (const { session } of sessions.values()) session.close()
      sessions.clear()
    },
  }
}

interface Used {
  readonly session: ClientHttp2Session
  calls: number
  /** Ends what is done while it is in use, or idle. */
  release: () => void
}

function leave(used: Used): void {
  if (--used.calls > 0) return
  used.release()
  const { session } = used
  if (session.destroyed) return
  // A connection that nobody uses keeps no process alive.
  session.unref()
  used.release = after(kept, () => session.close())
}

/** While a call has nothing to say, only asking tells whether the other side is still there. */
function watch(session: ClientHttp2Session, milliseconds: number): () => void {
  let isAsked = false
  const timer = setInterval(() => {
    if (session.connecting || session.destroyed) return
    if (isAsked) return session.destroy(lost())
    isAsked = session.ping(() => {
      isAsked = false
    })
  }, milliseconds).unref()
  return () => clearInterval(timer)
}

function lost(): Error {
  return Object.assign(new Error('the connection does not answer any more'), { code: 'ECONNRESET' })
}
