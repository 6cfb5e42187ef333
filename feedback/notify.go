package feedback

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/proc"
)

// Told is whether whoever gave the feedback was told of the change.
type Told struct {
	Where    string `json:"where,omitempty"`
	Deferred bool   `json:"deferred,omitempty"`
	Why      string `json:"why,omitempty"`
}

// String tells it to people.
func (t Told) String() string {
	if t.Deferred {
		return "warning: nobody is told, deferred: " + t.Why
	}
	return "told at " + t.Where
}

var threadForm = lazyre.New(`^/[\w.-]+/[\w.-]+/(pull|issues)/\d+/?$`)

// Notify tells of the change where the feedback was given (FIX-22). Whatever keeps it from doing so is a warning, and the
// drive goes on.
func (f Forge) Notify(ctx context.Context, i Item, p Published) (Told, error) {
	later := func(format string, args ...any) (Told, error) {
		return Told{Deferred: true, Why: fmt.Sprintf(format, args...)}, nil
	}
	if i.URL == "" {
		return later("the feedback has no address")
	}
	u, err := url.Parse(i.URL)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return later("%q is no address of a pull request or an issue", i.URL)
	}
	m := threadForm.FindStringSubmatch(u.Path)
	if m == nil {
		return later("%q is no address of a pull request or an issue", i.URL)
	}
	kind := map[string]string{"pull": "pr", "issues": "issue"}[m[1]]
	where := "https://" + u.Host + u.Path
	text := fmt.Sprintf("feedback_id: %s\n\nA draft change answers this feedback: %s\n", i.ID, first(p.URL, p.Branch))
	file, err := f.text(i.ID, "comment.md", text)
	if err != nil {
		return Told{}, err
	}
	_, said, err := f.program(ctx, "gh", kind, "comment", where, "--body-file", file)
	switch {
	case errors.Is(err, proc.ErrNotFound):
		return later("gh is not installed")
	case err != nil:
		return Told{}, err
	case said != "":
		return later("gh %s comment: %s", kind, said)
	}
	return Told{Where: where}, nil
}
