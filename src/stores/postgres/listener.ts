import { createBackoff } from './backoff.ts'
import { within } from './database.ts'
import type { PostgresClient, PostgresPool } from './driver.ts'

/** The one connection of a log that listens. It comes back by itself; what was told meanwhile is lost to it. */
export interface Listener {
  /** Listens from now on, as soon as it can. */
  start(): void
  readonly isListening: boolean
}

export interface ListenerOptions {
  readonly pool: PostgresPool
  readonly channel: string
  readonly onNotice: (notice: string) => void
  /** It listens now, after it did not. */
  readonly onListening: () => void
  readonly closed: AbortSignal
}

/** Milliseconds between two looks whether somebody is still at the other end, and how long the answer may take. */
const pulse = 5_000
const patience = 5_000

export function createListener({ pool, channel, onNotice, onListening, closed }: ListenerOptions): Listener {
  const backoff = createBackoff(closed)
  let isStarted = false
  let isListening = false
  let client: PostgresClient | undefined

  async function listenOnce(): Promise<void> {
    const connecting = pool.connect()
    const connected = await within(patience, connecting).catch((error) => {
      connecting.then((late) => late.release(true)).catch(() => {})
      throw error
    })
    client = connected
    const { promise: broken, resolve: give } = Promise.withResolvers<void>()
    const giveUp = () => give()
    connected.on('error', giveUp)
    connected.on('end', giveUp)
    closed.addEventListener('abort', giveUp)
    connected.on('notification', ({ payload }) => onNotice(payload ?? ''))
    try {
      await connected.query({ text: `LISTEN "${channel}"`, query_timeout: patience })
      connected.unref?.() // Who only listens has nothing more to do.
      isListening = true
      backoff.reset()
      onListening()
      await Promise.race([broken, feelPulse(connected)])
    } finally {
      isListening = false
      client = undefined
      closed.removeEventListener('abort', giveUp)
      connected.release(true)
    }
  }

  /** A connection can also fall silent, and nobody is told. */
  async function feelPulse(connected: PostgresClient): Promise<void> {
    while (client === connected && !closed.aborted) {
      await new Promise((resolve) => setTimeout(resolve, pulse).unref())
      if (client === connected) await connected.query({ text: 'SELECT 1', query_timeout: patience })
    }
  }

  async function keepListening(): Promise<void> {
    while (!closed.aborted) {
      await listenOnce().catch(() => {}) // Those who wait look for themselves meanwhile.
      await backoff.wait()
    }
  }

  return {
    get isListening() {
      return isListening
    },
    start() {
      if (isStarted) return
      isStarted = true
      void keepListening()
    },
  }
}
