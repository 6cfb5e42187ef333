-- Each event carries a seal over itself and over the seal of the one before it, and each post one over itself. What older
-- programs wrote has none.
ALTER TABLE events ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE posts ADD COLUMN seal TEXT NOT NULL DEFAULT '';

-- Rows of events that do not verify leave that table for this one, and are kept here to be looked at.
CREATE TABLE events_set_aside (
  id           INTEGER PRIMARY KEY,
  run          TEXT    NOT NULL,
  seq          INTEGER NOT NULL,
  at           TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  batch        TEXT    NOT NULL,
  body         TEXT    NOT NULL,
  seal         TEXT    NOT NULL,
  why          TEXT    NOT NULL,
  set_aside_at TEXT    NOT NULL
);
CREATE INDEX set_aside_of_run ON events_set_aside (run, seq);
CREATE TRIGGER set_aside_are_facts BEFORE UPDATE ON events_set_aside
BEGIN SELECT RAISE (ABORT, 'rows that were set aside are never changed'); END;
CREATE TRIGGER set_aside_stay BEFORE DELETE ON events_set_aside
BEGIN SELECT RAISE (ABORT, 'rows that were set aside are never deleted'); END;

DROP TRIGGER IF EXISTS events_stay;
CREATE TRIGGER events_stay BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM events_set_aside s WHERE s.run = OLD.run AND s.seq = OLD.seq AND s.kind IS OLD.kind AND s.body IS OLD.body AND s.seal IS OLD.seal)
BEGIN SELECT RAISE (ABORT, 'events are never deleted'); END;
