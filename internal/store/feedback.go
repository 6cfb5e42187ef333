package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Feedback is a stored row of feedback. This package does not interpret its history.
type Feedback struct {
	ID         string
	Body       string // the owner's words
	Severity   string
	ContextURL string
	Source     string // the channel
	Status     string
	Approval   string
	Notes      string // a JSON array, unless it is damaged
	Created    time.Time
	Updated    time.Time
}

// The errors of reading and changing a row of feedback.
var (
	ErrNoFeedback    = errors.New("feedback not found")
	ErrFeedbackThere = errors.New("another feedback has that id")
	ErrFeedbackMoved = errors.New("another process changed it meanwhile")
)

// Feedbacks is the file with a repository's feedback and the lessons learned from it.
type Feedbacks struct{ file }

// OpenFeedback opens the feedback at path for writing, and creates a missing file. Only the owner can read it.
func OpenFeedback(ctx context.Context, path string) (*Feedbacks, error) {
	return openedAs[Feedbacks](userFile("feedback").openUser(ctx, path))
}

// ReadFeedback opens the feedback at path for reading; a missing file is an error that wraps fs.ErrNotExist.
func ReadFeedback(ctx context.Context, path string) (*Feedbacks, error) {
	return openedAs[Feedbacks](userFile("feedback").readUser(ctx, path))
}

// Add inserts a row. It returns false if the same words exist under the same id, and [ErrFeedbackThere] if the words
// differ.
func (f *Feedbacks) Add(ctx context.Context, r Feedback) (added bool, err error) {
	err = write(ctx, f.db, "feedback "+r.ID, func(ctx context.Context, tx *sql.Tx) error {
		var body, severity, url string
		err := tx.QueryRowContext(ctx, "SELECT body, severity, context_url FROM feedback WHERE id = ?", r.ID).Scan(&body,
			&severity, &url)
		switch {
		case err == nil && body == r.Body && severity == r.Severity && url == r.ContextURL:
			return nil
		case err == nil:
			return ErrFeedbackThere
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		_, err = tx.ExecContext(ctx,
			"INSERT INTO feedback (id, body, severity, context_url, source, status, approval, notes_json, created, updated) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.ID, r.Body, r.Severity, r.ContextURL, r.Source, r.Status, r.Approval, r.Notes, stamp(r.Created), stamp(r.Created))
		added = err == nil
		return err
	})
	return added && err == nil, err
}

const feedbackColumns = "SELECT id, body, severity, context_url, source, status, approval, notes_json, created, " +
	"updated FROM feedback "

// All returns all rows, by severity, then by time of arrival.
func (f *Feedbacks) All(ctx context.Context) ([]Feedback, error) {
	return rows[Feedback](ctx, f.db, "the feedback", feedbackColumns+
		"ORDER BY CASE severity WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END, created, id")
}

// Get returns one row. No row with that id is [ErrNoFeedback].
func (f *Feedbacks) Get(ctx context.Context, id string) (Feedback, error) {
	row, found, err := one(rows[Feedback](ctx, f.db, "the feedback", feedbackColumns+"WHERE id = ?", id))
	if err == nil && !found {
		err = fmt.Errorf("feedback %s: %w", id, ErrNoFeedback)
	}
	return row, err
}

// Note adds a note to the history of a row that is still equal to before, and sets the note's status and approval. The
// history must be a JSON array; the caller checks its content. If the row changed meanwhile, it returns
// [ErrFeedbackMoved].
func (f *Feedbacks) Note(ctx context.Context, before Feedback, status, approval, note string, at time.Time) (Feedback,
	error) {
	after := before
	head, isArray := strings.CutSuffix(before.Notes, "]")
	if !isArray {
		return before, fmt.Errorf("feedback %s: its history is not an array", before.ID)
	}
	if head != "[" {
		head += ","
	}
	after.Status, after.Approval, after.Notes, after.Updated = status, approval, head+note+"]", at
	err := write(ctx, f.db, "feedback "+before.ID, func(ctx context.Context, tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx,
			"UPDATE feedback SET status = ?, approval = ?, notes_json = ?, updated = ? WHERE id = ? AND notes_json = ? AND "+
				"status = ?", after.Status, after.Approval, after.Notes, stamp(at), before.ID, before.Notes, before.Status))
		if err == nil && n != 1 {
			err = ErrFeedbackMoved
		}
		return err
	})
	if err != nil {
		return before, err
	}
	return after, nil
}

// Memory is a lesson of a fix.
type Memory struct {
	Topic      string    `json:"topic"`
	Content    string    `json:"content"`
	FixClass   string    `json:"fix_class"`
	FeedbackID string    `json:"feedback_id"`
	At         time.Time `json:"at"`
}

// Remember stores a lesson. If the feedback already has one under that topic, it changes nothing and returns false.
func (f *Feedbacks) Remember(ctx context.Context, m Memory) (added bool, err error) {
	what := "store the lesson of feedback " + m.FeedbackID
	err = write(ctx, f.db, what, func(ctx context.Context, tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx,
			"INSERT INTO memory (topic, content, fix_class, feedback_id, timestamp) VALUES (?, ?, ?, ?, ?) ON CONFLICT "+
				"(topic, feedback_id) DO NOTHING", m.Topic, m.Content, m.FixClass, m.FeedbackID, stamp(m.At)))
		added = n > 0
		return err
	})
	return added && err == nil, err
}

// Memories returns the lessons under a topic for a class of fixes, newest first; class "" selects all classes.
func (f *Feedbacks) Memories(ctx context.Context, topic, class string, most int) ([]Memory, error) {
	return rows[Memory](ctx, f.db, "the lessons",
		"SELECT topic, content, fix_class, feedback_id, timestamp FROM memory WHERE topic = ? AND (? = '' OR fix_class = "+
			"?) ORDER BY id DESC LIMIT ?", topic, class, class, most)
}
