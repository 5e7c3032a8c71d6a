import { createBackoff, withTimeout } from '../shared/database.ts'
import {
  createHeldConnection,
  type HeldConnection,
  type PostgresPool,
  type PostgresResult,
  type PostgresStatement,
} from './connection.ts'

/** Interval at which the connection is checked, in milliseconds. */
const pingInterval = 5_000

/** How long a check, or opening the connection, may take, in milliseconds. */
const pingTimeout = 5_000

export interface ListenerOptions {
  /** Undefined if no connection can listen, as behind PgBouncer in transaction mode. */
  readonly pool: PostgresPool | undefined
  readonly channel: string
  readonly onNotification: (payload: string) => void
  /** Timeout of a statement on the connection, in milliseconds. */
  readonly statementTimeout: number
  /** Called each time it begins to listen; earlier notifications may have been lost. */
  readonly onListening: () => void
  readonly closed: AbortSignal
}

/** Listens for notifications on its own connection. It reconnects by itself; notifications in between are lost. */
export interface Listener {
  /** Starts to listen, as soon as the database is reachable. */
  start(): void
  readonly isListening: boolean
  /**
   * Runs a statement on the listening connection, which saves taking one from the pool. It receives no notifications
   * meanwhile, so only small statements may use it. Undefined if it is busy or not connected.
   */
  query(statement: PostgresStatement): Promise<PostgresResult> | undefined
}

export function createListener(options: ListenerOptions): Listener {
  const { pool, channel, statementTimeout, onNotification, onListening, closed } = options
  const backoff = createBackoff(closed)
  let isStarted = false
  let connection: HeldConnection | undefined

  async function listenOnce(pool: PostgresPool): Promise<void> {
    const connecting = pool.connect()
    const client = await withTimeout(pingTimeout, connecting).catch((error) => {
      connecting.then((lateClient) => lateClient.release(true)).catch(() => {})
      throw error
    })
    const { promise: broken, resolve: resolveBroken } = Promise.withResolvers<void>()
    const stop = () => resolveBroken()
    client.on('error', stop)
    client.on('end', stop)
    closed.addEventListener('abort', stop)
    client.on('notification', ({ payload }) => onNotification(payload ?? ''))
    try {
      await client.query({ text: `LISTEN "${channel}"`, query_timeout: pingTimeout })
      connection = createHeldConnection({ client, timeout: statementTimeout, onBroken: stop })
      backoff.reset()
      onListening()
      await Promise.race([broken, ping(connection)])
    } finally {
      const lost = connection
      connection = undefined
      closed.removeEventListener('abort', stop)
      if (closed.aborted) await lost?.idle()
      lost?.close()
      client.release(true)
    }
  }

  /** Detects a connection that broke without an error. */
  async function ping(checked: HeldConnection): Promise<void> {
    while (connection === checked && !closed.aborted) {
      await new Promise((resolve) => setTimeout(resolve, pingInterval).unref())
      // While a statement is running this does nothing: that statement has its own timeout.
      if (connection === checked) await checked.query({ text: 'SELECT 1', query_timeout: pingTimeout })
    }
  }

  async function keepListening(pool: PostgresPool): Promise<void> {
    while (!closed.aborted) {
      await listenOnce(pool).catch(() => {}) // waiting readers poll meanwhile
      await backoff.wait()
    }
  }

  return {
    get isListening() {
      return connection !== undefined
    },
    query: (statement) => connection?.query(statement),
    start() {
      if (isStarted || !pool) return
      isStarted = true
      void keepListening(pool)
    },
  }
}
