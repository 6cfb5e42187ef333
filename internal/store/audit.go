package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// AuditEntry is one decision about trust (DB-12). ID, Prev and Digest are set when it is written.
type AuditEntry struct {
	ID           int64     `json:"id"`
	At           time.Time `json:"at"`
	Action       string    `json:"action"`
	Subject      string    `json:"subject,omitempty"` // the subject of the agreement, if not the tier
	FromTier     *int      `json:"from_tier"`         // nil if the entry is not about the tier
	ToTier       *int      `json:"to_tier"`
	Owner        string    `json:"owner"`
	SelfEdit     bool      `json:"self_edit"` // the state from this entry on
	AutoMergePct int       `json:"auto_merge_pct"`
	Reason       string    `json:"reason"`
	Signature    string    `json:"signature,omitempty"`
	LoopVersion  int       `json:"loop_version"`
	Prev         string    `json:"prev"` // digest of the entry before; empty for the first
	Digest       string    `json:"digest"`
}

// Sum returns the correct digest of an entry: hex SHA-256 over all its fields and the previous digest.
func (e AuditEntry) Sum() string {
	sum := sha256.New()
	for _, part := range []string{
		e.Prev, strconv.FormatInt(e.ID, 10), stamp(e.At), e.Action, e.Subject, tierText(e.FromTier), tierText(e.ToTier),
		e.Owner,
		strconv.FormatBool(e.SelfEdit), strconv.Itoa(e.AutoMergePct), e.Reason, e.Signature, strconv.Itoa(e.LoopVersion),
	} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func tierText(t *int) string {
	if t == nil {
		return "-"
	}
	return strconv.Itoa(*t)
}

// Audit is the chain of decisions about trust. Rows are only added.
type Audit struct{ file }

// OpenAudit opens the audit at path for writing, and creates it if it is missing.
func OpenAudit(ctx context.Context, path string) (*Audit, error) {
	return openedAs[Audit](userFile("audit").openUser(ctx, path))
}

// ReadAudit opens the audit at path for reading; a missing one is an error that wraps fs.ErrNotExist.
func ReadAudit(ctx context.Context, path string) (*Audit, error) {
	return openedAs[Audit](userFile("audit").readUser(ctx, path))
}

// ErrMoved reports that another entry was added after the last one that the writer had read.
var ErrMoved = errors.New("another process wrote to it meanwhile")

// Append adds an entry after the one with the digest after, which the caller saw as the last; "" for an empty file. If
// the last entry is another one, it returns [ErrMoved].
func (a *Audit) Append(ctx context.Context, after string, e AuditEntry) (AuditEntry, error) {
	e.At = e.At.UTC()
	err := write(ctx, a.db, "write to the audit", func(ctx context.Context, tx *sql.Tx) error {
		var counter int64
		err := tx.QueryRowContext(ctx,
			"SELECT COALESCE((SELECT digest FROM audit ORDER BY id DESC LIMIT 1), ''), COALESCE((SELECT seq FROM "+
				"sqlite_sequence WHERE name = 'audit'), 0)").Scan(&e.Prev, &counter)
		if err != nil {
			return err
		}
		if e.Prev != after {
			return ErrMoved
		}
		e.ID = counter + 1
		e.Digest = e.Sum()
		_, err = tx.ExecContext(ctx, `INSERT INTO audit (id, timestamp, action, subject, from_tier, to_tier, owner, self_edit, auto_merge_pct, reason, signature, loop_version, prev, digest)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			e.ID, stamp(e.At), e.Action, e.Subject, e.FromTier, e.ToTier, e.Owner, e.SelfEdit, e.AutoMergePct, e.Reason,
			e.Signature, e.LoopVersion, e.Prev, e.Digest)
		return err
	})
	return e, err
}

// Entries returns all entries, oldest first.
func (a *Audit) Entries(ctx context.Context) ([]AuditEntry, error) {
	return rows[AuditEntry](ctx, a.db, "the audit",
		"SELECT id, timestamp, action, subject, from_tier, to_tier, owner, self_edit, auto_merge_pct, reason, signature, "+
			"loop_version, prev, digest FROM audit ORDER BY id")
}

// ChainError reports the place where the audit was changed.
type ChainError struct {
	ID  int64 // of the first entry that does not fit
	Why string
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("the audit was tampered with: entry %d %s", e.ID, e.Why)
}

// Verify reads all entries and checks that none was changed, inserted or removed. A violation is a [*ChainError].
func (a *Audit) Verify(ctx context.Context) ([]AuditEntry, error) {
	// Read the counter first: another process may add entries meanwhile, which is no violation.
	var counter int64
	if err := a.db.QueryRowContext(ctx,
		"SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)").Scan(&counter); err != nil {
		return nil, fmt.Errorf("read the audit: %w", explain(err))
	}
	all, err := a.Entries(ctx)
	if err != nil {
		return nil, err
	}
	return all, checkChain(all, counter)
}

// checkChain compares the entries with each other, and with the counter of all entries ever written.
func checkChain(all []AuditEntry, counter int64) error {
	prev := ""
	for i, e := range all {
		switch {
		case e.ID != int64(i)+1:
			return &ChainError{int64(i) + 1, "is missing"}
		case e.Prev != prev:
			return &ChainError{e.ID, "does not follow the previous entry"}
		case e.Digest != e.Sum():
			return &ChainError{e.ID, "is not what was written"}
		}
		prev = e.Digest
	}
	if counter > int64(len(all)) {
		return &ChainError{int64(len(all)) + 1, "is missing"}
	}
	return nil
}
