package notify

import (
	"fmt"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/phrase"
)

// Kind is the topic of a message.
type Kind string

// The kinds of messages. New versions may add kinds but never remove one.
const (
	Started Kind = "started" // a run started or resumed
	Gate    Kind = "gate"    // gates rejected an attempt
	Blocked Kind = "blocked" // a person must act: sign in, pay, allow a tool
	Paused  Kind = "paused"  // a limit of a provider, or of the time or cost of the run
	Budget  Kind = "budget"  // 80 % of the budget is spent
	Failed  Kind = "failed"  // a batch failed, or a run ended without all of its batches
	Done    Kind = "done"    // a run succeeded
	Test    Kind = "test"    // requested by a person

	Approval Kind = "approval" // a person must decide
)

// Version is the version of the message format. New fields may be added without a new version.
const Version = 1

// Message is the JSON object that a hook gets. Fields that do not apply are omitted.
type Message struct {
	Version    int       `json:"version"`
	Event      Kind      `json:"event"`
	Text       string    `json:"text"` // the message in one line, for people
	At         time.Time `json:"at"`
	Repository string    `json:"repository"` // name of its folder
	Run        string    `json:"run,omitempty"`
	Plan       string    `json:"plan,omitempty"`
	Title      string    `json:"title,omitempty"`  // of the plan
	Branch     string    `json:"branch,omitempty"` // branch of the work
	Batch      string    `json:"batch,omitempty"`  // its number
	BatchTitle string    `json:"batch_title,omitempty"`
	Attempt    int       `json:"attempt,omitempty"`
	Agent      string    `json:"agent,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Approval   string    `json:"approval,omitempty"` // with approval: its id
	Approve    string    `json:"approve,omitempty"`  // with approval: the command that approves
	RetryAt    time.Time `json:"retry_at,omitzero"`  // with paused, if known

	CostUSD     *float64 `json:"cost_usd"`     // known cost of the run so far; null if none is known
	CostUnknown int      `json:"cost_unknown"` // attempts of unknown cost
	MaxCostUSD  float64  `json:"max_cost_usd,omitempty"`

	Batches *Counts `json:"batches,omitempty"`
	URL     string  `json:"url,omitempty"`    // of the pull request
	Report  string  `json:"report,omitempty"` // file in the repository, with done and failed
}

// Counts holds the progress of a run.
type Counts struct {
	Merged  int `json:"merged"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	ToGo    int `json:"to_go"`
}

// maxReason limits the quoted reason, in bytes.
const maxReason = 2000

// write sets the one-line text of the message.
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
		Started: "started", Gate: "gates are red", Blocked: "needs you", Paused: "is paused",
		Budget: "has spent most of its cost limit",
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
