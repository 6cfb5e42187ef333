-- What was decided about trust. Rows are added and never changed; each carries the digest of the one before it.
CREATE TABLE audit (
  id             INTEGER PRIMARY KEY AUTOINCREMENT, -- whose counter tells that the last rows were taken away
  timestamp      TEXT    NOT NULL,
  action         TEXT    NOT NULL,
  subject        TEXT    NOT NULL, -- what was agreed to, where it is not the tier
  from_tier      INTEGER,          -- NULL where the tier was not the matter
  to_tier        INTEGER,
  owner          TEXT    NOT NULL,
  self_edit      INTEGER NOT NULL, -- what holds from this row on
  auto_merge_pct INTEGER NOT NULL,
  reason         TEXT    NOT NULL,
  signature      TEXT    NOT NULL,
  loop_version   INTEGER NOT NULL,
  prev           TEXT    NOT NULL,
  digest         TEXT    NOT NULL UNIQUE
);

CREATE TRIGGER audit_is_facts BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'rows of the audit are never changed'); END;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
BEGIN SELECT RAISE (ABORT, 'rows of the audit are never deleted'); END;
-- INSERT OR REPLACE takes a row away without asking the trigger above.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id OR digest = NEW.digest)
BEGIN SELECT RAISE (ABORT, 'rows of the audit are never replaced'); END;
