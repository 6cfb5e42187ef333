package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The keys of a session through which parts of runplan exchange data (DB-08).
const (
	KeyStageOutputs      = "stage_outputs"      // name of a stage → its output; for retrieval that is repeated
	KeyStageProgress     = "stage_progress"     // stages that are done, in their order; for the same
	KeyFinalContext      = "final_context"      // result of retrieval; for retrieval and solve
	KeyRefinementRequest = "refinement_request" // missing parts; from solve for retrieval
	KeyAttemptSummary    = "attempt_summary"    // the attempts that led to the request; for retrieval's log
	KeyRetryContext      = "retry_context"      // how attempts failed; for the prompts of solve
	KeyPlanArtifact      = "plan_artifact"      // result of plan mode
)

// Session is the working memory of a running task: values by key, in a separate file (DB-07). Each change is written at
// once, so a killed process loses nothing.
type Session struct {
	file
	task string
	path string
}

// CreateSession opens the session of a task in the folder dir, and creates both if they are missing. It keeps existing
// values: a resumed task continues with them.
func CreateSession(ctx context.Context, dir, task string) (*Session, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for sessions: %w", err)
	}
	path, err := SessionPath(dir, task)
	if err != nil {
		return nil, err
	}
	db, err := sessionFile().open(ctx, path, true)
	if err != nil {
		return nil, fmt.Errorf("session of %s: %w", task, err)
	}
	return &Session{file{db}, task, path}, nil
}

// Task returns the id of the task.
func (s *Session) Task() string { return s.task }

// Set stores a value as JSON and replaces the previous one.
func (s *Session) Set(ctx context.Context, key string, value any) error {
	return s.SetAll(ctx, map[string]any{key: value})
}

// SetAll stores values, all or none, so a killed task never leaves inconsistent ones.
func (s *Session) SetAll(ctx context.Context, values map[string]any) error {
	keys := slices.Sorted(maps.Keys(values))
	texts := make([]string, len(keys))
	for i, k := range keys {
		text, err := json.Marshal(values[k])
		if err != nil {
			return failed(err, "session of %s: keep %s", s.task, k)
		}
		texts[i] = string(text)
	}
	what := fmt.Sprintf("session of %s: keep %s", s.task, strings.Join(keys, ", "))
	return write(ctx, s.db, what, func(ctx context.Context, tx *sql.Tx) error {
		for i, k := range keys {
			if _, err := tx.ExecContext(ctx, `INSERT INTO kv (key, value, updated_at) VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
				ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`, k, texts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Get reads a value into what into points to. An unknown key leaves it unchanged.
func (s *Session) Get(ctx context.Context, key string, into any) (found bool, err error) {
	text, found, err := one(rows[string](ctx, s.db, "its value", "SELECT value FROM kv WHERE key = ?", key))
	if err == nil && found {
		err = json.Unmarshal([]byte(text), into)
	}
	return found && err == nil, failed(err, "session of %s: read %s", s.task, key)
}

// RemoveSession deletes the closed session of a task; a missing one is not an error.
func RemoveSession(dir, task string) error {
	path, err := SessionPath(dir, task)
	if err != nil {
		return err
	}
	// Remove the database file last: while it exists, there is something left to remove.
	for _, name := range []string{path + "-wal", path + "-shm", path + "-journal", path} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the session of %s: %w", task, err)
		}
	}
	return nil
}

// longestName limits the length of a task's id in a file name.
const longestName = 120

// SessionPath returns the path of a task's session. Parts of an id come from plans and may contain any byte.
// Lower-case letters, digits, hyphens and dots stay; each other byte becomes _ and two hexadecimal digits. Two ids
// never share a name, even on case-insensitive file systems. An id that would be too long ends in __ and its hash,
// which no other name contains.
func SessionPath(dir, task string) (string, error) {
	if task == "" {
		return "", errors.New("a session needs the id of its task")
	}
	var b strings.Builder
	for _, c := range []byte(task) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	name := b.String()
	if len(name) > longestName {
		name = fmt.Sprintf("%s__%x", name[:40], sha256.Sum256([]byte(task)))
	}
	return filepath.Join(dir, "session_"+name+".sqlite"), nil
}

// ArchiveSession stores the closed session of a task in the journal and removes its file (DB-07). An open session gives
// [ErrBusy]. A missing one is not an error, so the call can be repeated after a crash.
func (j *Journal) ArchiveSession(ctx context.Context, dir, task string, at time.Time) error {
	path, err := SessionPath(dir, task)
	if err != nil {
		return err
	}
	if exists(path) {
		blob, err := sealed(ctx, path)
		if err != nil {
			return fmt.Errorf("archive the session of %s: %w", task, err)
		}
		if err := j.keepSession(ctx, task, blob, at); err != nil {
			return err
		}
	}
	return RemoveSession(dir, task)
}

// sealed returns the bytes of a closed database, with its write-ahead log merged into the one file. A file that was
// sealed before stays unchanged, byte for byte.
func sealed(ctx context.Context, path string) ([]byte, error) {
	db, err := openWith(ctx, path, func(ctx context.Context, db *sql.DB) error {
		if _, err := version(ctx, db, len(sessionFile().names())); err != nil {
			return err
		}
		if err := sound(ctx, db); err != nil {
			return err
		}
		var mode string // leaving WAL merges the log and fails if the file is open elsewhere
		return db.QueryRowContext(ctx, "PRAGMA journal_mode = delete").Scan(&mode)
	}, url.Values{"_pragma": {"busy_timeout(2000)"}})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// keepSession writes the bytes, unless that was done before the process was killed.
func (j *Journal) keepSession(ctx context.Context, task string, blob []byte, at time.Time) error {
	if len(blob) == 0 {
		return nil // it was never written
	}
	return j.tx(ctx, "session of "+task, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO session_archives (task_id, session_blob, archived_at)
			SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM session_archives WHERE task_id = ?1 AND session_blob = ?2)`, task, blob, stamp(at))
		return err
	})
}
