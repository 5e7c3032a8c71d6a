import { consoleLogger } from '../../core/base/logger.ts'
import { connectWithin, type Database, IncompatibleDatabase, probeTimeout, withTimeout } from '../shared/database.ts'
import { type Format, isCurrent, type Migration, migrateWhenReached } from '../shared/migrations.ts'
import {
  createMysqlDatabase,
  type DatabaseOptions,
  type MysqlConnection,
  type MysqlPool,
  subjectIn,
} from './connection.ts'

/** The smallest usable `max_allowed_packet` of a server, in bytes: a batch of events is one value. */
const minPacket = 4 * 1024 * 1024

/** How long to wait for another process that migrates, in seconds. */
const lockTimeout = 30

export interface OpenOptions extends DatabaseOptions {
  /** How long to wait at start for a database that cannot be reached, in milliseconds. Defaults to 60 seconds. */
  readonly startPatience?: number | undefined
}

/** Opens the database, checks the settings of its server and upgrades its tables to the newest format. */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const { pool, prefix, startPatience, closed, logger = consoleLogger } = options
  requirePrefix(prefix)
  const db = createMysqlDatabase(options)
  const subject = subjectIn(prefix, options.subject)
  await migrateWhenReached(() => migrate(pool, prefix), { db, subject, logger, closed, startPatience })
  return db
}

/** Rejects names that are not safe to insert into a statement. */
export function requirePrefix(prefix: string): void {
  if (/^[a-z_][a-z0-9_]{0,29}$/.test(prefix)) return
  throw new Error(`The prefix must be at most 30 lower-case letters, digits and _, got "${prefix}".`)
}

/**
 * Upgrades the tables to the newest format. Only one of several processes that start together does so. MySQL commits
 * after each statement that creates a table, so every statement can be repeated.
 */
async function migrate(pool: MysqlPool, prefix: string): Promise<void> {
  const connection = await connectWithin(probeTimeout, pool.getConnection(), (late) => late.release())
  let isBroken = true
  try {
    await withTimeout(probeTimeout, checkSettings(connection))
    if (!isCurrent(await formatOf(connection, prefix), migrations)) await applyMigrations(connection, prefix)
    isBroken = false
  } finally {
    if (isBroken) connection.destroy()
    else connection.release()
  }
}

async function checkSettings(connection: MysqlConnection): Promise<void> {
  const [rows] = await connection.query(
    'SELECT @@max_allowed_packet AS packet, @@character_set_client AS charset, @@version AS version',
  )
  const [settings] = rows as readonly { readonly packet: number; readonly charset: string; readonly version: string }[]
  const { packet = 0, charset = '', version = '' } = settings ?? {}
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = version.includes('MariaDB') ? major < 10 || (major === 10 && minor < 6) : major < 8
  if (isOld) throw new IncompatibleDatabase(`the server has version ${version}; it needs MySQL 8.0 or MariaDB 10.6`)
  if (Number(packet) < minPacket) {
    throw new IncompatibleDatabase(
      `max_allowed_packet of the server is ${packet} bytes, which is too small for large events; set it to at least ${minPacket}`,
    )
  }
  if (charset !== 'utf8mb4') {
    throw new IncompatibleDatabase(
      `the connections of the pool use the character set ${charset}; set charset of the pool to utf8mb4`,
    )
  }
}

export async function formatOf(connection: Pick<MysqlPool, 'query'>, prefix: string): Promise<Format> {
  const [tables] = await connection.query(
    `SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '${prefix}format'`,
  )
  if ((tables as readonly unknown[]).length === 0) return { format: 0, oldest: 0 }
  const [rows] = await connection.query(`SELECT format, oldest FROM ${prefix}format`)
  return (rows as readonly Format[])[0] ?? { format: 0, oldest: 0 }
}

async function applyMigrations(connection: MysqlConnection, prefix: string): Promise<void> {
  const lock = `CONCAT('parley ', DATABASE(), ' ${prefix}')`
  await connection.query(`SELECT GET_LOCK(${lock}, ${lockTimeout})`)
  try {
    // Read again: another process may have migrated meanwhile.
    const { format, oldest } = await formatOf(connection, prefix)
    let oldestCompatible = oldest
    for (const [index, { sql, breaksOlder }] of migrations.entries()) {
      if (index < format) continue
      for (const statement of statementsOf(sql, prefix).split(';\n')) {
        if (statement.trim() !== '') await connection.query(statement)
      }
      if (breaksOlder) oldestCompatible = index + 1
    }
    await connection.query(
      `INSERT INTO ${prefix}format (id, format, oldest) VALUES (1, ${migrations.length}, ${oldestCompatible})
       ON DUPLICATE KEY UPDATE format = VALUES(format), oldest = VALUES(oldest)`,
    )
  } finally {
    await connection.query(`SELECT RELEASE_LOCK(${lock})`)
  }
}

export function statementsOf(sql: string, prefix: string): string {
  const options = 'ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin'
  return sql.replaceAll('$options', options).replaceAll('$', prefix)
}

/** Migration n upgrades format n to format n + 1. Times are in milliseconds since 1970. */
export const migrations: readonly Migration[] = [
  {
    breaksOlder: true,
    sql: `
    CREATE TABLE IF NOT EXISTS $format (
      id INT PRIMARY KEY, format INT NOT NULL, oldest INT NOT NULL
    ) $options;
    CREATE TABLE IF NOT EXISTS $tasks (
      task_key BIGINT AUTO_INCREMENT PRIMARY KEY,
      task_id VARCHAR(255) NOT NULL UNIQUE,
      context_id VARCHAR(255) NOT NULL,
      owner VARCHAR(255) NOT NULL,
      generation INT NOT NULL,
      phase VARCHAR(32) NOT NULL,
      status_generation INT,
      status_answered BOOLEAN NOT NULL,
      dialect VARCHAR(255),
      created BIGINT NOT NULL,
      changed BIGINT NOT NULL,
      ended BOOLEAN NOT NULL,
      fence INT NOT NULL,
      lease_until DOUBLE,
      lease_holder VARCHAR(255),
      skill VARCHAR(1000),
      INDEX of_phase (owner, phase, changed, task_key),
      INDEX of_context (owner, context_id, changed, task_key),
      INDEX leased (lease_until),
      INDEX by_phase (phase, changed, task_key)
    ) $options;
    CREATE TABLE IF NOT EXISTS $events (
      task BIGINT NOT NULL,
      generation INT NOT NULL,
      event LONGTEXT NOT NULL,
      fence INT,
      token BIGINT NOT NULL,
      at DOUBLE,
      PRIMARY KEY (task, generation)
    ) $options;
    CREATE TABLE IF NOT EXISTS $snapshots (
      task BIGINT PRIMARY KEY, generation INT NOT NULL, snapshot LONGTEXT NOT NULL
    ) $options;
    CREATE TABLE IF NOT EXISTS $claims (
      owner VARCHAR(255) NOT NULL,
      claim_key VARCHAR(255) NOT NULL,
      digest VARCHAR(255) NOT NULL,
      task BIGINT NOT NULL,
      generation INT NOT NULL,
      PRIMARY KEY (owner, claim_key),
      INDEX of_task (task)
    ) $options;
    CREATE TABLE IF NOT EXISTS $webhooks (
      place BIGINT AUTO_INCREMENT PRIMARY KEY,
      task_id VARCHAR(255) NOT NULL,
      owner VARCHAR(255) NOT NULL,
      id VARCHAR(255) NOT NULL,
      revision INT NOT NULL,
      due DOUBLE,
      webhook LONGTEXT NOT NULL,
      touched DOUBLE NOT NULL,
      lease_holder VARCHAR(255),
      lease_until DOUBLE,
      UNIQUE (task_id, owner, id),
      INDEX by_due (due),
      INDEX by_touched (touched)
    ) $options;
    CREATE TABLE IF NOT EXISTS $log_agent (id INT PRIMARY KEY, name LONGTEXT NOT NULL) $options;
    CREATE TABLE IF NOT EXISTS $retention (
      id INT PRIMARY KEY, last_run BIGINT, expired BIGINT NOT NULL, forgotten BIGINT NOT NULL
    ) $options;
    INSERT IGNORE INTO $retention VALUES (1, NULL, 0, 0);
    CREATE TABLE IF NOT EXISTS $operator_minutes (minute BIGINT PRIMARY KEY, summary LONGTEXT NOT NULL) $options;
    CREATE TABLE IF NOT EXISTS $operator_values (
      name VARCHAR(255) PRIMARY KEY, value LONGTEXT NOT NULL, expires DOUBLE NOT NULL, INDEX by_expires (expires)
    ) $options;
    CREATE TABLE IF NOT EXISTS $operator_records (
      id BIGINT AUTO_INCREMENT PRIMARY KEY,
      kind VARCHAR(64) NOT NULL,
      list VARCHAR(255) NOT NULL,
      number BIGINT NOT NULL,
      at DOUBLE NOT NULL,
      value LONGTEXT NOT NULL,
      UNIQUE (kind, list, number),
      INDEX by_kind (kind, id)
    ) $options;
    CREATE TABLE IF NOT EXISTS $task_counts (
      owner VARCHAR(255) NOT NULL,
      phase VARCHAR(32) NOT NULL,
      token BIGINT NOT NULL,
      total BIGINT NOT NULL,
      PRIMARY KEY (owner, phase, token)
    ) $options;
    CREATE TABLE IF NOT EXISTS $registry_agents (
      id VARCHAR(255) PRIMARY KEY,
      kind VARCHAR(8) NOT NULL,
      name VARCHAR(255) NOT NULL,
      owner VARCHAR(255),
      seen DOUBLE NOT NULL,
      trouble VARCHAR(64),
      is_failing BOOLEAN GENERATED ALWAYS AS (trouble IS NOT NULL) STORED,
      \`rank\` DOUBLE NOT NULL,
      due DOUBLE,
      entry LONGTEXT NOT NULL,
      INDEX by_name (name, id),
      INDEX by_kind (kind, name, id),
      INDEX by_rank (is_failing, \`rank\`, name, id),
      INDEX by_health (kind, trouble, seen),
      INDEX by_age (kind, seen),
      INDEX by_due (due),
      INDEX by_owner (owner)
    ) $options;
    CREATE TABLE IF NOT EXISTS $registry_terms (
      term VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL, id VARCHAR(255) NOT NULL,
      PRIMARY KEY (term, name, id),
      INDEX of_entry (id, term)
    ) $options;
    CREATE TABLE IF NOT EXISTS $registry_term_counts (
      term VARCHAR(255) NOT NULL, kind VARCHAR(8) NOT NULL, total BIGINT NOT NULL, PRIMARY KEY (term, kind)
    ) $options;
    CREATE TABLE IF NOT EXISTS $registry_changes (
      number BIGINT PRIMARY KEY, type VARCHAR(32) NOT NULL, id VARCHAR(255) NOT NULL
    ) $options;
    CREATE TABLE IF NOT EXISTS $registry_state (
      one INT PRIMARY KEY, number BIGINT NOT NULL, mesh BIGINT NOT NULL, a2a BIGINT NOT NULL
    ) $options;
    INSERT IGNORE INTO $registry_state VALUES (1, FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000), 0, 0);
    CREATE TABLE IF NOT EXISTS $registry_leases (
      name VARCHAR(255) PRIMARY KEY, holder VARCHAR(255) NOT NULL, until DOUBLE NOT NULL
    ) $options;
    CREATE TABLE IF NOT EXISTS $registry_catalogs (url VARCHAR(255) PRIMARY KEY, catalog LONGTEXT NOT NULL) $options;
    CREATE TABLE IF NOT EXISTS $mesh_sightings (
      message_id VARCHAR(255) PRIMARY KEY,
      nonce VARCHAR(255) UNIQUE,
      digest VARCHAR(255) NOT NULL,
      until DOUBLE NOT NULL,
      settled BOOLEAN NOT NULL,
      reply LONGTEXT,
      INDEX by_until (until)
    ) $options;
    CREATE TABLE IF NOT EXISTS $limit_rates (
      \`key\` VARCHAR(255) PRIMARY KEY, full_at DOUBLE NOT NULL, INDEX by_full_at (full_at)
    ) $options;
    CREATE TABLE IF NOT EXISTS $limit_places (
      \`key\` VARCHAR(255) NOT NULL, place INT NOT NULL, holder VARCHAR(255) NOT NULL, until DOUBLE NOT NULL,
      PRIMARY KEY (\`key\`, place),
      INDEX of_holder (holder),
      INDEX by_until (until)
    ) $options;
    CREATE TABLE IF NOT EXISTS $ownership (
      number BIGINT AUTO_INCREMENT PRIMARY KEY,
      agent VARCHAR(255) NOT NULL,
      kind VARCHAR(16) NOT NULL,
      id VARCHAR(255) NOT NULL,
      owner VARCHAR(255) NOT NULL,
      remote_id VARCHAR(255) NOT NULL,
      context_id VARCHAR(255),
      data LONGTEXT,
      created DOUBLE NOT NULL,
      UNIQUE (agent, kind, id),
      INDEX of_remote (agent, kind, remote_id),
      INDEX of_owner (agent, kind, owner, number),
      INDEX by_created (created)
    ) $options;
    `,
  },
]
