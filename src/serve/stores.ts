import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { Agent } from '../core/agent/agent.ts'
import { redactSecrets } from '../core/base/error-summary.ts'
import type { Logger } from '../core/base/logger.ts'
import { slug } from '../core/server/card.ts'
import { ForeignLog, type TaskLog } from '../core/tasks/log.ts'
import type { OwnedPool } from '../stores/postgres/connection.ts'
import { createSqliteLog } from '../stores/sqlite/sqlite-log.ts'
import type { AddOptions } from './options.ts'

/** Opens the task logs of agents that bring none of their own. */
export interface AgentStores {
  /** What is stored where, for the operator. */
  readonly description: string
  /** Opens the log of an agent that the server starts with. */
  open(agent: Agent, mount: AddOptions): Promise<TaskLog>
  /** Opens the log of an agent that is added later. Throws if that takes time. */
  openNow(agent: Agent, mount: AddOptions): TaskLog
  /** Releases what the logs share. The logs themselves are closed before. */
  close(): Promise<void>
}

/** One SQLite file per agent. */
export function createSqliteStores(directory: string, logger: Logger): AgentStores {
  const openNow = (agent: Agent, mount: AddOptions) => openFile(directory, agent, mount, logger)
  return {
    description: `SQLite files in ${resolve(directory)}`,
    open: async (agent, mount) => openNow(agent, mount),
    openNow,
    async close() {},
  }
}

/** One PostgreSQL schema per agent, in the database of `PARLEY_DATABASE_URL`. */
export async function createPostgresStores(
  databaseUrl: string,
  { logger, patience }: { readonly logger: Logger; readonly patience: number },
): Promise<AgentStores> {
  // Loaded only if a database is configured.
  const [{ openPool }, { createPostgresLog }] = await Promise.all([
    import('../stores/postgres/connection.ts'),
    import('../stores/postgres/postgres-log.ts'),
  ])
  const pool: OwnedPool = await openPool(databaseUrl)
  const { host, pathname } = new URL(databaseUrl)
  return {
    description: redactSecrets(`PostgreSQL at ${host}${pathname}`),
    async open(agent, mount) {
      const { name, base } = addressOf(agent, mount)
      return await createPostgresLog({
        pool,
        schema: schemaOf(base, name),
        agent: name,
        logger,
        startPatience: patience,
      })
    },
    openNow(agent) {
      throw new TypeError(
        `server.add(${agent.profile.name}): PARLEY_DATABASE_URL opens the logs of the agents that are passed to serve(). ` +
          'Pass this agent to serve() as well, or give it a log: server.add(agent, { log: await createPostgresLog({ pool, schema }) }).',
      )
    },
    close: () => pool.end(),
  }
}

/** Opens the log of an agent at its mount. If its file belongs to an agent with a similar name, it gets another one. */
function openFile(directory: string, agent: Agent, mount: AddOptions, logger: Logger): TaskLog {
  const { name, base } = addressOf(agent, mount)
  try {
    return createSqliteLog({ file: join(directory, `${base}.db`), agent: name, logger })
  } catch (error) {
    if (!(error instanceof ForeignLog)) throw error
    return createSqliteLog({ file: join(directory, `${base}-${digestOf(name).slice(0, 16)}.db`), agent: name, logger })
  }
}

/** The name of an agent with its address, and the same for a file. */
function addressOf({ profile }: Agent, { mount = '', hostname, tenant }: AddOptions) {
  const path = mount.replace(/^\/+|\/+$/g, '')
  const address = [hostname, path, tenant && `~${tenant}`].filter((part) => part).join('/')
  if (address === '') return { name: profile.name, base: slug(profile.name) }
  return {
    name: `${profile.name} at ${address}`,
    base: `${slug(profile.name)}@${encodeURIComponent(address)}`,
  }
}

/** Names of schemas are short and have no special characters; a digest keeps similar names apart. */
function schemaOf(base: string, name: string): string {
  const plain = base.replace(/[^a-z0-9]+/g, '_')
  const schema = `parley_${plain}`
  const isExact = schema.length <= 40 && plain === base.replaceAll('-', '_')
  return isExact ? schema : `${schema.slice(0, 31)}_${digestOf(name).slice(0, 8)}`
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
