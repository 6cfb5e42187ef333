package trust

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/prompt"
)

// Standup holds the facts of a stand-up report (TRUST-16). No model is involved.
type Standup struct {
	Repository string    `json:"repository"`
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Done       []string  `json:"done"`
	UnderWay   []string  `json:"under_way"`
	Stuck      []string  `json:"stuck"`
	Spent      string    `json:"spent"`
	Inbox      []string  `json:"inbox"`
	Trust      string    `json:"trust"`
}

// Render renders the report.
func (s Standup) Render(p prompt.Set) (string, error) {
	const form = "2006-01-02 15:04 MST"
	return p.Render("standup", map[string]string{
		"repository": line(s.Repository), "from": s.From.Format(form), "to": s.To.Format(form),
		"done": bullets(s.Done), "under_way": bullets(s.UnderWay), "stuck": bullets(s.Stuck), "spent": line(s.Spent),
		"inbox": bullets(s.Inbox), "trust": line(s.Trust),
	})
}

// bullets formats a markdown list. Each foreign text stays on one line, so that it cannot start a heading or list.
func bullets(items []string) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "- %s\n", line(i))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TierText describes the tier in a few words.
func (c Contract) TierText() string {
	if !c.Owned() {
		return "no owner; runplan trust asks for one"
	}
	return fmt.Sprintf("tier %d of %d (%s), owner %s", c.Tier, Highest, Titles()[c.Tier], line(c.Owner))
}
