package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Approval is something that a run asks a person for. It holds no worker; the run goes on beside it, and stops with
// [OutcomeHuman] once nothing else is left to be done.
type Approval struct {
	ID       string    `json:"id"`      // "<first eight of the run's id>/<key of the batch>", or ".../land"
	Run      string    `json:"run"`     // its id
	Command  string    `json:"command"` // that an answer names
	Kind     string    `json:"kind"`    // what waits: merge or land
	Gate     string    `json:"gate,omitempty"`
	Batch    string    `json:"batch,omitempty"` // its key
	Number   string    `json:"number,omitempty"`
	Title    string    `json:"title,omitempty"`
	Question string    `json:"question"`
	Base     string    `json:"base"`
	Commit   string    `json:"commit"`
	Tree     string    `json:"tree,omitempty"` // that is merged if the answer is yes, and no other
	Since    time.Time `json:"since"`
}

// The kinds of approvals.
const (
	ApproveMerge = "merge" // of a batch into the run branch
	ApproveLand  = "land"  // of the run
)

// GateMergeBelowBar is the human gate of trust that an approval to land goes through (TRUST-13).
const GateMergeBelowBar = "merge_below_bar"

// Yes answers an approval. It is for [Engine.Post], or for a driver that takes posts of other processes.
func (a Approval) Yes(by, reason string) Event {
	return Event{Kind: ApprovalGiven, Run: a.Run, Command: a.Command, Batch: a.Batch, Commit: a.Commit, Tree: a.Tree, By: by, Reason: reason, Outcome: OutcomeOK}
}

// No answers an approval. The reason is what the next attempt at the batch is told.
func (a Approval) No(by, reason string) Event {
	e := a.Yes(by, reason)
	e.Kind, e.Outcome = ApprovalDenied, OutcomeRefused
	return e
}

// question is what a person was asked and has not answered.
type question struct {
	Command
	since time.Time
}

// answers tells whether e is about this very question: an answer about another tree is about something else.
func (q *question) answers(e Event) bool {
	return q != nil && q.ID == e.Command && q.Commit == e.Commit && q.Tree == e.Tree
}

// beside tells whether a person has to agree to t. Such a candidate stands beside the merge queue, on the run branch
// itself, until it is its turn to be merged: nobody stands on it, and nobody waits for it.
func (m *Machine) beside(t *track) bool {
	return (t.Approve || t.doubt != "" || t.unagreed != "") && m.lane != t
}

// admit lets a candidate merge next to which a person agreed, if it is still what they agreed to: each other one that
// merges before would make another tree of it.
func (m *Machine) admit() {
	if m.lane != nil {
		return
	}
	i := slices.IndexFunc(m.queue, func(t *track) bool {
		return m.beside(t) && t.verdict == green && t.out == "" && t.placed && t.onto == m.tip && t.approved != "" && t.approved == t.stands.tree && !m.shortOfTests(t)
	})
	if i < 0 {
		return
	}
	t := m.queue[i]
	m.queue = slices.Insert(slices.Delete(m.queue, i, i+1), 0, t)
	m.lane = t
	m.fire(t, OnDone)
}

// onHeld tells whether t was made on a candidate that now stands beside the queue, or on one that waits for such a one:
// what is placed ahead of it does not hold what it was made on.
func (m *Machine) onHeld(t *track, placed []*track) bool {
	return slices.ContainsFunc(t.on, func(n string) bool {
		return !m.done(n) && (m.beside(m.byKey[n]) || !slices.Contains(placed, m.byKey[n]))
	})
}

// propose asks a person whether the candidate of t may be merged.
func (m *Machine) propose(t *track) Command {
	why := "the plan asks for a person's approval"
	if t.Asks != "" {
		why += ": " + t.Asks
	}
	if t.doubt != "" {
		why = "the review leaves it to a person: " + t.doubt
	} else if t.unagreed != "" {
		why = "the gates leave it to a person: " + t.unagreed
	}
	if t.again != "" {
		why += "; asked again: " + t.again
	}
	return m.issue(t, Command{Kind: Ask, Base: t.onto, Commit: t.stands.commit, Tree: t.stands.tree, Why: why})
}

// answered folds what a person said. Who says something of what nobody asks for, or of another tree, has said nothing.
func (m *Machine) answered(e Event) []Command {
	if e.Batch == "" {
		if !m.asking.answers(e) {
			return nil
		}
		m.agreed, m.asking = m.asking.Commit, nil
		if e.Kind == ApprovalDenied {
			m.agreed, m.landed, m.why = "", OutcomeRefused, fmt.Sprintf("%s said no: %s", cmp.Or(e.By, "somebody"), e.Reason)
		}
		return m.schedule()
	}
	t := m.byKey[e.Batch]
	if t == nil || !t.asking.answers(e) {
		return nil
	}
	t.asking = nil
	if e.Kind == ApprovalDenied {
		m.leave(t)
		m.failed(t, e)
		return m.schedule()
	}
	t.approved = e.Tree
	return m.schedule()
}

// Waiting lists what a person is asked for, in plan order, the landing last. Who knows the run's id adds it.
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

// Diff is what git diff has to be given to see what is asked about.
func (a Approval) Diff() string {
	to := a.Tree
	if to == "" {
		to = a.Commit
	}
	return fmt.Sprintf("%.10s %.10s", a.Base, to)
}

// of says whose question it is.
func (a Approval) of(run string) Approval {
	a.Run = run
	what := a.Batch
	if what == "" {
		what = ApproveLand
	}
	a.ID = run[:min(8, len(run))] + "/" + what
	return a
}

// FindApproval finds the approval that is meant by an id or a beginning of one that is clear.
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
		return Approval{}, fmt.Errorf("nothing that waits for a person is called %q", id)
	}
	names := make([]string, len(near))
	for i, a := range near {
		names[i] = a.ID
	}
	return Approval{}, fmt.Errorf("%q may be any of %s", id, strings.Join(names, ", "))
}
