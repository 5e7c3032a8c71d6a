import { MeshRefusal } from '../mesh/errors.ts'
import type { MeshLink } from '../mesh/link.ts'
import type { Logger } from '../protocol/logger.ts'

export interface KeepRegisteredOptions {
  /** To the registry. */
  readonly link: MeshLink
  /** Milliseconds between two signs of life. */
  readonly heartbeat?: number
  readonly logger: Logger
}

export interface Registered {
  /** Says goodbye. */
  stop(): Promise<void>
}

/** Milliseconds that the registry may take to answer, and after which one that did not is asked again. */
const patience = 5_000

/** Shakes hands with the registry, and gives it signs of life; a registry that is not there, or has forgotten us, is asked again. */
export async function keepRegistered({ link, heartbeat = 30_000, logger }: KeepRegisteredOptions): Promise<Registered> {
  const leaving = new AbortController()
  const asking = { timeout: patience, signal: leaving.signal }
  let isRegistered = false
  let isMissed = false
  let timer: ReturnType<typeof setTimeout> | undefined

  async function register(): Promise<void> {
    await link.handshake(asking)
    isRegistered = true
  }

  async function beat(): Promise<void> {
    try {
      if (isRegistered) await link.request('registry.heartbeat', {}, asking)
      else await register()
    } catch (error) {
      if (!(error instanceof MeshRefusal) || error.code !== 'NOT_REGISTERED') throw error
      await register()
    }
  }

  async function live(): Promise<void> {
    try {
      await beat()
      if (isMissed) logger.info({ registry: link.agentId }, 'the registry of the mesh answers again')
      isMissed = false
    } catch (error) {
      if (leaving.signal.aborted) return
      if (!isMissed) logger.warn({ error }, 'the registry of the mesh does not answer; it is asked again')
      isMissed = true
    }
    if (leaving.signal.aborted) return
    timer = setTimeout(() => void live(), isMissed ? Math.min(heartbeat, patience) : heartbeat)
    timer.unref?.()
  }

  await live()
  return {
    async stop() {
      leaving.abort()
      clearTimeout(timer)
      if (!isRegistered) return
      await link
        .goodbye({ reason: 'The agent stops.' }, { timeout: patience })
        .catch((error) => logger.warn({ error }, 'the registry of the mesh did not hear the goodbye'))
    },
  }
}
