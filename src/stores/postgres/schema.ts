import { consoleLogger } from '../../core/base/logger.ts'
import { type Database, probeTimeout, withTimeout } from '../shared/database.ts'
import { type Format, isCurrent, type Migration, migrateWhenReached } from '../shared/migrations.ts'
import {
  createPostgresDatabase,
  type DatabaseOptions,
  ignoreConnectionErrors,
  type PostgresClient,
  type PostgresPool,
  subjectIn,
} from './connection.ts'

export interface OpenOptions extends DatabaseOptions {
  /** How long to wait at start for a database that cannot be reached, in milliseconds. Defaults to 60 seconds. */
  readonly startPatience?: number | undefined
}

/** Opens the database and upgrades its schema to the newest format. */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const { pool, schema } = options
  requireSchema(schema)
  const db = createPostgresDatabase(options)
  ignoreConnectionErrors(pool)
  const { startPatience, closed, logger = consoleLogger } = options
  const subject = subjectIn(schema, options.subject)
  await migrateWhenReached(() => migrateOnceReached(pool, schema), { db, subject, logger, closed, startPatience })
  return db
}

/** A pool may wait forever for its first connection. */
async function migrateOnceReached(pool: PostgresPool, schema: string): Promise<void> {
  await withTimeout(probeTimeout, pool.query({ text: 'SELECT 1', query_timeout: probeTimeout }))
  await migrate(pool, schema)
}

/** Rejects names that are not safe to insert into a statement. */
export function requireSchema(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) return
  throw new Error(`The schema must be a name of at most 40 lower-case letters, digits and _, got "${schema}".`)
}

/** Upgrades the schema to the newest format. Only one of several processes that start together does so. */
export async function migrate(pool: PostgresPool, schema: string, available = migrations): Promise<void> {
  if (isCurrent(await formatOf(pool, schema), available)) return
  const client = await pool.connect()
  let isBroken = true
  try {
    await client.query({ text: 'BEGIN' })
    await client.query({ text: `SET LOCAL idle_in_transaction_session_timeout = '20s'` })
    await client.query({ text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', values: [`parley ${schema}`] })
    // Read again: another process may have migrated meanwhile.
    const format = await formatOf(client, schema)
    if (!isCurrent(format, available)) await applyMigrations(client, schema, format, available)
    await client.query({ text: 'COMMIT' })
    isBroken = false
  } finally {
    client.release(isBroken) // closing the connection rolls back
  }
}

/** Migration n upgrades format n to format n + 1. */
export const migrations: readonly Migration[] = [
  {
    breaksOlder: true,
    sql: `
    CREATE TABLE $.tasks (
      key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      task_id text COLLATE "C" NOT NULL UNIQUE,
      context_id text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      generation int NOT NULL,
      phase text NOT NULL,
      status_generation int,
      status_answered bool NOT NULL,
      dialect text,
      created bigint NOT NULL,
      changed bigint NOT NULL,
      ended bool NOT NULL,
      fence int NOT NULL,
      lease_until timestamptz,
      lease_holder text
    ) WITH (fillfactor = 60);
    COMMENT ON COLUMN $.tasks.status_generation IS
      'The event that holds the current status; none before it is a task, nor in a tombstone.';
    COMMENT ON COLUMN $.tasks.status_answered IS 'Whether a message has answered that status.';
    CREATE INDEX tasks_of_owner ON $.tasks (owner, changed, key) WHERE status_generation IS NOT NULL;
    CREATE INDEX tasks_of_context ON $.tasks (owner, context_id, changed, key) WHERE status_generation IS NOT NULL;
    CREATE INDEX tasks_leased ON $.tasks (lease_until) WHERE lease_until IS NOT NULL;
    CREATE INDEX tasks_ended ON $.tasks (changed) WHERE ended AND phase <> 'expired';
    CREATE INDEX tombstones ON $.tasks (changed) WHERE phase = 'expired';

    CREATE TABLE $.events (
      task bigint NOT NULL,
      generation int NOT NULL,
      event text NOT NULL,
      fence int,
      token bigint NOT NULL,
      PRIMARY KEY (task, generation)
    );
    COMMENT ON COLUMN $.events.fence IS 'Of the lease under which it was written, or that was taken with it.';
    COMMENT ON COLUMN $.events.token IS 'Of the append; by it one finds out whether an unanswered append was stored.';

    CREATE TABLE $.snapshots (
      task bigint PRIMARY KEY,
      generation int NOT NULL,
      snapshot text NOT NULL
    );

    CREATE TABLE $.claims (
      owner text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      digest text NOT NULL,
      task bigint NOT NULL,
      generation int NOT NULL,
      PRIMARY KEY (owner, key)
    );
    CREATE INDEX claims_of_task ON $.claims (task);
    `,
  },
  {
    sql: `
    CREATE TABLE $.webhooks (
      place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      task_id text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      revision int NOT NULL,
      due float8,
      webhook text NOT NULL,
      touched float8 NOT NULL,
      lease_holder text,
      lease_until timestamptz,
      UNIQUE (task_id, owner, id)
    ) WITH (fillfactor = 60);
    COMMENT ON COLUMN $.webhooks.due IS 'Time of the next attempt; NULL if there is nothing to deliver.';
    CREATE INDEX webhooks_due ON $.webhooks (due) WHERE due IS NOT NULL;
    CREATE INDEX webhooks_idle ON $.webhooks (touched) WHERE due IS NULL;
    `,
  },
  {
    sql: `
    CREATE TABLE $.registry_agents (
      id text COLLATE "C" PRIMARY KEY,
      kind text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      owner text COLLATE "C",
      seen float8 NOT NULL,
      trouble text COLLATE "C",
      rank float8 NOT NULL,
      due float8,
      entry text NOT NULL
    ) WITH (fillfactor = 70);
    CREATE INDEX registry_by_name ON $.registry_agents (name, id);
    CREATE INDEX registry_by_kind ON $.registry_agents (kind, name, id);
    CREATE INDEX registry_by_rank ON $.registry_agents ((trouble IS NOT NULL), rank, name, id);
    CREATE INDEX registry_by_health ON $.registry_agents (kind, trouble, seen);
    CREATE INDEX registry_by_age ON $.registry_agents (kind, seen);
    CREATE INDEX registry_due ON $.registry_agents (due) WHERE due IS NOT NULL;
    CREATE TABLE $.registry_terms (
      term text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      PRIMARY KEY (term, name, id)
    );
    CREATE INDEX registry_terms_of ON $.registry_terms (id, term);
    CREATE TABLE $.registry_changes (
      number bigint PRIMARY KEY,
      type text NOT NULL,
      id text NOT NULL
    );
    CREATE TABLE $.registry_state (number bigint NOT NULL, mesh bigint NOT NULL, a2a bigint NOT NULL);
    COMMENT ON TABLE $.registry_state IS
      'One row. Who changes something locks it until the commit, so changes are numbered in the order of their commits.';
    INSERT INTO $.registry_state VALUES (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, 0, 0);
    CREATE TABLE $.registry_leases (
      name text COLLATE "C" PRIMARY KEY,
      holder text NOT NULL,
      until timestamptz NOT NULL
    );
    CREATE TABLE $.mesh_sightings (
      message_id text COLLATE "C" PRIMARY KEY,
      nonce text COLLATE "C" UNIQUE,
      digest text NOT NULL,
      until float8 NOT NULL,
      settled bool NOT NULL DEFAULT false,
      reply text
    ) WITH (fillfactor = 70);
    CREATE INDEX mesh_sightings_old ON $.mesh_sightings (until);
    `,
  },
  {
    sql: `
    CREATE TABLE IF NOT EXISTS $.limit_rates (key text COLLATE "C" PRIMARY KEY, full_at float8 NOT NULL);
    COMMENT ON COLUMN $.limit_rates.full_at IS 'When all uses will be back, in milliseconds since 1970.';
    CREATE TABLE IF NOT EXISTS $.limit_places (
      key text COLLATE "C",
      place int,
      holder text NOT NULL,
      until timestamptz NOT NULL,
      PRIMARY KEY (key, place)
    );
    CREATE INDEX limit_rates_full ON $.limit_rates (full_at);
    CREATE INDEX limit_places_of ON $.limit_places (holder);
    CREATE INDEX limit_places_old ON $.limit_places (until);
    `,
  },
  {
    sql: `
    CREATE TABLE $.registry_term_counts (
      term text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      total bigint NOT NULL,
      PRIMARY KEY (term, kind)
    ) WITH (fillfactor = 70);
    COMMENT ON TABLE $.registry_term_counts IS
      'How many agents of a kind have a term: who asks how many there are need not count them.';
    INSERT INTO $.registry_term_counts
      SELECT t.term, e.kind, count(*) FROM $.registry_terms t JOIN $.registry_agents e ON e.id = t.id GROUP BY 1, 2;
    `,
  },
  {
    sql: `
    CREATE INDEX registry_by_owner ON $.registry_agents (owner) WHERE owner IS NOT NULL;
    CREATE TABLE $.registry_catalogs (url text COLLATE "C" PRIMARY KEY, catalog text NOT NULL);
    `,
  },
  {
    sql: `
    CREATE TABLE $.log_agent (id int PRIMARY KEY DEFAULT 1 CHECK (id = 1), name text NOT NULL);
    COMMENT ON TABLE $.log_agent IS 'One row: the name of the agent whose tasks are in this schema.';
    `,
  },
  {
    sql: `
    CREATE TABLE $.retention (
      id int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
      last_run bigint,
      expired bigint NOT NULL,
      forgotten bigint NOT NULL
    );
    COMMENT ON TABLE $.retention IS
      'One row: when old tasks were last removed, and how many were since the log exists. In milliseconds since 1970.';
    INSERT INTO $.retention VALUES (1, NULL, 0, 0);
    `,
  },
  {
    // The default is set after the column is added, so that no row is rewritten. Replicas of older versions fill it too.
    sql: `
    ALTER TABLE $.events ADD COLUMN at float8;
    ALTER TABLE $.events ALTER COLUMN at SET DEFAULT (extract(epoch FROM statement_timestamp()) * 1000)::float8;
    COMMENT ON COLUMN $.events.at IS 'When it was stored, in milliseconds since 1970; older events have no time.';
    ALTER TABLE $.tasks ADD COLUMN skill text;
    COMMENT ON COLUMN $.tasks.skill IS 'The skill that its first message names.';
    CREATE INDEX tasks_by_phase ON $.tasks (phase, changed, key);
    CREATE TABLE $.operator_minutes (minute bigint PRIMARY KEY, summary text NOT NULL);
    COMMENT ON TABLE $.operator_minutes IS 'What happened in each minute, as a JSON document.';
    CREATE TABLE $.operator_values (
      name text COLLATE "C" PRIMARY KEY,
      value text NOT NULL,
      expires float8 NOT NULL
    );
    COMMENT ON TABLE $.operator_values IS 'Sessions of operators and similar values, which expire.';
    CREATE INDEX operator_values_old ON $.operator_values (expires);
    `,
  },
  {
    sql: `
    CREATE TABLE $.operator_records (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text COLLATE "C" NOT NULL,
      list text COLLATE "C" NOT NULL,
      number bigint NOT NULL,
      at float8 NOT NULL,
      value text NOT NULL,
      UNIQUE (kind, list, number)
    );
    COMMENT ON TABLE $.operator_records IS
      'What processes have observed, for operators: log lines of tasks, probes of agents and the like, in bounded lists.';
    CREATE INDEX operator_records_by_kind ON $.operator_records (kind, id);
    `,
  },
  {
    // Triggers, because replicas of older versions change tasks too. See docs/decisions/0054-count-tasks-at-write.md.
    sql: `
    CREATE TABLE $.task_counts (
      owner text COLLATE "C",
      phase text COLLATE "C",
      id bigint GENERATED ALWAYS AS IDENTITY,
      total bigint NOT NULL,
      PRIMARY KEY (owner, phase, id)
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
    COMMENT ON TABLE $.task_counts IS
      'How many tasks of an owner are in a phase: the sum of its rows. A change adds a row, so that writers never wait for each other.';
    CREATE FUNCTION $.fold_task_counts(folded text) RETURNS void LANGUAGE sql AS $body$
      WITH free AS MATERIALIZED (SELECT id FROM $.task_counts WHERE owner = folded FOR UPDATE SKIP LOCKED),
      gone AS (
        DELETE FROM $.task_counts WHERE owner = folded AND id IN (SELECT id FROM free) RETURNING phase, total
      )
      INSERT INTO $.task_counts (owner, phase, total)
      SELECT folded, phase, sum(total) FROM gone GROUP BY phase HAVING sum(total) <> 0
    $body$;
    CREATE FUNCTION $.count_added_tasks() RETURNS trigger LANGUAGE plpgsql AS $body$
    DECLARE changed record;
    BEGIN
      INSERT INTO $.task_counts (owner, phase, total)
      SELECT owner, phase, count(*) FROM added WHERE status_generation IS NOT NULL GROUP BY owner, phase;
      FOR changed IN SELECT owner FROM added WHERE random() < 0.05 LOOP
        PERFORM $.fold_task_counts(changed.owner);
      END LOOP;
      RETURN NULL;
    END $body$;
    CREATE FUNCTION $.count_changed_task() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      INSERT INTO $.task_counts (owner, phase, total)
      SELECT old.owner, old.phase, -1 WHERE old.status_generation IS NOT NULL
      UNION ALL SELECT new.owner, new.phase, 1 WHERE new.status_generation IS NOT NULL;
      IF random() < 0.05 THEN
        PERFORM $.fold_task_counts(new.owner);
      END IF;
      RETURN NULL;
    END $body$;
    CREATE FUNCTION $.count_removed_tasks() RETURNS trigger LANGUAGE plpgsql AS $body$
    DECLARE changed record;
    BEGIN
      INSERT INTO $.task_counts (owner, phase, total)
      SELECT owner, phase, -count(*) FROM removed WHERE status_generation IS NOT NULL GROUP BY owner, phase;
      FOR changed IN SELECT DISTINCT owner FROM removed ORDER BY owner LOOP
        PERFORM FROM $.task_counts WHERE owner = changed.owner ORDER BY phase, id FOR UPDATE;
        PERFORM $.fold_task_counts(changed.owner);
      END LOOP;
      RETURN NULL;
    END $body$;
    CREATE TRIGGER tasks_added AFTER INSERT ON $.tasks REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION $.count_added_tasks();
    CREATE TRIGGER tasks_changed AFTER UPDATE OF phase, status_generation ON $.tasks FOR EACH ROW
      WHEN (old.phase <> new.phase OR (old.status_generation IS NULL) <> (new.status_generation IS NULL))
      EXECUTE FUNCTION $.count_changed_task();
    CREATE TRIGGER tasks_removed AFTER DELETE ON $.tasks REFERENCING OLD TABLE AS removed
      FOR EACH STATEMENT EXECUTE FUNCTION $.count_removed_tasks();
    INSERT INTO $.task_counts (owner, phase, total)
    SELECT owner, phase, count(*) FROM $.tasks WHERE status_generation IS NOT NULL GROUP BY owner, phase;
    CREATE INDEX tasks_of_phase ON $.tasks (owner, phase, changed, key) WHERE status_generation IS NOT NULL;
    DROP INDEX $.tasks_of_owner;
    `,
  },
  {
    // By context first: an erasure finds the tasks of a context of any owner. It needs the other two as well; a task whose
    // first write has its status never gets into them.
    sql: `
    DROP INDEX $.tasks_of_context;
    CREATE INDEX tasks_of_context ON $.tasks (context_id, owner, changed, key) WHERE status_generation IS NOT NULL;
    CREATE INDEX rest_of_owner ON $.tasks (owner) WHERE status_generation IS NULL;
    CREATE INDEX rest_of_context ON $.tasks (context_id) WHERE status_generation IS NULL;
    `,
  },
]

export function statementsOf(sql: string, schema: string): string {
  return sql.replaceAll('$.', `"${schema}".`)
}

export async function formatOf(from: Pick<PostgresPool, 'query'>, schema: string): Promise<Format> {
  const { rows } = await from.query({ text: selectFormatTable, values: [schema] })
  if (rows.length === 0) return { format: 0, oldest: 0 }
  const { rows: formats } = await from.query({ text: `SELECT format, oldest FROM "${schema}".format` })
  return (formats as Format[])[0] ?? { format: 0, oldest: 0 }
}

/** Not `to_regclass`, which may answer from the cache of its connection. */
const selectFormatTable = `
  SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
  WHERE pg_namespace.nspname = $1 AND pg_class.relname = 'format'`

async function applyMigrations(
  client: PostgresClient,
  schema: string,
  { format, oldest }: Format,
  available: readonly Migration[],
) {
  if (format === 0) {
    // Checked first, because a user that may use a schema may lack the right to create one.
    const { rows } = await client.query({ text: 'SELECT FROM pg_namespace WHERE nspname = $1', values: [schema] })
    if (rows.length === 0) await client.query({ text: `CREATE SCHEMA "${schema}"` })
    await client.query({ text: `CREATE TABLE "${schema}".format (format int NOT NULL, oldest int NOT NULL)` })
    await client.query({ text: `INSERT INTO "${schema}".format VALUES (0, 0)` })
  }
  let oldestCompatible = oldest
  for (const [index, { sql, breaksOlder }] of available.entries()) {
    if (index < format) continue
    await client.query({ text: statementsOf(sql, schema) })
    if (breaksOlder) oldestCompatible = index + 1
  }
  await client.query({
    text: `UPDATE "${schema}".format SET format = $1, oldest = $2`,
    values: [available.length, oldestCompatible],
  })
}
