import {
  createBackoff,
  createHeldConnection,
  type HeldConnection,
  type PostgresPool,
  type PostgresResult,
  type PostgresStatement,
  within,
} from './connection.ts'

/** Milliseconds between two looks whether somebody is still at the other end, and how long the answer may take. */
const pulse = 5_000

const patience = 5_000

export interface ListenerOptions {
  readonly pool: PostgresPool
  readonly channel: string
  readonly onNotice: (notice: string) => void
  /** How long what is asked over the connection may take, in milliseconds. */
  readonly statementTimeout: number
  /** It listens now, after it did not. */
  readonly onListening: () => void
  readonly closed: AbortSignal
}

/** The one connection of a log that listens. It comes back by itself; what was told meanwhile is lost to it. */
export interface Listener {
  /** Listens from now on, as soon as it can. */
  start(): void
  readonly isListening: boolean
  /**
   * Asks over the connection that listens, which is there and awake, so that it need not be taken from the pool first.
   * While it answers it tells nothing, so only what is small may be asked. Undefined if it cannot be used now.
   */
  ask(statement: PostgresStatement): Promise<PostgresResult> | undefined
}

export function createListener(options: ListenerOptions): Listener {
  const { pool, channel, statementTimeout, onNotice, onListening, closed } = options
  const backoff = createBackoff(closed)
  let isStarted = false
  let line: HeldConnection | undefined

  async function listenOnce(): Promise<void> {
    const connecting = pool.connect()
    const connected = await within(patience, connecting).catch((error) => {
      connecting.then((late) => late.release(true)).catch(() => {})
      throw error
    })
    const { promise: broken, resolve: give } = Promise.withResolvers<void>()
    const giveUp = () => give()
    connected.on('error', giveUp)
    connected.on('end', giveUp)
    closed.addEventListener('abort', giveUp)
    connected.on('notification', ({ payload }) => onNotice(payload ?? ''))
    try {
      await connected.query({ text: `LISTEN "${channel}"`, query_timeout: patience })
      line = createHeldConnection({ client: connected, timeout: statementTimeout, onBroken: giveUp })
      backoff.reset()
      onListening()
      await Promise.race([broken, feelPulse(line)])
    } finally {
      const left = line
      line = undefined
      closed.removeEventListener('abort', giveUp)
      if (closed.aborted) await left?.settled()
      left?.close()
      connected.release(true)
    }
  }

  /** A connection can also fall silent, and nobody is told. */
  async function feelPulse(felt: HeldConnection): Promise<void> {
    while (line === felt && !closed.aborted) {
      await new Promise((resolve) => setTimeout(resolve, pulse).unref())
      // Not while something is asked over it: that is given up by itself if no answer comes.
      if (line === felt) await felt.ask({ text: 'SELECT 1', query_timeout: patience })
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
      return line !== undefined
    },
    ask: (statement) => line?.ask(statement),
    start() {
      if (isStarted) return
      isStarted = true
      void keepListening()
    },
  }
}
