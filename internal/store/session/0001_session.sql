-- What a task has in its head while it is at work.
CREATE TABLE kv (
  key        TEXT PRIMARY KEY,
  value      TEXT NOT NULL, -- JSON
  updated_at TEXT NOT NULL
);
