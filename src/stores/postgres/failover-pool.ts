import { consoleLogger, type Logger } from '../../core/base/logger.ts'
import { checkOptions, listOf, loggerCheck } from '../../core/base/options.ts'
import { withTimeout } from '../shared/database.ts'
import { messageOf } from '../shared/outage.ts'
import { isDisconnected, type PostgresPool, poolCheck } from './connection.ts'

/** How long a server may take to say whether it can be written, in milliseconds. */
const searchTimeout = 2_000

/** Options of `createFailoverPool`. */
export interface FailoverPoolOptions {
  /** A `Pool` of the package `pg` for each server, such as the primary and its standbys. They are not ended. */
  readonly pools: readonly PostgresPool[]
  /** Receives a warning when another server is used. Defaults to the console. */
  readonly logger?: Logger
}

/**
 * Creates a pool of several servers of which one can be written, for every store of PostgreSQL. A statement goes to the server
 * that is the primary. If that fails, the next statement finds the standby that was promoted.
 * @example createPostgresLimits({ pool: createFailoverPool({ pools: [new Pool({ host: 'db1' }), new Pool({ host: 'db2' })] }) })
 */
export function createFailoverPool(options: FailoverPoolOptions): PostgresPool {
  checkOptions('createFailoverPool', options, { pools: listOf(poolCheck), logger: loggerCheck }, ['pools'])
  const { pools, logger = consoleLogger } = options
  if (pools.length === 0) throw new TypeError('createFailoverPool: pools: expected at least one pool.')
  let current: PostgresPool | undefined
  let last: Writable | undefined
  let searching: Promise<PostgresPool> | undefined
  let lostAt = 0
  const watched = new WeakSet<object>()

  async function search(): Promise<PostgresPool> {
    const errors: unknown[] = []
    const answers = await Promise.all(pools.map((pool) => timelineOf(pool).catch((error) => void errors.push(error))))
    const found = pools
      .flatMap((pool, index) => ({ pool, number: index + 1, timeline: answers[index] ?? 0 }))
      .filter(({ timeline }) => timeline > 0 && timeline >= (last?.timeline ?? 0))
      // A former primary may still run: each promotion begins a new timeline.
      .toSorted((a, b) => b.timeline - a.timeline)[0]
    if (!found) throw new Error(`none of ${pools.length} servers can be written${causeOf(errors)}`)
    if (last && last.pool !== found.pool) {
      const milliseconds = Math.round(performance.now() - lostAt)
      logger.warn(
        { server: found.number, milliseconds },
        `PostgreSQL server ${found.number} of ${pools.length} is the primary now`,
      )
    }
    last = found
    current = found.pool
    return found.pool
  }

  async function findWritable(): Promise<PostgresPool> {
    searching ??= search().finally(() => {
      searching = undefined
    })
    return await searching
  }

  function lose(pool: PostgresPool): void {
    if (current !== pool) return
    current = undefined
    lostAt = performance.now()
  }

  return {
    async query(statement) {
      const pool = current ?? (await findWritable())
      try {
        return await pool.query(statement)
      } catch (error) {
        if (isDisconnected(error)) lose(pool)
        throw error
      }
    },
    async connect() {
      const pool = current ?? (await findWritable())
      const client = await pool.connect().catch((error) => {
        lose(pool)
        throw error
      })
      if (!watched.has(client)) client.on('error', () => lose(pool))
      watched.add(client)
      return client
    },
    on(event: never, listener: never) {
      for (const pool of pools) pool.on(event, listener)
    },
  }
}

interface Writable {
  readonly pool: PostgresPool
  readonly timeline: number
}

/** The timeline that a server writes. Zero if it is a standby, or may only be read. */
async function timelineOf(pool: PostgresPool): Promise<number> {
  const query = pool.query({ text: selectTimeline, query_timeout: searchTimeout })
  const { rows } = await withTimeout(searchTimeout, query)
  return (rows as { readonly timeline: number }[])[0]?.timeline ?? 0
}

const selectTimeline = `
  SELECT CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN 0
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`

function causeOf([error]: readonly unknown[]): string {
  return error === undefined ? ': all are standbys' : `: ${messageOf(error)}`
}
