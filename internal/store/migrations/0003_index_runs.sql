-- One row an index of the code: what it looked at, and how it ended.
CREATE TABLE index_runs (
  id            INTEGER PRIMARY KEY,
  repo_path     TEXT    NOT NULL,
  files_scanned INTEGER NOT NULL,
  files_changed INTEGER NOT NULL,
  duration_ms   INTEGER NOT NULL,
  status        TEXT    NOT NULL, -- ok; partial: …; failed: …; interrupted
  timestamp     TEXT    NOT NULL
);
