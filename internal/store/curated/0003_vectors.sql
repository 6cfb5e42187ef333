-- Vectors of chunks, if the settings name an embedding model. A vector belongs to a text, so that a text that was
-- embedded once is not embedded again.
CREATE TABLE vectors (
  model  TEXT NOT NULL, -- its name and digest
  hash   TEXT NOT NULL, -- of the text
  vector BLOB NOT NULL, -- float32, little endian, of length 1
  PRIMARY KEY (model, hash)
) WITHOUT ROWID;
CREATE TABLE chunk_hashes (
  chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
  hash     TEXT NOT NULL
);
