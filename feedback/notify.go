package feedback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// Notice records whether the author of the feedback was notified.
type Notice struct {
	Where    string `json:"where,omitempty"`
	Deferred bool   `json:"deferred,omitempty"`
	Why      string `json:"why,omitempty"`
}

// String describes the notification for people.
func (t Notice) String() string {
	if t.Deferred {
		return "warning: notification deferred: " + t.Why
	}
	return "notified at " + t.Where
}

var threadForm = lazyre.New(`^/[\w.-]+/[\w.-]+/(pull|issues)/\d+/?$`)

// Notify comments on the thread of the feedback (FIX-22), once: it finds the comment of an earlier process that was
// killed before recording it. A failure is a warning, and the loop continues.
func (f PRClient) Notify(ctx context.Context, i Item, p Published) (Notice, error) {
	later := func(format string, args ...any) (Notice, error) {
		return Notice{Deferred: true, Why: fmt.Sprintf(format, args...)}, nil
	}
	if i.URL == "" {
		return later("the feedback has no address to comment on")
	}
	u, err := url.Parse(i.URL)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return later("%q is not the URL of a pull request or an issue", i.URL)
	}
	m := threadForm.FindStringSubmatch(u.Path)
	if m == nil {
		return later("%q is not the URL of a pull request or an issue", i.URL)
	}
	kind := map[string]string{"pull": "pr", "issues": "issue"}[m[1]]
	where := "https://" + u.Host + u.Path
	text := fmt.Sprintf("feedback_id: %s\n\nA draft change answers this feedback: %s\n", i.ID, cmp.Or(p.URL, p.Branch))
	there, why, err := f.commented(ctx, kind, where, text)
	switch {
	case err != nil:
		return Notice{}, err
	case why != "":
		return later("%s", why)
	case there:
		return Notice{Where: where}, nil
	}
	file, err := f.text(i.ID, "comment.md", text)
	if err != nil {
		return Notice{}, err
	}
	switch _, why, err := f.gh(ctx, kind, "comment", where, "--body-file", file); {
	case err != nil:
		return Notice{}, err
	case why != "":
		return later("%s", why)
	}
	return Notice{Where: where}, nil
}

// commented reports whether a thread already contains the comment. why gives the reason if that is unknown; then no
// comment is posted.
func (f PRClient) commented(ctx context.Context, kind, where, text string) (there bool, why string, err error) {
	out, why, err := f.gh(ctx, kind, "view", where, "--json", "comments")
	if err != nil || why != "" {
		return false, why, err
	}
	var thread struct {
		Comments []struct {
			Body string `json:"body"`
		} `json:"comments"`
	}
	if err := json.Unmarshal([]byte(out), &thread); err != nil {
		return false, fmt.Sprintf("gh %s view printed no list of comments: %s", kind, oneLine(out)), nil
	}
	for _, c := range thread.Comments {
		if strings.TrimSpace(strings.ReplaceAll(c.Body, "\r\n", "\n")) == strings.TrimSpace(text) {
			return true, "", nil
		}
	}
	return false, "", nil
}
