// Package notify reports the events of a run: it turns events into messages and sends them to one hook, a program
// or web address of the user.
//
// Each combination of kind, batch and cause is sent once over all sessions of a run. Notifications never delay a
// run or make it fail: messages wait in their own queue, each has a time limit, and a failed one becomes a note.
package notify

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/ledger"
)

// Notifier sends messages about the events of one run. A nil Notifier sends nothing.
type Notifier struct {
	hook Hook
	want map[Kind]bool
	info runner.Info
	repo string

	mu      sync.Mutex
	fold    runner.Fold
	said    map[string]bool // kind, batch and cause
	told    []string        // failure reasons sent in this session
	asked   []string        // questions to a person already sent
	session int             // number of starts and resumes of the run
	costs   ledger.Ledger
	spent   ledger.Sum
	url     string

	queue   chan Message
	dropped int
	closed  bool
	stop    chan struct{} // closed when Close stops waiting
	ended   chan struct{}
}

// Options selects the messages and the run.
type Options struct {
	Hook
	Events     []string // kinds to send; empty sends all but started and gate
	Info       runner.Info
	Repository string // its name
}

const waiting = 100

// New starts a notifier. Stop it with [Notifier.Close].
func New(o Options) *Notifier {
	n := &Notifier{
		hook: o.Hook, want: map[Kind]bool{}, info: o.Info, repo: o.Repository, said: map[string]bool{},
		queue: make(chan Message, waiting), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, name := range o.Events {
		n.want[Kind(name)] = true
	}
	if len(o.Events) == 0 {
		for _, k := range []Kind{Blocked, Paused, Budget, Failed, Done, Approval} {
			n.want[k] = true
		}
	}
	go n.work()
	return n
}

// Recall applies an event from before a resume. It sends no message, because the message was sent at that time.
func (n *Notifier) Recall(e runner.Event) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.messages(e)
	n.told = nil
}

// Event queues the messages for an event. It does not block.
func (n *Notifier) Event(e runner.Event) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.messages(e) {
		n.put(m)
	}
}

func (n *Notifier) put(m Message) {
	if n.closed {
		return
	}
	select {
	case n.queue <- m:
	default:
		n.dropped++
	}
}

// Close waits until the queue is sent. It waits at most for the timeout of one message plus one second.
func (n *Notifier) Close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return
	}
	n.closed = true
	close(n.queue)
	n.mu.Unlock()
	select {
	case <-n.ended:
	case <-time.After(n.hook.Timeout + time.Second):
		close(n.stop)
		<-n.ended
	}
	if n.dropped > 0 {
		n.hook.Note(fmt.Sprintf("%d notifications were not sent: the hook took too long", n.dropped))
	}
}

func (n *Notifier) work() {
	defer close(n.ended)
	failed := map[string]bool{}
	for m := range n.queue {
		select {
		case <-n.stop:
			n.mu.Lock()
			n.dropped++
			n.mu.Unlock()
			continue
		default:
		}
		if err := n.hook.send(n.stop, m); err != nil {
			if text := "notification: " + redact.Clean(n.hook.Redact(err.Error())); !failed[text] {
				failed[text] = true
				n.hook.Note(text)
			}
		}
	}
}

// messages applies an event and returns the messages to send.
func (n *Notifier) messages(e runner.Event) []Message {
	if err := n.fold.Apply(e); err != nil {
		return nil // the journal's reader reports this error in more detail
	}
	low := n.spend(e)
	var out []Message
	tell := func(k Kind, cause string) {
		if m, ok := n.message(k, e, cause); ok {
			out = append(out, m)
		}
	}
	others := len(n.info.Agents) > 1 // with several agents, the limit of one does not pause the run
	if s := n.fold.Summary(); others && s.Status == runner.RunPaused {
		if m, ok := n.message(Paused, runner.Event{At: e.At, Run: e.Run, Reason: s.Reason, RetryAt: s.Until},
			s.Until.String()); ok {
			out = append(out, m)
		}
	}
	switch e.Kind {
	case runner.RunStarted, runner.RunResumed:
		n.session++
		n.told = nil
		if e.Kind == runner.RunResumed {
			e.Reason = "it goes on"
		}
		tell(Started, fmt.Sprint(n.session))
	case runner.Executed, runner.Spent:
		switch e.Outcome {
		case runner.OutcomeHuman:
			n.told = append(n.told, e.Reason)
			tell(Blocked, e.Reason)
		case runner.OutcomeLimited:
			if !others {
				n.told = append(n.told, e.Reason)
				tell(Paused, e.Reason)
			}
		}
	case runner.Gated:
		if e.Outcome == runner.OutcomeFailed {
			tell(Gate, e.Reason)
		}
	case runner.ApprovalAsked:
		if e.Outcome == runner.OutcomeOK && n.want[Approval] {
			n.asked = append(n.asked, e.Reason)
			tell(Approval, strings.Join([]string{e.Command, e.Commit, e.Tree, e.Reason}, "\x00"))
		}
	case runner.BatchFailed:
		tell(Failed, fmt.Sprint(e.Reason, e.Attempt))
	case runner.Landed:
		n.url = urlIn(e.Reason)
	case runner.RunFinished:
		n.finished(e, tell)
	}
	if cost := n.spent.Known(); low {
		e.Reason = fmt.Sprintf("%s of %s", ledger.Dollars(*cost), ledger.Dollars(n.info.MaxCostUSD))
		e.Batch, e.Attempt, e.Agent = "", 0, ""
		tell(Budget, fmt.Sprint(n.info.MaxCostUSD))
	}
	return out
}

// finished sends the end of a run. It skips a stop whose cause was already sent for a batch.
func (n *Notifier) finished(e runner.Event, tell func(Kind, string)) {
	again := slices.ContainsFunc(slices.Concat(n.told, n.asked),
		func(reason string) bool { return reason != "" && strings.Contains(e.Reason, reason) })
	end := fmt.Sprintf("%d %s", n.session, e.Reason)
	switch e.Outcome {
	case runner.OutcomeOK:
		tell(Done, end)
	case runner.OutcomeFailed, runner.OutcomeError, runner.OutcomeUnstarted:
		tell(Failed, end)
	case runner.OutcomeLimited:
		if !again {
			tell(Paused, e.Reason)
		}
	case runner.OutcomeHuman:
		if !again {
			tell(Blocked, e.Reason)
		}
	}
}

// spend adds the cost of an attempt or review, and reports whether 80 % of the budget is used.
func (n *Notifier) spend(e runner.Event) bool {
	n.costs.Event(e)
	if len(n.costs.Lines) == 0 {
		return false
	}
	n.spent.Add(n.costs.Lines)
	n.costs.Lines = n.costs.Lines[:0]
	cost := n.spent.Known()
	return cost != nil && n.info.MaxCostUSD > 0 && *cost >= 0.8*n.info.MaxCostUSD
}

// message returns a message, unless its kind is unwanted or one of the same kind, batch and cause was made before.
func (n *Notifier) message(k Kind, e runner.Event, cause string) (Message, bool) {
	key := strings.Join([]string{string(k), e.Batch, cause}, "\x00")
	if n.said[key] || !n.want[k] {
		return Message{}, false
	}
	n.said[key] = true
	m := Message{
		Version: Version, Event: k, At: e.At.UTC(), Repository: n.repo, Run: e.Run, Plan: n.info.Plan, Title: n.info.Title,
		Branch:  n.info.Branch,
		Attempt: e.Attempt, Agent: e.Agent, Reason: e.Reason, CostUSD: n.spent.Known(), CostUnknown: n.spent.Unknown,
		MaxCostUSD: n.info.MaxCostUSD,
	}
	if i := slices.IndexFunc(n.info.Batches, func(b runner.BatchInfo) bool { return b.Key == e.Batch }); i >= 0 {
		m.Batch, m.BatchTitle = n.info.Batches[i].Number, n.info.Batches[i].Title
	}
	switch k {
	case Paused:
		m.RetryAt = e.RetryAt.UTC()
	case Approval:
		if i := slices.IndexFunc(n.fold.Summary().Waiting,
			func(a runner.Approval) bool { return a.Command == e.Command }); i >= 0 {
			m.Approval = n.fold.Summary().Waiting[i].ID
			m.Approve = "runplan approve " + m.Approval
		}
	case Done, Failed:
		if e.Kind == runner.RunFinished {
			m.URL, m.Report = n.url, ".runplan/reports/"+e.Run+"/report.md"
		}
	}
	t := n.fold.Summary().Tally()
	m.Batches = &Counts{Merged: t.Merged, Skipped: t.Skipped, Failed: t.Failed, ToGo: t.ToGo()}
	n.clean(&m)
	m.write()
	return m, true
}

// clean removes secrets and control codes from all external text.
func (n *Notifier) clean(m *Message) {
	for _, s := range []*string{&m.Repository, &m.Plan, &m.Title, &m.Branch, &m.Batch, &m.BatchTitle, &m.Agent, &m.Reason,
		&m.URL, &m.Approval, &m.Approve} {
		*s = redact.Clean(n.hook.Redact(*s))
	}
}

func urlIn(text string) string {
	for _, word := range slices.Backward(strings.Fields(text)) {
		if strings.HasPrefix(word, "https://") {
			return word
		}
	}
	return ""
}

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
	CostUnknown int      `json:"cost_unknown"` // attempts and reviews of unknown cost
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
