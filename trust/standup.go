package trust

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/prompt"
)

// Standup is what a stand-up report tells (TRUST-16). It is made of facts, without a model.
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

// Render fills in the template.
func (s Standup) Render(p prompt.Set) (string, error) {
	const form = "2006-01-02 15:04 MST"
	return p.Render("standup", map[string]string{
		"repository": line(s.Repository), "from": s.From.Format(form), "to": s.To.Format(form),
		"done": bullets(s.Done), "under_way": bullets(s.UnderWay), "stuck": bullets(s.Stuck), "spent": line(s.Spent), "inbox": bullets(s.Inbox), "trust": line(s.Trust),
	})
}

// bullets makes a markdown list. What others wrote stays on its line, so that it begins no heading and no list.
func bullets(items []string) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "- %s\n", line(i))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TierText names a tier in a few words.
func (c Contract) TierText() string {
	if !c.Owned() {
		return "no owner; runplan trust asks for one"
	}
	return fmt.Sprintf("tier %d of %d (%s), owner %s", c.Tier, Highest, Titles()[c.Tier], line(c.Owner))
}
