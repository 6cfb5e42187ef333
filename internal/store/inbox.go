package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// InboxItem is a message to runplan (TRUST-08).
type InboxItem struct {
	ID           int64      `json:"id"`
	Kind         string     `json:"kind"` // ask, note or critical
	Body         string     `json:"body"`
	Channel      string     `json:"channel"`        // the channel of the message
	Repo         string     `json:"repo,omitempty"` // the repository in which it was written
	At           time.Time  `json:"at"`
	Acknowledged time.Time  `json:"acknowledged"`
	Status       string     `json:"status"`           // pending or done
	Intent       string     `json:"intent,omitempty"` // "" until it was read
	Confidence   *int       `json:"confidence_pct,omitempty"`
	Reply        string     `json:"reply,omitempty"`
	Done         *time.Time `json:"done,omitempty"`
	Outcome      string     `json:"outcome,omitempty"`
}

// ErrNoItem reports that the inbox does not have the item.
var ErrNoItem = errors.New("the item is not in the inbox")

// Inbox is the list of messages to runplan. Messages do not change; outcomes are added.
type Inbox struct{ file }

// OpenInbox opens the inbox at path for writing, and creates it if it is missing.
func OpenInbox(ctx context.Context, path string) (*Inbox, error) {
	return openedAs[Inbox](userFile("inbox").openUser(ctx, path))
}

// ReadInbox opens the inbox at path for reading; a missing one is an error that wraps fs.ErrNotExist.
func ReadInbox(ctx context.Context, path string) (*Inbox, error) {
	return openedAs[Inbox](userFile("inbox").readUser(ctx, path))
}

// Add adds an item as pending, and returns its id.
func (b *Inbox) Add(ctx context.Context, i InboxItem) (id int64, err error) {
	err = write(ctx, b.db, "write to the inbox", func(ctx context.Context, tx *sql.Tx) error {
		id, err = inserted(tx.ExecContext(ctx,
			"INSERT INTO inbox (kind, body, channel, repo_path, timestamp, acknowledged, status) VALUES (?, ?, ?, ?, ?, ?, "+
				"'pending')", i.Kind, i.Body, i.Channel, i.Repo, stamp(i.At), stamp(i.Acknowledged)))
		return err
	})
	return id, err
}

const inboxColumns = `SELECT id, kind, body, channel, repo_path, timestamp, acknowledged, status, COALESCE(intent, ''), confidence_pct, COALESCE(reply, ''), done, COALESCE(outcome, '') FROM inbox `

// Pending returns the open items: critical ones first, then questions, then notes, each in order of arrival.
func (b *Inbox) Pending(ctx context.Context) ([]InboxItem, error) {
	return rows[InboxItem](ctx, b.db, "the inbox",
		inboxColumns+"WHERE status = 'pending' ORDER BY CASE kind WHEN 'critical' THEN 0 WHEN 'ask' THEN 1 ELSE 2 END, id")
}

// All returns all items, oldest first.
func (b *Inbox) All(ctx context.Context) ([]InboxItem, error) {
	return rows[InboxItem](ctx, b.db, "the inbox", inboxColumns+"ORDER BY id")
}

// Item returns one item, or [ErrNoItem].
func (b *Inbox) Item(ctx context.Context, id int64) (InboxItem, error) {
	item, found, err := one(rows[InboxItem](ctx, b.db, "the inbox", inboxColumns+"WHERE id = ?", id))
	if err == nil && !found {
		err = fmt.Errorf("item %d: %w", id, ErrNoItem)
	}
	return item, err
}

// Read records how an item was interpreted, and the reply. The first record stays: if another reader was faster, it
// changes nothing and returns false.
func (b *Inbox) Read(ctx context.Context, id int64, intent string, confidence int, reply string) (bool, error) {
	return b.change(ctx, id, "UPDATE inbox SET intent = ?, confidence_pct = ?, reply = ? WHERE id = ? AND intent IS NULL",
		intent, confidence, reply, id)
}

// Finish marks an item as done. It returns false and changes nothing if it was already done.
func (b *Inbox) Finish(ctx context.Context, id int64, at time.Time, outcome string) (bool, error) {
	return b.change(ctx, id, "UPDATE inbox SET status = 'done', done = ?, outcome = ? WHERE id = ? AND status = 'pending'",
		stamp(at), outcome, id)
}

// change updates one item. No item with that id is [ErrNoItem].
func (b *Inbox) change(ctx context.Context, id int64, query string, args ...any) (changed bool, err error) {
	err = write(ctx, b.db, fmt.Sprintf("item %d", id), func(ctx context.Context, tx *sql.Tx) error {
		var there bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM inbox WHERE id = ?)", id).Scan(&there); err != nil {
			return err
		}
		if !there {
			return ErrNoItem
		}
		n, err := affected(tx.ExecContext(ctx, query, args...))
		changed = n > 0
		return err
	})
	return changed && err == nil, err
}
