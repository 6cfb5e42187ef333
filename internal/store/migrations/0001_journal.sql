-- The journal. Rows are added and never changed: state is a fold over events.
CREATE TABLE runs (
  run        TEXT PRIMARY KEY,
  slug       TEXT NOT NULL,
  plan       TEXT NOT NULL,
  plan_text  BLOB NOT NULL,
  started_at TEXT NOT NULL
);

CREATE TABLE events (
  run   TEXT    NOT NULL REFERENCES runs (run),
  seq   INTEGER NOT NULL,
  at    TEXT    NOT NULL,
  kind  TEXT    NOT NULL,
  batch TEXT    NOT NULL,
  body  TEXT    NOT NULL,
  PRIMARY KEY (run, seq)
) WITHOUT ROWID;

CREATE TRIGGER events_are_facts BEFORE UPDATE ON events
BEGIN SELECT RAISE (ABORT, 'events are never changed'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events
BEGIN SELECT RAISE (ABORT, 'events are never deleted'); END;

-- One row a task: a batch of a run, later also a solve task.
CREATE TABLE task_runs (
  id               INTEGER PRIMARY KEY,
  task_id          TEXT    NOT NULL UNIQUE,
  repo_path        TEXT    NOT NULL,
  mode             TEXT    NOT NULL,
  execute_model    TEXT    NOT NULL,
  context_window   INTEGER NOT NULL, -- 0: the agent manages its own window
  reserved_tokens  INTEGER NOT NULL,
  stages           TEXT    NOT NULL,
  plan_artifact    TEXT,
  success          INTEGER,          -- NULL until it is known
  total_tokens     INTEGER,
  total_latency_ms INTEGER,
  final_diff       TEXT,
  final_plan       TEXT,
  timestamp        TEXT    NOT NULL
);

CREATE TABLE run_attempts (
  id                INTEGER PRIMARY KEY,
  task_run_id       INTEGER NOT NULL REFERENCES task_runs (id),
  attempt           INTEGER NOT NULL,
  prompt_tokens     INTEGER,
  completion_tokens INTEGER,
  latency_ms        INTEGER NOT NULL,
  raw_response      TEXT    NOT NULL,
  patch_applied     INTEGER NOT NULL,
  timestamp         TEXT    NOT NULL
);

CREATE TABLE validation_results (
  id                INTEGER PRIMARY KEY,
  attempt_id        INTEGER NOT NULL REFERENCES run_attempts (id),
  success           INTEGER NOT NULL,
  test_output       TEXT,
  lint_output       TEXT,
  type_check_output TEXT,
  failing_tests     TEXT
);

CREATE INDEX run_attempts_of_task ON run_attempts (task_run_id, attempt);
CREATE INDEX validation_of_attempt ON validation_results (attempt_id);
