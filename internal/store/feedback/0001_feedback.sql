-- What the owner found wrong, and what came of it. The words stay as they were said, and the history of a row only grows:
-- it alone tells the whole story.
CREATE TABLE feedback (
  id          TEXT PRIMARY KEY,
  body        TEXT NOT NULL,
  severity    TEXT NOT NULL CHECK (severity IN ('low', 'medium', 'high', 'critical')),
  context_url TEXT NOT NULL, -- empty: none
  source      TEXT NOT NULL, -- by which way it came
  status      TEXT NOT NULL CHECK (status IN ('pending', 'triaged', 'in-fix', 'fix-pr-open', 'verified', 'rejected', 'closed')),
  approval    TEXT NOT NULL CHECK (approval IN ('', 'waiting', 'deferred', 'given', 'denied')),
  notes_json  TEXT NOT NULL, -- a JSON array
  created     TEXT NOT NULL,
  updated     TEXT NOT NULL
);

CREATE TRIGGER feedback_words_stay BEFORE UPDATE OF id, body, severity, context_url, source, created ON feedback
BEGIN SELECT RAISE (ABORT, 'what was said stays as it was said'); END;
CREATE TRIGGER feedback_history_grows BEFORE UPDATE OF notes_json ON feedback
WHEN substr(NEW.notes_json, 1, length(OLD.notes_json) - 1) <> substr(OLD.notes_json, 1, length(OLD.notes_json) - 1)
BEGIN SELECT RAISE (ABORT, 'the history of a feedback is only added to'); END;
CREATE TRIGGER feedback_stays BEFORE DELETE ON feedback
BEGIN SELECT RAISE (ABORT, 'feedback is never deleted'); END;

-- What was learned of fixes, for those that come after. The file of failure patterns is the truth about failures; these
-- are the outcomes of reviews.
CREATE TABLE memory (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  topic       TEXT NOT NULL,
  content     TEXT NOT NULL,
  fix_class   TEXT NOT NULL,
  feedback_id TEXT NOT NULL,
  timestamp   TEXT NOT NULL,
  UNIQUE (topic, feedback_id)
);

CREATE TRIGGER memory_stays BEFORE UPDATE ON memory
BEGIN SELECT RAISE (ABORT, 'what was learned stays'); END;
CREATE TRIGGER memory_is_kept BEFORE DELETE ON memory
BEGIN SELECT RAISE (ABORT, 'what was learned stays'); END;
