-- What is said to a run from outside of its process: an approval, a wish to stop. Rows are added and never changed. A
-- post is taken up once: then the journal has an event that carries its id.
CREATE TABLE posts (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  run  TEXT NOT NULL REFERENCES runs (run),
  at   TEXT NOT NULL,
  body TEXT NOT NULL -- JSON of the event
);
CREATE INDEX posts_of_run ON posts (run, id);

CREATE TRIGGER posts_are_facts BEFORE UPDATE ON posts
BEGIN SELECT RAISE (ABORT, 'posts are never changed'); END;
CREATE TRIGGER posts_stay BEFORE DELETE ON posts
BEGIN SELECT RAISE (ABORT, 'posts are never deleted'); END;
