-- What people tell runplan, and what it asks them. What was said stays as it was said; only what came of it changes.
CREATE TABLE inbox (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  kind           TEXT    NOT NULL CHECK (kind IN ('ask', 'note', 'critical')),
  body           TEXT    NOT NULL,
  channel        TEXT    NOT NULL, -- by which it came
  repo_path      TEXT    NOT NULL, -- where it was said; empty: nowhere
  timestamp      TEXT    NOT NULL,
  acknowledged   TEXT    NOT NULL,
  status         TEXT    NOT NULL CHECK (status IN ('pending', 'done')),
  intent         TEXT,             -- NULL until it was read
  confidence_pct INTEGER,
  reply          TEXT,
  done           TEXT,
  outcome        TEXT
);

CREATE INDEX inbox_status ON inbox (status, id);

CREATE TRIGGER inbox_words_stay BEFORE UPDATE OF id, kind, body, channel, repo_path, timestamp, acknowledged ON inbox
BEGIN SELECT RAISE (ABORT, 'what was said stays as it was said'); END;
CREATE TRIGGER inbox_stays BEFORE DELETE ON inbox
BEGIN SELECT RAISE (ABORT, 'items of the inbox are never deleted'); END;
CREATE TRIGGER inbox_is_not_replaced BEFORE INSERT ON inbox
WHEN EXISTS (SELECT 1 FROM inbox WHERE id = NEW.id)
BEGIN SELECT RAISE (ABORT, 'items of the inbox are never replaced'); END;
