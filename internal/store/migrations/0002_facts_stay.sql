-- Runs are facts as well: a resume parses the very plan text that the run was started with.
CREATE TRIGGER runs_are_facts BEFORE UPDATE ON runs
BEGIN SELECT RAISE (ABORT, 'runs are never changed'); END;
CREATE TRIGGER runs_stay BEFORE DELETE ON runs
BEGIN SELECT RAISE (ABORT, 'runs are never deleted'); END;
