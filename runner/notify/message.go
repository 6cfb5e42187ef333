package notify

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
)

// Kind is what a message is about.
type Kind string

// The kinds of messages. Kinds are only ever added.
const (
	Started Kind = "started" // a run began, or goes on
	Gate    Kind = "gate"    // gates refused an attempt
	Blocked Kind = "blocked" // a person has to do something: sign in, pay, allow a tool
	Paused  Kind = "paused"  // a limit: of a provider, of the time or the money of the run
	Budget  Kind = "budget"  // four fifths of the money are spent
	Failed  Kind = "failed"  // a batch was given up, or a run ended without all of its batches
	Done    Kind = "done"    // a run ended well
	Test    Kind = "test"    // asked for by a person

	Approval Kind = "approval" // a person is to agree, or not
)

// Version is that of the form of a message. Fields are only ever added to it.
const Version = 1

// Message is what a hook is told, as one JSON object. Fields that do not apply are left out.
type Message struct {
	Version    int       `json:"version"`
	Event      Kind      `json:"event"`
	Text       string    `json:"text"` // the message in one line, for people
	At         time.Time `json:"at"`
	Repository string    `json:"repository"` // the name of its folder
	Run        string    `json:"run,omitempty"`
	Plan       string    `json:"plan,omitempty"`
	Title      string    `json:"title,omitempty"`  // of the plan
	Branch     string    `json:"branch,omitempty"` // that the work is on
	Batch      string    `json:"batch,omitempty"`  // its number
	BatchTitle string    `json:"batch_title,omitempty"`
	Attempt    int       `json:"attempt,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Approval   string    `json:"approval,omitempty"` // with approval: its id
	Approve    string    `json:"approve,omitempty"`  // with approval: the command that agrees
	RetryAt    time.Time `json:"retry_at,omitzero"`  // with paused, where it is known

	CostUSD     *float64 `json:"cost_usd"`     // what is known of the run so far; null while nothing is
	CostUnknown int      `json:"cost_unknown"` // attempts of which nobody told the cost
	MaxCostUSD  float64  `json:"max_cost_usd,omitempty"`

	Batches *Counts `json:"batches,omitempty"`
	URL     string  `json:"url,omitempty"`    // of the pull request
	Report  string  `json:"report,omitempty"` // file in the repository, with done and failed
}

// Counts tells how far a run is.
type Counts struct {
	Merged  int `json:"merged"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	ToGo    int `json:"to_go"`
}

// maxReason bounds what a message quotes, in bytes.
const maxReason = 2000

// write puts the message into one line.
func (m *Message) write() {
	m.Reason = phrase.CutBytes(phrase.Line(m.Reason), maxReason)
	what := m.Repository
	if m.Plan != "" {
		what += ": " + m.Plan
	}
	if m.Batch != "" {
		what += ", batch " + strings.TrimSpace(m.Batch+" "+m.BatchTitle)
	}
	said := map[Kind]string{
		Started: "started", Gate: "gates are red", Blocked: "needs you", Paused: "is paused", Budget: "has spent most of its money",
		Failed: "failed", Done: "is done", Test: "a message to try the hook", Approval: "waits for you",
	}[m.Event]
	if m.Event == Paused && !m.RetryAt.IsZero() {
		said += " until " + m.RetryAt.UTC().Format("2006-01-02 15:04:05 MST")
	}
	m.Text = what + ": " + said
	if m.Event == Done && m.Batches != nil {
		m.Text += fmt.Sprintf(": %d merged, %d skipped", m.Batches.Merged, m.Batches.Skipped)
	}
	if m.Reason != "" {
		m.Text += ": " + m.Reason
	}
	if m.Approve != "" {
		m.Text += ": " + m.Approve
	}
	if m.URL != "" {
		m.Text += ": " + m.URL
	}
}
