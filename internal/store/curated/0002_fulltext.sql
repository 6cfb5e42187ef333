-- Text of all files, in chunks along their syntax, for searches. texts has also files of languages that have no symbols.
CREATE TABLE texts (
  id       INTEGER PRIMARY KEY,
  repo_id  INTEGER NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
  path     TEXT    NOT NULL,
  hash     TEXT    NOT NULL,
  size     INTEGER NOT NULL,
  modified INTEGER NOT NULL, -- nanoseconds; 0: look at the content
  source   INTEGER NOT NULL, -- 1: it is one of files, too
  UNIQUE (repo_id, path)
);
CREATE TABLE chunks (
  id         INTEGER PRIMARY KEY, -- that of its row in chunk_words
  text_id    INTEGER NOT NULL REFERENCES texts (id) ON DELETE CASCADE,
  start_line INTEGER NOT NULL,
  end_line   INTEGER NOT NULL,
  label      TEXT    NOT NULL -- names of the symbols in it
);
CREATE INDEX chunks_of_text ON chunks (text_id);
CREATE VIRTUAL TABLE chunk_words USING fts5 (name, body, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE VIRTUAL TABLE commit_words USING fts5 (message, content = '', contentless_delete = 1, tokenize = 'ascii');

-- The history is read again: its words are searched now, and it has the paths of all languages.
DELETE FROM history;
DELETE FROM history_paths;
DELETE FROM co_changes;
DELETE FROM commits;
UPDATE repo_state SET head = '';
CREATE INDEX history_of_path ON history (path_id);
