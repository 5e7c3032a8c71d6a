/** Migration n upgrades format n to format n + 1. Released migrations never change. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE tasks (
    key INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    context_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    generation INTEGER NOT NULL,
    phase TEXT NOT NULL,
    -- The row of events whose last status is the current one. There is none before it is a task, nor in a tombstone.
    status_row INTEGER,
    -- 1 once a message has answered that status.
    status_answered INTEGER NOT NULL,
    dialect TEXT,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    lease_until REAL,
    lease_holder TEXT
  ) STRICT;
  CREATE INDEX tasks_of_owner ON tasks (owner, changed) WHERE status_row IS NOT NULL;
  CREATE INDEX tasks_of_context ON tasks (owner, context_id, changed) WHERE status_row IS NOT NULL;
  CREATE INDEX tasks_leased ON tasks (lease_until) WHERE lease_until IS NOT NULL;
  CREATE INDEX tasks_ended ON tasks (changed) WHERE ended = 1 AND phase <> 'expired';
  CREATE INDEX tombstones ON tasks (changed) WHERE phase = 'expired';

  -- Only ever appended to at its end, which is 2.6 times as fast as a table sorted by task. An id is never used
  -- again, so that processes can ask what came after the last one they saw. Events that were stored together lie in
  -- one row, as a JSON array; the generation is that of the last of them.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    events TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX events_of_task ON events (task, generation);

  CREATE TABLE snapshots (
    task INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL,
    snapshot TEXT NOT NULL
  ) STRICT;

  CREATE TABLE claims (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    task INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX claims_of_task ON claims (task);
  `,
  `
  -- The webhooks of tasks: each is a JSON document. Its place is never used again.
  CREATE TABLE webhooks (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    -- Time of the next attempt; NULL if there is nothing to deliver.
    due REAL,
    webhook TEXT NOT NULL,
    touched INTEGER NOT NULL,
    lease_holder TEXT,
    lease_until REAL,
    UNIQUE (task_id, owner, id)
  ) STRICT;
  CREATE INDEX webhooks_due ON webhooks (due) WHERE due IS NOT NULL;
  CREATE INDEX webhooks_idle ON webhooks (touched) WHERE due IS NULL;
  `,
  `
  -- The agents of a registry. What changes often has columns; the rest is a JSON document.
  CREATE TABLE registry_agents (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    owner TEXT,
    seen INTEGER NOT NULL,
    trouble TEXT,
    rank INTEGER NOT NULL,
    due INTEGER,
    entry TEXT NOT NULL
  ) STRICT;
  CREATE INDEX registry_by_name ON registry_agents (name, id, kind, seen, trouble);
  CREATE INDEX registry_by_kind ON registry_agents (kind, name, id, seen, trouble);
  CREATE INDEX registry_by_rank ON registry_agents ((trouble IS NOT NULL), rank, name, id);
  CREATE INDEX registry_by_health ON registry_agents (kind, trouble, seen);
  CREATE INDEX registry_by_age ON registry_agents (kind, seen);
  CREATE INDEX registry_due ON registry_agents (due) WHERE due IS NOT NULL;
  CREATE TABLE registry_terms (
    term TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (term, name, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX registry_terms_of ON registry_terms (id, term);
  CREATE TABLE registry_changes (
    number INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    id TEXT NOT NULL
  ) STRICT;
  -- One row: the number of the last change, and how many agents of each kind there are.
  CREATE TABLE registry_state (number INTEGER NOT NULL, mesh INTEGER NOT NULL, a2a INTEGER NOT NULL) STRICT;
  -- It begins with the time, so that numbers of another file are never taken for ours.
  INSERT INTO registry_state VALUES (CAST(strftime('%s', 'now') AS INTEGER) * 1000, 0, 0);
  CREATE TABLE registry_leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL
  ) STRICT;
  `,
  `
  -- How many agents of a kind have a term: who asks how many there are need not count them.
  CREATE TABLE registry_term_counts (
    term TEXT NOT NULL,
    kind TEXT NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (term, kind)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO registry_term_counts
    SELECT t.term, e.kind, count(*) FROM registry_terms t JOIN registry_agents e ON e.id = t.id GROUP BY 1, 2;
  `,
  `
  CREATE INDEX registry_by_owner ON registry_agents (owner) WHERE owner IS NOT NULL;
  -- Catalogs of others that are read again: each is a JSON document.
  CREATE TABLE registry_catalogs (url TEXT PRIMARY KEY, catalog TEXT NOT NULL) STRICT;
  `,
  `
  -- One row: the name of the agent whose tasks are in this file.
  CREATE TABLE log_agent (name TEXT NOT NULL) STRICT;
  `,
  `
  -- Leases go by the time since the start of the machine; the old ones by the time of day, so they end here. When a task
  -- without a lease wakes up is a time of day.
  ALTER TABLE tasks ADD COLUMN wake_at REAL;
  UPDATE tasks SET wake_at = lease_until, lease_until = NULL WHERE lease_holder IS NULL;
  UPDATE tasks SET lease_until = 0 WHERE lease_holder IS NOT NULL;
  CREATE INDEX tasks_waking ON tasks (wake_at) WHERE wake_at IS NOT NULL;
  UPDATE webhooks SET lease_until = 0 WHERE lease_until IS NOT NULL;
  `,
  `
  -- One row: when old tasks were last removed, and how many were since the file exists. Times in milliseconds since 1970.
  CREATE TABLE retention (last_run INTEGER, expired INTEGER NOT NULL, forgotten INTEGER NOT NULL) STRICT;
  INSERT INTO retention VALUES (NULL, 0, 0);
  `,
  `
  -- When the events of a row were stored, in milliseconds since 1970. Older rows have no time.
  ALTER TABLE events ADD COLUMN at INTEGER;
  -- The skill that the first message of the task names.
  ALTER TABLE tasks ADD COLUMN skill TEXT;
  -- For operators, who list the tasks of all owners.
  CREATE INDEX tasks_by_phase ON tasks (phase, changed);
  -- What happened in each minute, as a JSON document.
  CREATE TABLE operator_minutes (minute INTEGER PRIMARY KEY, summary TEXT NOT NULL) STRICT;
  -- Sessions of operators and similar values, which expire.
  CREATE TABLE operator_values (name TEXT PRIMARY KEY, value TEXT NOT NULL, expires REAL NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX operator_values_old ON operator_values (expires);
  `,
  `
  -- Retention finds old tasks by tasks_by_phase. Every further index costs each new task about a tenth of its write.
  DROP INDEX tasks_ended;
  DROP INDEX tombstones;
  `,
  `
  -- What processes have observed, for operators: log lines of tasks, probes of agents and the like, in bounded lists.
  CREATE TABLE operator_records (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    list TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    value TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX operator_records_of ON operator_records (kind, list, number);
  CREATE INDEX operator_records_by_kind ON operator_records (kind);
  `,
  `
  -- How many tasks of an owner are in a phase, so that no list has to count them.
  CREATE TABLE task_counts (
    owner TEXT NOT NULL,
    phase TEXT NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (owner, phase)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO task_counts SELECT owner, phase, count(*) FROM tasks WHERE status_row IS NOT NULL GROUP BY 1, 2;
  -- By phase as well: a list of one phase reads no tasks in others, and a list of all merges the phases.
  DROP INDEX tasks_of_owner;
  CREATE INDEX tasks_of_phase ON tasks (owner, phase, changed) WHERE status_row IS NOT NULL;
  `,
  `
  -- By context first: an erasure finds the tasks of a context of any owner.
  DROP INDEX tasks_of_context;
  CREATE INDEX tasks_of_context ON tasks (context_id, owner, changed) WHERE status_row IS NOT NULL;
  -- For erasures, too. A task whose first write has its status never gets into these indexes.
  CREATE INDEX rest_of_owner ON tasks (owner) WHERE status_row IS NULL;
  CREATE INDEX rest_of_context ON tasks (context_id) WHERE status_row IS NULL;
  `,
]
