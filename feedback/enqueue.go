package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/store"
)

// Words holds the text of a feedback.
type Words struct {
	ID       string
	Body     string
	Severity Severity
	URL      string // pull request or issue that it is about; "" for none
	Source   string // origin: cli, inbox item 3, run ab12 batch 2
	At       time.Time
}

func (w Words) check() error {
	switch {
	case strings.TrimSpace(w.Body) == "":
		return refuse("give a text: runplan feedback TEXT", "the text is empty")
	case len(w.Body) > maxBody:
		return refuse("put it into a file, and give its path", "the text has %d bytes; the limit is %d", len(w.Body), maxBody)
	case !utf8.ValidString(w.Body):
		return refuse("give it as UTF-8", "the text is not UTF-8")
	}
	if err := CheckID(w.ID); err != nil {
		return refuse("omit --id to get a new id", "%v", err)
	}
	if _, err := ParseSeverity(string(w.Severity)); err != nil {
		return refuse("give one of these with --severity", "%v", err)
	}
	if w.URL != "" {
		if u, err := url.Parse(w.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
			u.User != nil {
			return refuse("give the address of a pull request or an issue", "%q is not a URL", w.URL)
		}
	}
	return nil
}

// Enqueue adds a pending feedback. It returns false if the same text exists under the same id.
func Enqueue(ctx context.Context, s *store.Feedbacks, w Words) (bool, error) {
	if err := w.check(); err != nil {
		return false, err
	}
	raw, err := json.Marshal([]Note{{At: w.At.UTC(), To: Pending, Stage: StageEnqueue, Text: "received from " + w.Source}})
	if err != nil {
		return false, fmt.Errorf("feedback %s: %w", w.ID, err)
	}
	added, err := s.Add(ctx, store.Feedback{
		ID: w.ID, Body: w.Body, Severity: string(w.Severity), ContextURL: w.URL, Source: w.Source, Status: string(Pending),
		Notes: string(raw), Created: w.At,
	})
	if errors.Is(err, store.ErrFeedbackThere) {
		return false, refuse("give another --id, or none", "feedback %s already exists with another text", w.ID)
	}
	return added, err
}

// SeverityOf returns the severity for the kind of an inbox item (TRUST-10).
func SeverityOf(kind string) Severity {
	switch kind {
	case "critical":
		return "critical"
	case "ask":
		return "medium"
	}
	return "low"
}
