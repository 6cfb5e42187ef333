package trust

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/store"
)

// InboxFile returns the path of the inbox in a user's folder.
func InboxFile(dir string) string { return filepath.Join(dir, "inbox.sqlite") }

// Kinds of inbox items.
const (
	Ask      = "ask"      // needs an answer
	Note     = "note"     // needs no answer
	Critical = "critical" // processed before all others
)

// Said is a message to runplan from any channel (TRUST-08).
type Said struct {
	Kind, Body string
	Channel    string // how it arrived, for example cli
	Repo       string // repository of the sender; "" for none
	At         time.Time
}

// maxBody is the highest size of a message in bytes.
const maxBody = 64 << 10

// Enqueue adds a message to the inbox and immediately returns an acknowledgement from a template. It asks no model
// (TRUST-09).
func Enqueue(ctx context.Context, b *store.Inbox, p prompt.Set, s Said) (id int64, ack string, err error) {
	if err := s.check(); err != nil {
		return 0, "", err
	}
	// Render the acknowledgement before writing, so that every item has one.
	if _, err := s.ack(p, 0); err != nil {
		return 0, "", err
	}
	id, err = b.Add(ctx, store.InboxItem{Kind: s.Kind, Body: s.Body, Channel: s.Channel, Repo: s.Repo, At: s.At,
		Acknowledged: s.At})
	if err != nil {
		return 0, "", err
	}
	ack, err = s.ack(p, id)
	return id, ack, err
}

func (s Said) check() error {
	switch {
	case strings.TrimSpace(s.Body) == "":
		return &Error{"the text is empty", "give a text: runplan " + s.Kind + " TEXT"}
	case len(s.Body) > maxBody:
		return &Error{fmt.Sprintf("the text has %d bytes; the limit is %d", len(s.Body), maxBody),
			"put it into a file, and give its path"}
	}
	return nil
}

func (s Said) ack(p prompt.Set, id int64) (string, error) {
	next := map[string]string{
		Ask:      "It stays there until a person reads it: runplan inbox.",
		Note:     "It needs no answer: runplan inbox lists it until it is done.",
		Critical: "It is listed before all others: runplan inbox.",
	}[s.Kind]
	return p.Render("ack", map[string]string{"kind": s.Kind, "id": strconv.FormatInt(id, 10), "next": next})
}
