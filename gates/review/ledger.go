package review

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
)

// State is the state of a finding in the ledger.
type State string

// A finding is open until its pass no longer finds it, or until a person decides.
const (
	Open     State = "open"
	Fixed    State = "fixed"    // its pass ran again and did not find it
	Refuted  State = "refuted"  // a person decided that it is wrong
	Accepted State = "accepted" // a person accepted the problem
)

// Ledger records the findings of a branch over all rounds, so that a review ends. An old finding is not reported as new
// again, decisions stay, and minor findings are accepted only in the first rounds. It is a readable file.
type Ledger struct {
	Branch   string  `json:"branch"`
	Rounds   []Round `json:"rounds"`
	Findings []Entry `json:"findings"`
}

// Round is one review of a tree that had not been reviewed before.
type Round struct {
	Round         int     `json:"round"`
	Base          string  `json:"base,omitempty"`
	Tree          string  `json:"tree"`
	Verdict       Verdict `json:"verdict"`
	ConfidencePct int     `json:"confidence_pct"`
	Calls         int     `json:"calls"` // questions to reviewers, all together
}

// Entry is a finding of any round.
type Entry struct {
	ID       string         `json:"id"`
	Pass     int            `json:"pass"`
	State    State          `json:"state"`
	Rule     string         `json:"rule"`
	Path     string         `json:"path,omitempty"`
	Line     int            `json:"line,omitempty"`
	Severity gates.Severity `json:"severity"`
	Message  string         `json:"message"`
	Snippet  string         `json:"snippet,omitempty"` // the affected line, with normalized white space
	Fact     bool           `json:"fact,omitempty"`    // a program found it
	Gate     string         `json:"gate,omitempty"`    // which
	First    int            `json:"first_round"`
	Last     int            `json:"last_round"`
	Reason   string         `json:"reason,omitempty"` // why it was refuted or accepted
	At       string         `json:"at,omitempty"`     // when
}

// Limits of a ledger.
const (
	mostEntries = 500
	mostRounds  = 100
)

// identity identifies a finding by rule, file and affected line. It does not change if the line moves within the
// file.
func identity(f Finding, snippet string) string {
	snippet = cmp.Or(snippet, f.Message)
	return checksum.SHA256(strings.Join([]string{f.Rule, f.Path, phrase.Line(snippet)}, "\x00"))[:10]
}

// places numbers findings of one rule on equal lines of a file.
type places map[string][]int

// name identifies a finding like [identity], plus its number among equal lines.
func (p places) name(f Finding, snippet string) string {
	id := identity(f, snippet)
	if !f.Fact || f.Line == 0 {
		return id
	}
	n := slices.Index(p[id], f.Line)
	if n < 0 {
		n = len(p[id])
		p[id] = append(p[id], f.Line)
	}
	if n == 0 {
		return id
	}
	return identity(f, fmt.Sprintf("%s #%d", phrase.Line(snippet), n+1))
}

// round returns the round that a review of this tree belongs to. A repeated review of the same tree is not a new round,
// and a rebased branch starts again with round 1.
func (l *Ledger) round(base, tree string) (n int, again bool) {
	if len(l.Rounds) == 0 {
		return 1, false
	}
	last := l.Rounds[len(l.Rounds)-1]
	switch {
	case last.Base != base:
		return 1, false
	case last.Tree == tree:
		return last.Round, true
	}
	return last.Round + 1, false
}

// asked counts the rounds on this base with calls to reviewers, except rounds of this tree.
func (l *Ledger) asked(base, tree string) int {
	n := 0
	for _, r := range slices.Backward(l.Rounds) {
		if r.Base != base {
			break
		}
		if r.Calls > 0 && r.Tree != tree {
			n++
		}
	}
	return n
}

// floor returns the lowest severity that a reviewer may still raise in the nth round. It rises, so that rounds end.
func floor(nth int) gates.Severity {
	switch nth {
	case 1:
		return gates.Note
	case 2:
		return gates.Warning
	}
	return gates.Error
}

// enter records the findings of a review and sets their states. It drops and notes new remarks of a reviewer below
// the severity floor of the round.
func (l *Ledger) enter(r *run, round int) (fixed []Entry) {
	now := map[string]bool{}
	least := floor(l.asked(r.in.Subject.Base, r.in.Subject.Tree) + 1)
	seen := places{}
	for i := range r.passes {
		p := &r.passes[i]
		var kept []Finding
		dropped := 0
		p.sort()
		for _, f := range p.Findings {
			snippet := r.diff.line(f.Path, f.Line)
			if !f.Fact && f.Citation != "" {
				snippet = phrase.Line(f.Citation)
			}
			f.ID = seen.name(f, snippet)
			if f.Fact && f.Severity == gates.Note || now[f.ID] && !f.Fact {
				if f.Fact {
					kept = append(kept, f)
				}
				continue // a remark of a gate, or a duplicate
			}
			e := l.entry(f.ID)
			if (e == nil || f.Unproven) && !f.Fact && f.Severity.Rank() > least.Rank() {
				dropped++
				continue
			}
			if f.Unproven { // a guess: shown now but not stored
				kept = append(kept, f)
				continue
			}
			now[f.ID] = true
			if e == nil {
				l.Findings = append(l.Findings, Entry{ID: f.ID, First: round, State: Open})
				e, f.New = &l.Findings[len(l.Findings)-1], true
			}
			if e.State == Fixed {
				e.State, f.New = Open, true
			}
			e.Pass, e.Rule, e.Path, e.Line, e.Severity, e.Message, e.Snippet, e.Fact, e.Gate, e.Last = p.Number, f.Rule, f.Path,
				f.Line, f.Severity, f.Message, phrase.Cut(snippet, mostCitation), f.Fact, f.Gate, round
			f.State = e.State
			kept = append(kept, f)
		}
		p.Findings = kept
		if dropped > 0 {
			p.note("%d new remarks below %s are omitted in round %d", dropped, least, round)
		}
	}
	for i := range l.Findings {
		e := &l.Findings[i]
		if e.State == Open && !now[e.ID] && r.settled(*e) {
			e.State = Fixed
			e.Last = round
			fixed = append(fixed, *e)
		}
	}
	l.trim()
	return fixed
}

// settled reports whether a finding that did not appear again is fixed: its pass ran again, or it came from a program
// and its line is no longer part of the change.
func (r *run) settled(e Entry) bool {
	if e.Pass < 1 || e.Pass > len(r.passes) {
		return false
	}
	p := &r.passes[e.Pass-1]
	if !e.Fact {
		return p.judged != "" && p.judged != gates.Skipped && p.judged != gates.Errored && p.seen == 100
	}
	i := slices.IndexFunc(p.Tools, func(t gates.Report) bool { return t.Gate == e.Gate })
	if i >= 0 && p.Tools[i].Status != gates.Skipped && p.Tools[i].Status != gates.Errored {
		return true
	}
	return e.Path != "" && e.Snippet != "" && !r.diff.has(e.Path, e.Snippet)
}

func (l *Ledger) entry(id string) *Entry {
	if i := slices.IndexFunc(l.Findings, func(e Entry) bool { return e.ID == id }); i >= 0 {
		return &l.Findings[i]
	}
	return nil
}

// trim removes the oldest rounds and the oldest fixed entries above the limits.
func (l *Ledger) trim() {
	if len(l.Rounds) > mostRounds {
		l.Rounds = slices.Clone(l.Rounds[len(l.Rounds)-mostRounds:])
	}
	for over := len(l.Findings) - mostEntries; over > 0; over-- {
		i := slices.IndexFunc(l.Findings, func(e Entry) bool { return e.State == Fixed })
		if i < 0 {
			return
		}
		l.Findings = slices.Delete(l.Findings, i, i+1)
	}
}

// blocking lists the open, blocking findings of reviewers whose pass did not run this time. It omits findings of
// programs, because programs report them in each round.
func (l *Ledger) blocking(seen []Pass) []Entry {
	var out []Entry
	for _, e := range l.Findings {
		if e.State != Open || e.Severity != gates.Error || e.Fact {
			continue
		}
		if !slices.ContainsFunc(seen, func(p Pass) bool {
			return slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.ID == e.ID })
		}) {
			out = append(out, e)
		}
	}
	return out
}

// Decide records a person's decision about a finding. It rejects findings of programs with severity error, because they
// are facts, not opinions.
func (l *Ledger) Decide(id string, s State, reason string, at time.Time) (Entry, error) {
	var found []*Entry
	for i := range l.Findings {
		if id != "" && strings.HasPrefix(l.Findings[i].ID, strings.ToLower(id)) {
			found = append(found, &l.Findings[i])
		}
	}
	switch {
	case len(found) == 0:
		return Entry{}, fmt.Errorf("finding %q not found on %s", id, l.Branch)
	case len(found) > 1:
		return Entry{}, fmt.Errorf("%d findings begin with %q: give more characters of the id", len(found), id)
	case strings.TrimSpace(reason) == "":
		return Entry{}, errors.New("a decision needs a reason: give it with --reason")
	}
	e := found[0]
	if e.Fact && e.Severity == gates.Error {
		return Entry{}, fmt.Errorf(
			"%s (%s) was found by a program and cannot be refuted here: correct the code, or configure the gate",
			e.ID, e.Rule)
	}
	e.State, e.Reason, e.At = s, fence.Line(phrase.Cut(reason, mostMessage)), at.UTC().Format(time.RFC3339)
	return *e, nil
}

// open lists the unsettled earlier findings for the reviewer of a pass.
func (l *Ledger) open(pass int) string {
	return l.listed(func(e Entry) bool { return e.Pass == pass && !e.Fact && e.State == Open })
}

// earlier lists the decided and fixed findings, so that a reviewer knows what was checked before (REV-09).
func (l *Ledger) earlier() string {
	return l.listed(func(e Entry) bool { return !e.Fact && e.State != Open })
}

// mostListed limits the part of the ledger in a prompt.
const mostListed = 20

func (l *Ledger) listed(want func(Entry) bool) string {
	if l == nil {
		return ""
	}
	var lines []string
	for _, e := range slices.Backward(l.Findings) {
		if want(e) && len(lines) < mostListed {
			line := fmt.Sprintf("%s %s %s:%d: %s", e.State, e.Rule, e.Path, e.Line, e.Message)
			if e.Reason != "" {
				line += " (" + e.Reason + ")"
			}
			lines = append(lines, fence.Line(line)+"\n  citation: "+fence.Line(e.Snippet))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return fence.Around("", strings.Join(lines, "\n"))
}
