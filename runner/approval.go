package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Approval is a question of a run to a person. It blocks no worker. The run continues, and stops with [OutcomeHuman]
// when no other work is left.
type Approval struct {
	ID       string    `json:"id"`      // "<first eight of the run's id>/<key of the batch>", or ".../land"
	Run      string    `json:"run"`     // its id
	Command  string    `json:"command"` // command id that the answer must name
	Kind     string    `json:"kind"`    // merge or land
	Gate     string    `json:"gate,omitempty"`
	Batch    string    `json:"batch,omitempty"` // its key
	Number   string    `json:"number,omitempty"`
	Title    string    `json:"title,omitempty"`
	Question string    `json:"question"`
	Base     string    `json:"base"`
	Commit   string    `json:"commit"`
	Tree     string    `json:"tree,omitempty"` // the only tree that a yes permits to merge
	Since    time.Time `json:"since"`
}

// The kinds of approvals.
const (
	ApproveMerge = "merge" // of a batch into the run branch
	ApproveLand  = "land"  // of the run
)

// GateMergeBelowBar is the name of the trust gate for landing below the owner's threshold (TRUST-13).
const GateMergeBelowBar = "merge_below_bar"

// Yes returns the event that approves a, for [Engine.Post] or for a driver that reads posts of other processes.
func (a Approval) Yes(by, reason string) Event {
	return Event{Kind: ApprovalGiven, Run: a.Run, Command: a.Command, Batch: a.Batch, Commit: a.Commit, Tree: a.Tree,
		By: by, Reason: reason, Outcome: OutcomeOK}
}

// No returns the event that denies a. The next attempt at the batch gets the reason.
func (a Approval) No(by, reason string) Event {
	e := a.Yes(by, reason)
	e.Kind, e.Outcome = ApprovalDenied, OutcomeRefused
	return e
}

// Answer returns the kind of the first event that answers a, or "". The run ignores further answers.
func (a Approval) Answer(events []Event) EventKind {
	return lists.First(events, func(e Event) bool {
		return (e.Kind == ApprovalGiven || e.Kind == ApprovalDenied) && e.Command == a.Command && e.Commit == a.Commit &&
			e.Tree == a.Tree
	}).Kind
}

type question struct {
	Command
	since time.Time
}

// answers reports whether e answers this question.
func (q *question) answers(e Event) bool {
	return q != nil && q.approval("", nil).Answer([]Event{e}) != ""
}

// needsApproval reports whether a person must approve t. Such a candidate is not part of the merge queue's chain: it
// is based directly on the run branch until it may merge. No other candidate is based on it or waits for it.
func (m *Machine) needsApproval(t *track) bool {
	return (t.Approve || t.doubt != "" || t.unagreed != "") && m.merging != t
}

// admit lets the first approved candidate merge next, if it still has the approved tree. A merge before it would
// change its tree.
func (m *Machine) admit() {
	if m.merging != nil {
		return
	}
	i := slices.IndexFunc(m.queue, func(t *track) bool {
		return m.needsApproval(t) && t.verdict == green && t.out == "" && t.placed && t.onto == m.tip && t.approved != "" &&
			t.approved == t.stands.tree && !m.shortOfTests(t)
	})
	if i < 0 {
		return
	}
	t := m.queue[i]
	m.queue = slices.Insert(slices.Delete(m.queue, i, i+1), 0, t)
	m.merging = t
	m.fire(t, OnDone)
}

// onHeld reports whether t was made on a candidate that waits for approval, or on one that is not placed. In both
// cases the candidates ahead of t do not include its base.
func (m *Machine) onHeld(t *track, placed []*track) bool {
	return slices.ContainsFunc(t.on, func(n string) bool {
		return !m.done(n) && (m.needsApproval(m.byKey[n]) || !slices.Contains(placed, m.byKey[n]))
	})
}

// propose asks a person whether the candidate of t may merge.
func (m *Machine) propose(t *track) Command {
	why := "the plan asks for a person's approval"
	if t.Asks != "" {
		why += ": " + t.Asks
	}
	if t.doubt != "" {
		why = "the review leaves it to a person: " + t.doubt
	} else if t.unagreed != "" {
		why = "the gates defer to a person: " + t.unagreed
	}
	if t.denied.Tree != "" && t.denied.Tree == t.stands.tree {
		why += fmt.Sprintf("; %s denied the same change before: %s", cmp.Or(t.denied.By, "somebody"), t.denied.Reason)
	}
	if t.again != "" {
		why += "; asked again: " + t.again
	}
	return m.issue(t, Command{Kind: Ask, Base: t.onto, Commit: t.stands.commit, Tree: t.stands.tree, Why: why})
}

// answered applies a person's answer. It ignores answers to other questions or about another tree.
func (m *Machine) answered(e Event) []Command {
	if e.Batch == "" {
		if !m.asking.answers(e) {
			return nil
		}
		m.agreed, m.asking = m.asking.Commit, nil
		if e.Kind == ApprovalDenied {
			m.agreed, m.landed, m.why = "", OutcomeRefused, fmt.Sprintf("%s denied it: %s", cmp.Or(e.By, "somebody"), e.Reason)
		}
		return m.schedule()
	}
	t := m.byKey[e.Batch]
	if t == nil || !t.asking.answers(e) {
		return nil
	}
	t.asking = nil
	if e.Kind == ApprovalDenied {
		t.denied = e
		m.leave(t)
		m.failed(t, e)
		return m.schedule()
	}
	t.approved = e.Tree
	return m.schedule()
}

// Waiting lists the open questions in plan order, with the landing last. The caller adds the run's id.
func (m *Machine) Waiting() []Approval {
	var out []Approval
	for _, t := range m.tracks {
		if q := t.asking; q != nil {
			out = append(out, q.approval(ApproveMerge, t.BatchInfo))
		}
	}
	if m.asking != nil {
		a := m.asking.approval(ApproveLand, nil)
		a.Gate = GateMergeBelowBar
		out = append(out, a)
	}
	return out
}

func (q *question) approval(kind string, b *BatchInfo) Approval {
	a := Approval{Command: q.ID, Kind: kind, Question: q.Why, Base: q.Base, Commit: q.Commit, Tree: q.Tree, Since: q.since}
	if b != nil {
		a.Batch, a.Number, a.Title = b.Key, b.Number, b.Title
	}
	return a
}

// Diff returns the arguments of git diff that show the change in question.
func (a Approval) Diff() string {
	to := cmp.Or(a.Tree, a.Commit)
	return fmt.Sprintf("%.10s %.10s", a.Base, to)
}

func (a Approval) of(run string) Approval {
	a.Run = run
	what := cmp.Or(a.Batch, ApproveLand)
	a.ID = run[:min(8, len(run))] + "/" + what
	return a
}

// FindApproval returns the approval with an id or with an unambiguous abbreviation of one.
func FindApproval(list []Approval, id string) (Approval, error) {
	var near []Approval
	for _, a := range list {
		if a.ID == id {
			return a, nil
		}
		run, what, both := strings.Cut(id, "/")
		if strings.HasPrefix(a.ID, id) || both && strings.HasPrefix(a.Run, run) && strings.HasSuffix(a.ID, "/"+what) {
			near = append(near, a)
		}
	}
	switch len(near) {
	case 1:
		return near[0], nil
	case 0:
		return Approval{}, fmt.Errorf("no waiting item has the id %q; runplan approve lists them", id)
	}
	names := phrase.Join(near, ", ", func(a Approval) string { return a.ID })
	return Approval{}, fmt.Errorf("%q may be any of %s", id, names)
}
