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

// InboxFile is the path of the inbox in a user's folder.
func InboxFile(dir string) string { return filepath.Join(dir, "inbox.sqlite") }

// The kinds of what is said to runplan.
const (
	Ask      = "ask"      // wants an answer
	Note     = "note"     // wants none
	Critical = "critical" // comes before all others
)

// Said is something that is said to runplan, whichever way it comes (TRUST-08).
type Said struct {
	Kind, Body string
	Channel    string // by which it came: cli, for one
	Repo       string // where it was said; empty is nowhere
	At         time.Time
}

// maxBody bounds what is said at once. More belongs into a file.
const maxBody = 64 << 10

// Enqueue puts something into the inbox and acknowledges it, from a template and at once: no model is asked (TRUST-09).
func Enqueue(ctx context.Context, b *store.Inbox, p prompt.Set, s Said) (id int64, ack string, err error) {
	if err := s.check(); err != nil {
		return 0, "", err
	}
	// The text is made before anything is written, so that there is no item without an acknowledgement.
	if _, err := s.ack(p, 0); err != nil {
		return 0, "", err
	}
	id, err = b.Add(ctx, store.InboxItem{Kind: s.Kind, Body: s.Body, Channel: s.Channel, Repo: s.Repo, At: s.At, Acknowledged: s.At})
	if err != nil {
		return 0, "", err
	}
	ack, err = s.ack(p, id)
	return id, ack, err
}

func (s Said) check() error {
	switch {
	case strings.TrimSpace(s.Body) == "":
		return &Error{"nothing was said", "give a text: runplan " + s.Kind + " TEXT"}
	case len(s.Body) > maxBody:
		return &Error{fmt.Sprintf("the text has %d bytes, and at most %d are taken", len(s.Body), maxBody), "put it into a file, and say where it is"}
	}
	return nil
}

func (s Said) ack(p prompt.Set, id int64) (string, error) {
	next := map[string]string{
		Ask:      "It waits there until somebody reads it: runplan inbox.",
		Note:     "It needs no answer: runplan inbox lists it until it is done.",
		Critical: "It stands before all others: runplan inbox.",
	}[s.Kind]
	return p.Render("ack", map[string]string{"kind": s.Kind, "id": strconv.FormatInt(id, 10), "next": next})
}
