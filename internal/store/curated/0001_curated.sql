-- What is known of a repository. All of it but file_metadata and adapter_metadata can be made anew by an index.
CREATE TABLE repos (
  id         INTEGER PRIMARY KEY,
  path       TEXT NOT NULL UNIQUE,
  remote_url TEXT,
  indexed_at TEXT NOT NULL
);

-- Ids of files are never given out again: rows of raw.sqlite name them.
CREATE TABLE files (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id      INTEGER NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
  path         TEXT    NOT NULL,
  language     TEXT    NOT NULL,
  content_hash TEXT    NOT NULL,
  size_bytes   INTEGER NOT NULL
);

-- A parent may come after its children: in Go a method may stand before its type.
CREATE TABLE symbols (
  id               INTEGER PRIMARY KEY,
  file_id          INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  name             TEXT    NOT NULL,
  kind             TEXT    NOT NULL,
  start_line       INTEGER NOT NULL,
  end_line         INTEGER NOT NULL,
  signature        TEXT,
  parent_symbol_id INTEGER REFERENCES symbols (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE docstrings (
  id            INTEGER PRIMARY KEY,
  symbol_id     INTEGER REFERENCES symbols (id) ON DELETE CASCADE, -- NULL: of the module
  file_id       INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  content       TEXT    NOT NULL,
  format        TEXT,
  parsed_fields TEXT
);

CREATE TABLE inline_comments (
  id           INTEGER PRIMARY KEY,
  file_id      INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  symbol_id    INTEGER REFERENCES symbols (id) ON DELETE CASCADE,
  line         INTEGER NOT NULL,
  content      TEXT    NOT NULL,
  kind         TEXT,
  is_rationale INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE dependencies (
  id             INTEGER PRIMARY KEY,
  source_file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  target_file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  kind           TEXT    NOT NULL
);

CREATE TABLE symbol_references (
  id               INTEGER PRIMARY KEY,
  caller_symbol_id INTEGER NOT NULL REFERENCES symbols (id) ON DELETE CASCADE,
  callee_symbol_id INTEGER NOT NULL REFERENCES symbols (id) ON DELETE CASCADE,
  reference_kind   TEXT    NOT NULL,
  confidence       REAL    NOT NULL
);

CREATE TABLE commits (
  id            INTEGER PRIMARY KEY,
  repo_id       INTEGER NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
  hash          TEXT    NOT NULL,
  author        TEXT,
  message       TEXT,
  timestamp     TEXT    NOT NULL,
  files_changed INTEGER,
  insertions    INTEGER,
  deletions     INTEGER
);

CREATE TABLE file_commits (
  file_id   INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  commit_id INTEGER NOT NULL REFERENCES commits (id) ON DELETE CASCADE,
  PRIMARY KEY (file_id, commit_id)
) WITHOUT ROWID;

CREATE TABLE co_changes (
  file_a_id        INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  file_b_id        INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  count            INTEGER NOT NULL DEFAULT 1,
  last_commit_hash TEXT,
  PRIMARY KEY (file_a_id, file_b_id),
  CHECK (file_a_id < file_b_id)
) WITHOUT ROWID;

CREATE TABLE file_metadata (
  file_id            INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
  purpose            TEXT,
  module             TEXT,
  domain             TEXT,
  concepts           TEXT,
  public_api_surface TEXT,
  complexity_notes   TEXT
);

CREATE TABLE adapter_metadata (
  id                INTEGER PRIMARY KEY,
  stage_name        TEXT    NOT NULL,
  base_model        TEXT    NOT NULL,
  model_tag         TEXT    NOT NULL,
  version           INTEGER NOT NULL DEFAULT 1,
  active            INTEGER NOT NULL DEFAULT 1,
  performance_notes TEXT,
  deployed_at       TEXT    NOT NULL
);

CREATE UNIQUE INDEX files_by_path ON files (repo_id, path);
CREATE INDEX symbols_of_file ON symbols (file_id);
CREATE INDEX symbols_by_name ON symbols (name);
CREATE INDEX symbols_of_parent ON symbols (parent_symbol_id) WHERE parent_symbol_id IS NOT NULL;
CREATE INDEX docstrings_of_file ON docstrings (file_id);
CREATE INDEX docstrings_of_symbol ON docstrings (symbol_id) WHERE symbol_id IS NOT NULL;
CREATE INDEX comments_of_file ON inline_comments (file_id);
CREATE INDEX comments_of_symbol ON inline_comments (symbol_id) WHERE symbol_id IS NOT NULL;
CREATE INDEX dependencies_from ON dependencies (source_file_id);
CREATE INDEX dependencies_to ON dependencies (target_file_id);
CREATE INDEX references_from ON symbol_references (caller_symbol_id);
CREATE INDEX references_to ON symbol_references (callee_symbol_id);
CREATE UNIQUE INDEX commits_by_hash ON commits (repo_id, hash);
CREATE INDEX file_commits_of_commit ON file_commits (commit_id);
CREATE INDEX co_changes_b ON co_changes (file_b_id);
CREATE INDEX metadata_by_domain ON file_metadata (domain);
CREATE INDEX metadata_by_module ON file_metadata (module);
CREATE INDEX adapters_of_stage ON adapter_metadata (stage_name, active);

-- What the next index needs to do only what changed.
CREATE TABLE file_state (
  file_id   INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
  modified  INTEGER NOT NULL, -- nanoseconds; 0: look at the content
  reader    TEXT    NOT NULL, -- what the outline was made with
  state     TEXT    NOT NULL, -- parsed, partial or skipped
  reason    TEXT,
  interface TEXT    NOT NULL, -- hash of what other files can see of it
  refs      TEXT    NOT NULL  -- names used, not resolved
);
CREATE TABLE imports (
  id      INTEGER PRIMARY KEY,
  file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  path    TEXT    NOT NULL,
  level   INTEGER NOT NULL,
  alias   TEXT    NOT NULL,
  names   TEXT    NOT NULL, -- JSON
  types   INTEGER NOT NULL,
  line    INTEGER NOT NULL
);
CREATE INDEX imports_of_file ON imports (file_id);
CREATE INDEX imports_by_path ON imports (path);

-- Which paths a commit touched, also those that are no files any more.
CREATE TABLE history_paths (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE history (
  commit_id INTEGER NOT NULL,
  path_id   INTEGER NOT NULL,
  PRIMARY KEY (commit_id, path_id)
) WITHOUT ROWID;
CREATE TABLE repo_state (
  repo_id INTEGER PRIMARY KEY REFERENCES repos (id) ON DELETE CASCADE,
  head    TEXT NOT NULL, -- commit up to which history is known
  layout  TEXT NOT NULL  -- hash of what decides how imports are resolved
);
