-- What models were asked, what they said, and what came of it. Rows are added and never changed. task_id is that of
-- task_runs, where the row may come later than these.
CREATE TABLE retrieval_llm_calls (
  id                INTEGER PRIMARY KEY,
  task_id           TEXT    NOT NULL,
  call_type         TEXT    NOT NULL,
  stage_name        TEXT,             -- NULL: task analysis, which is no stage
  model             TEXT    NOT NULL,
  prompt            TEXT    NOT NULL,
  response          TEXT    NOT NULL,
  prompt_tokens     INTEGER,
  completion_tokens INTEGER,
  latency_ms        INTEGER NOT NULL,
  timestamp         TEXT    NOT NULL,
  role              TEXT,             -- coding or reasoning
  system            TEXT,
  attempt           INTEGER,          -- NULL: not part of an attempt
  error             TEXT              -- NULL: the answer could be used
);
CREATE INDEX calls_of_task ON retrieval_llm_calls (task_id);
CREATE INDEX calls_of_type ON retrieval_llm_calls (call_type, stage_name);

-- One row for each file that a stage looked at, with a symbol for each symbol of it. Of several rows about one thing
-- the last counts. Ids of files do not outlive the index, paths do.
CREATE TABLE retrieval_decisions (
  id        INTEGER PRIMARY KEY,
  task_id   TEXT    NOT NULL,
  stage     TEXT    NOT NULL,
  file_id   INTEGER NOT NULL, -- 0: not in the index
  tier      TEXT,
  included  INTEGER NOT NULL,
  reason    TEXT,
  timestamp TEXT    NOT NULL,
  path      TEXT    NOT NULL,
  symbol    TEXT              -- NULL: the file as a whole
);
CREATE INDEX decisions_of_task ON retrieval_decisions (task_id, stage, path);
CREATE INDEX decisions_by_path ON retrieval_decisions (path);

CREATE TABLE enrichment_outputs (
  id                 INTEGER PRIMARY KEY,
  file_id            INTEGER NOT NULL,
  model              TEXT    NOT NULL,
  purpose            TEXT,
  module             TEXT,
  domain             TEXT,
  concepts           TEXT,             -- JSON
  public_api_surface TEXT,             -- JSON
  complexity_notes   TEXT,
  raw_prompt         TEXT    NOT NULL,
  raw_response       TEXT    NOT NULL,
  promoted           INTEGER NOT NULL DEFAULT 0,
  timestamp          TEXT    NOT NULL,
  repo_path          TEXT    NOT NULL,
  path               TEXT    NOT NULL,
  content_hash       TEXT    NOT NULL, -- of what the model saw
  prompt_tokens      INTEGER,
  completion_tokens  INTEGER,
  latency_ms         INTEGER NOT NULL
);
CREATE INDEX enrichments_of_file ON enrichment_outputs (repo_path, path);

-- That an enrichment was promoted is a fact with a time, so it is a row. The column above only repeats it.
CREATE TABLE enrichment_promotions (
  enrichment_id INTEGER PRIMARY KEY REFERENCES enrichment_outputs (id),
  timestamp     TEXT NOT NULL
);
CREATE TRIGGER promotions_show AFTER INSERT ON enrichment_promotions
BEGIN UPDATE enrichment_outputs SET promoted = 1 WHERE id = NEW.enrichment_id; END;

CREATE TABLE session_archives (
  id           INTEGER PRIMARY KEY,
  task_id      TEXT NOT NULL,
  session_blob BLOB NOT NULL, -- an SQLite file
  archived_at  TEXT NOT NULL
);
CREATE INDEX archives_of_task ON session_archives (task_id);

-- Attempts of one task may be made by several models, and by several candidates of a tournament (0: none).
ALTER TABLE run_attempts ADD COLUMN model TEXT;
ALTER TABLE run_attempts ADD COLUMN candidate INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER calls_are_facts BEFORE UPDATE ON retrieval_llm_calls
BEGIN SELECT RAISE (ABORT, 'calls are never changed'); END;
CREATE TRIGGER calls_stay BEFORE DELETE ON retrieval_llm_calls
BEGIN SELECT RAISE (ABORT, 'calls are never deleted'); END;
CREATE TRIGGER decisions_are_facts BEFORE UPDATE ON retrieval_decisions
BEGIN SELECT RAISE (ABORT, 'decisions are never changed'); END;
CREATE TRIGGER decisions_stay BEFORE DELETE ON retrieval_decisions
BEGIN SELECT RAISE (ABORT, 'decisions are never deleted'); END;
CREATE TRIGGER enrichments_are_facts BEFORE UPDATE OF id, file_id, model, purpose, module, domain, concepts, public_api_surface, complexity_notes,
  raw_prompt, raw_response, timestamp, repo_path, path, content_hash, prompt_tokens, completion_tokens, latency_ms ON enrichment_outputs
BEGIN SELECT RAISE (ABORT, 'enrichments are never changed'); END;
CREATE TRIGGER enrichments_are_promoted_by_a_row BEFORE UPDATE OF promoted ON enrichment_outputs
WHEN NEW.promoted <> (SELECT COUNT(*) FROM enrichment_promotions WHERE enrichment_id = OLD.id)
BEGIN SELECT RAISE (ABORT, 'what is promoted is a row of enrichment_promotions'); END;
CREATE TRIGGER enrichments_begin_unpromoted BEFORE INSERT ON enrichment_outputs WHEN NEW.promoted <> 0
BEGIN SELECT RAISE (ABORT, 'what is promoted is a row of enrichment_promotions'); END;
CREATE TRIGGER enrichments_stay BEFORE DELETE ON enrichment_outputs
BEGIN SELECT RAISE (ABORT, 'enrichments are never deleted'); END;
CREATE TRIGGER promotions_are_facts BEFORE UPDATE ON enrichment_promotions
BEGIN SELECT RAISE (ABORT, 'promotions are never changed'); END;
CREATE TRIGGER promotions_stay BEFORE DELETE ON enrichment_promotions
BEGIN SELECT RAISE (ABORT, 'promotions are never deleted'); END;
CREATE TRIGGER archives_are_facts BEFORE UPDATE ON session_archives
BEGIN SELECT RAISE (ABORT, 'archives are never changed'); END;
CREATE TRIGGER archives_stay BEFORE DELETE ON session_archives
BEGIN SELECT RAISE (ABORT, 'archives are never deleted'); END;
CREATE TRIGGER attempts_are_facts BEFORE UPDATE ON run_attempts
BEGIN SELECT RAISE (ABORT, 'attempts are never changed'); END;
CREATE TRIGGER attempts_stay BEFORE DELETE ON run_attempts
BEGIN SELECT RAISE (ABORT, 'attempts are never deleted'); END;
CREATE TRIGGER verdicts_are_facts BEFORE UPDATE ON validation_results
BEGIN SELECT RAISE (ABORT, 'verdicts are never changed'); END;
CREATE TRIGGER verdicts_stay BEFORE DELETE ON validation_results
BEGIN SELECT RAISE (ABORT, 'verdicts are never deleted'); END;
CREATE TRIGGER index_runs_are_facts BEFORE UPDATE ON index_runs
BEGIN SELECT RAISE (ABORT, 'indexes are never changed'); END;
CREATE TRIGGER index_runs_stay BEFORE DELETE ON index_runs
BEGIN SELECT RAISE (ABORT, 'indexes are never deleted'); END;

-- Of a task only its end is written later.
CREATE TRIGGER tasks_are_facts BEFORE UPDATE OF id, task_id, repo_path, mode, execute_model, context_window, reserved_tokens, stages, plan_artifact, timestamp ON task_runs
BEGIN SELECT RAISE (ABORT, 'a task is never changed'); END;
CREATE TRIGGER tasks_end BEFORE UPDATE OF success ON task_runs WHEN NEW.success IS NULL
BEGIN SELECT RAISE (ABORT, 'a task that ended stays ended'); END;
CREATE TRIGGER tasks_stay BEFORE DELETE ON task_runs
BEGIN SELECT RAISE (ABORT, 'tasks are never deleted'); END;
