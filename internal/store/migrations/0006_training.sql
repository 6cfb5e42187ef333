-- What was learnt from, and what came of it. Rows are added and never changed (DB-13: one package adds them).
CREATE TABLE training_plans (
  id                  INTEGER PRIMARY KEY,
  task_id             TEXT    NOT NULL,
  target_stage        TEXT    NOT NULL,
  base_model          TEXT    NOT NULL, -- coding or reasoning
  source              TEXT    NOT NULL DEFAULT 'logged',
  data_criteria       TEXT    NOT NULL, -- JSON
  hyperparameters     TEXT,             -- JSON
  improvement_targets TEXT,             -- JSON
  raw_plan            TEXT    NOT NULL,
  timestamp           TEXT    NOT NULL
);

CREATE TABLE training_datasets (
  id               INTEGER PRIMARY KEY,
  training_plan_id INTEGER NOT NULL REFERENCES training_plans (id),
  stage_name       TEXT    NOT NULL,
  base_model       TEXT    NOT NULL,
  source           TEXT    NOT NULL DEFAULT 'logged',
  dataset_path     TEXT    NOT NULL,
  example_count    INTEGER NOT NULL,
  positive_count   INTEGER NOT NULL,
  negative_count   INTEGER NOT NULL,
  format           TEXT    NOT NULL DEFAULT 'jsonl',
  timestamp        TEXT    NOT NULL
);
CREATE INDEX datasets_of_plan ON training_datasets (training_plan_id);

CREATE TABLE adapter_registry (
  id            INTEGER PRIMARY KEY,
  dataset_id    INTEGER NOT NULL REFERENCES training_datasets (id),
  stage_name    TEXT    NOT NULL,
  base_model    TEXT    NOT NULL,
  model_tag     TEXT    NOT NULL,
  training_loss REAL,             -- NULL: the trainer did not tell
  eval_metrics  TEXT,             -- JSON
  deployed      INTEGER NOT NULL DEFAULT 0,
  trained_at    TEXT    NOT NULL
);
CREATE INDEX adapters_of_stage ON adapter_registry (stage_name, base_model);

-- That an adapter was deployed or taken back is a fact with a time, so it is a row. The column above only repeats the
-- last of them.
CREATE TABLE adapter_deployments (
  id         INTEGER PRIMARY KEY,
  adapter_id INTEGER NOT NULL REFERENCES adapter_registry (id),
  deployed   INTEGER NOT NULL CHECK (deployed IN (0, 1)),
  timestamp  TEXT    NOT NULL
);
CREATE INDEX deployments_of_adapter ON adapter_deployments (adapter_id, id);
CREATE TRIGGER deployments_show AFTER INSERT ON adapter_deployments
BEGIN UPDATE adapter_registry SET deployed = NEW.deployed WHERE id = NEW.adapter_id; END;

-- What became of code after its run: merged, reverted, rewritten. Of several rows about one thing the last counts.
CREATE TABLE training_signals (
  id          INTEGER PRIMARY KEY,
  task_id     TEXT    NOT NULL, -- "<run>/<batch>"
  commit_hash TEXT    NOT NULL, -- that the signal is about
  name        TEXT    NOT NULL,
  value       REAL,             -- 0 to 1; NULL: it could not be told
  note        TEXT,
  timestamp   TEXT    NOT NULL
);
CREATE INDEX signals_of_task ON training_signals (task_id, commit_hash, name, id);

CREATE TRIGGER training_plans_are_facts BEFORE UPDATE ON training_plans
BEGIN SELECT RAISE (ABORT, 'training plans are never changed'); END;
CREATE TRIGGER training_plans_stay BEFORE DELETE ON training_plans
BEGIN SELECT RAISE (ABORT, 'training plans are never deleted'); END;
CREATE TRIGGER datasets_are_facts BEFORE UPDATE ON training_datasets
BEGIN SELECT RAISE (ABORT, 'datasets are never changed'); END;
CREATE TRIGGER datasets_stay BEFORE DELETE ON training_datasets
BEGIN SELECT RAISE (ABORT, 'datasets are never deleted'); END;
CREATE TRIGGER adapters_are_facts BEFORE UPDATE OF id, dataset_id, stage_name, base_model, model_tag, training_loss, eval_metrics, trained_at ON adapter_registry
BEGIN SELECT RAISE (ABORT, 'adapters are never changed'); END;
CREATE TRIGGER adapters_are_deployed_by_a_row BEFORE UPDATE OF deployed ON adapter_registry
WHEN NEW.deployed IS NOT (SELECT deployed FROM adapter_deployments WHERE adapter_id = OLD.id ORDER BY id DESC LIMIT 1)
BEGIN SELECT RAISE (ABORT, 'what is deployed is a row of adapter_deployments'); END;
CREATE TRIGGER adapters_begin_undeployed BEFORE INSERT ON adapter_registry WHEN NEW.deployed <> 0
BEGIN SELECT RAISE (ABORT, 'what is deployed is a row of adapter_deployments'); END;
CREATE TRIGGER adapters_stay BEFORE DELETE ON adapter_registry
BEGIN SELECT RAISE (ABORT, 'adapters are never deleted'); END;
CREATE TRIGGER deployments_are_facts BEFORE UPDATE ON adapter_deployments
BEGIN SELECT RAISE (ABORT, 'deployments are never changed'); END;
CREATE TRIGGER deployments_remain BEFORE DELETE ON adapter_deployments
BEGIN SELECT RAISE (ABORT, 'deployments are never deleted'); END;
CREATE TRIGGER signals_are_facts BEFORE UPDATE ON training_signals
BEGIN SELECT RAISE (ABORT, 'signals are never changed'); END;
CREATE TRIGGER signals_stay BEFORE DELETE ON training_signals
BEGIN SELECT RAISE (ABORT, 'signals are never deleted'); END;
