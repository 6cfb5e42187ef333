package review

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/tools/gatetest"
)

// on reviews shop.go with that text, with a ledger that continues from review to review.
func on(t *testing.T, l *Ledger, after string, list []gates.Gate, j *judge) Review {
	t.Helper()
	return onBase(t, "the same base", l, after, list, j) // the helper makes a repository of its own each time
}

// onBase does the same on a base.
func onBase(t *testing.T, base string, l *Ledger, after string, list []gates.Gate, j *judge) Review {
	t.Helper()
	s := gatetest.Change(t, map[string]string{"shop.go": "package shop\n"}, map[string]string{"shop.go": after})
	s.Base = base
	in := input(t, s, list)
	if j != nil {
		in.Reviewers = []Reviewer{j.reviewer("x", Adversarial)}
	}
	in.Ledger = l
	return mustRun(t, in)
}

const (
	first  = "package shop\n\nfunc Total() int {\n\tsum := first()\n\treturn sum\n}\n"
	moved  = "package shop\n\n// Total adds up.\n\nfunc Total() int {\n\tsum  := first()\n\treturn sum\n}\n"
	third  = "package shop\n\nfunc Total() int {\n\treturn second()\n}\n"
	fourth = "package shop\n\nfunc Total() int {\n\treturn third()\n}\n"
)

func states(l *Ledger) string {
	var out []string
	for _, e := range l.Findings {
		out = append(out, fmt.Sprintf("%s %s %d-%d", e.Rule, e.State, e.First, e.Last))
	}
	return strings.Join(out, "; ")
}

// A finding is new only once. It stays the same when its line moves, is fixed when its reviewer checks again and does
// not find it, and is open and new again when it returns.
func TestLedgerRounds(t *testing.T) {
	l := &Ledger{Branch: "b"}
	complains := func() *judge {
		return &judge{answers: map[string]string{"": found("logic", "shop.go", 4, "error", "sum := first()")}}
	}
	v := on(t, l, first, green(), complains())
	if f := v.Passes[Adversarial-1].Findings[0]; !f.New || f.State != Open || v.Round != 1 {
		t.Errorf("%+v", f)
	}
	again := on(t, l, first, green(), complains()) // the same tree is not another round
	if again.Round != 1 || len(l.Rounds) != 1 || again.Passes[Adversarial-1].Findings[0].New {
		t.Errorf("round %d, %d rounds", again.Round, len(l.Rounds))
	}
	j := complains()
	v = on(t, l, moved, green(), j)
	if f := v.Passes[Adversarial-1].Findings[0]; f.New || f.Line != 6 || v.Round != 2 || len(l.Findings) != 1 {
		t.Errorf("%+v, %s", f, states(l))
	}
	if !strings.Contains(j.asked[0].Prompt, "open adversarial/logic shop.go:4: it is wrong\n  citation: sum := first()") {
		t.Error("the reviewer did not get the open findings")
	}
	v = on(t, l, third, green(), approves())
	if len(v.Fixed) != 1 || v.Verdict == RequestChanges || states(l) != "adversarial/logic fixed 1-3" {
		t.Errorf("%s: %s", v.Verdict, states(l))
	}
	v = on(t, l, first, green(), complains())
	if f := v.Passes[Adversarial-1].Findings[0]; !f.New || f.State != Open || states(l) != "adversarial/logic open 1-4" {
		t.Errorf("%+v, %s", f, states(l))
	}
}

// A finding that no reviewer checks again stays open and requests changes.
func TestUncheckedFindingStaysOpen(t *testing.T) {
	l := &Ledger{Branch: "b"}
	on(t, l, first, green(),
		&judge{answers: map[string]string{"": found("logic", "shop.go", 4, "error", "sum := first()")}})
	v := on(t, l, third, green(), nil)
	if v.Verdict != RequestChanges || len(v.Open) != 1 || len(v.Fixed) != 0 {
		t.Errorf("without a reviewer: %s %v", v.Verdict, v.Reasons)
	}
	v = on(t, l, fourth, green(), &judge{err: os.ErrDeadlineExceeded})
	if v.Verdict != NoVerdict || len(v.Open) != 1 {
		t.Errorf("with a reviewer that does not answer: %s %v", v.Verdict, v.Open)
	}
	v = on(t, l, third+"\n", append(green(), says("lint:js", gates.Cheap, bad)), approves())
	if v.Verdict != Block || len(v.Open) != 1 {
		t.Errorf("after a failure: %s %v", v.Verdict, v.Open)
	}
}

// The minimum severity rises with each round of reviewers: remarks count only in the first round, warnings up to the
// second, errors always. Open findings may be repeated.
func TestMinimumSeverityRisesPerRound(t *testing.T) {
	l := &Ledger{Branch: "b"}
	remark := func(severity, line string) *judge {
		return &judge{answers: map[string]string{"": found("logic", "shop.go", 4, severity, line)}}
	}
	on(t, l, first+"// zero\n", green(), nil) // nobody is asked: that is no round for reviewers
	on(t, l, first, green(), remark("info", "sum := first()"))
	if states(l) != "adversarial/logic open 2-2" {
		t.Fatal(states(l))
	}
	on(t, l, moved, green(), remark("info", "sum := first()"))
	v := on(t, l, third, green(), remark("warning", "return second()"))
	if note := v.Passes[Adversarial-1].Note; !strings.Contains(note, "1 new remarks below error are omitted in round 4") {
		t.Error(note)
	}
	if states(l) != "adversarial/logic fixed 2-4" {
		t.Error(states(l))
	}
	v = on(t, l, fourth, green(), remark("error", "return third()"))
	if v.Verdict != RequestChanges || len(l.Findings) != 2 {
		t.Errorf("%s %s", v.Verdict, states(l))
	}
}

// A finding that a person accepted or refuted keeps this state, is shown, and does not request changes. A finding of
// a program cannot be decided this way.
func TestDecisions(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, state := range []State{Accepted, Refuted} {
		l := &Ledger{Branch: "b"}
		complains := &judge{answers: map[string]string{"": found("logic", "shop.go", 4, "error", "sum := first()")}}
		id := on(t, l, first, green(), complains).Passes[Adversarial-1].Findings[0].ID
		e, err := l.Decide(id[:6], state, "it is\nmeant\x1b[2K so", at)
		if err != nil || e.State != state || e.Reason != "it is meant so" || e.At != "2026-05-01T12:00:00Z" {
			t.Fatalf("%+v %v", e, err)
		}
		j := &judge{answers: complains.answers}
		v := on(t, l, moved, green(), j)
		f := v.Passes[Adversarial-1].Findings
		if v.Verdict != OK || len(f) != 1 || f[0].State != state || v.Passes[Adversarial-1].Status != gates.Pass {
			t.Errorf("%s: %s %+v", state, v.Verdict, f)
		}
		if !strings.Contains(j.asked[0].Prompt, string(state)+" adversarial/logic shop.go:4: it is wrong (it is meant so)") {
			t.Error("the reviewer did not get the outcome (REV-09)")
		}
		if r := v.Reports()[Adversarial-1]; r.Findings[0].Severity != gates.Note ||
			!strings.HasPrefix(r.Findings[0].Message, string(state)) {
			t.Errorf("%+v", r.Findings)
		}
	}

	l := &Ledger{Branch: "b"}
	id := on(t, l, first, append(green(), says("lint:js", gates.Cheap, bad)), nil).Passes[0].Findings[0].ID
	for name, c := range map[string]struct{ id, reason, want string }{
		"a fact":          {id, "x", "cannot be refuted here"},
		"no such finding": {"ffff", "x", `finding "ffff" not found on b`},
		"no id":           {"", "x", `finding "" not found on b`},
		"no reason":       {id, " ", "needs a reason"},
	} {
		if _, err := l.Decide(c.id, Accepted, c.reason, at); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A branch on another base starts with round 1 again, and keeps the decisions.
func TestNewBaseRestartsRounds(t *testing.T) {
	l := &Ledger{Rounds: []Round{{Round: 3, Base: "a", Tree: "t", Calls: 1}}}
	for want, c := range map[int][2]string{1: {"b", "t"}, 3: {"a", "t"}, 4: {"a", "u"}} {
		if n, _ := l.round(c[0], c[1]); n != want {
			t.Errorf("%v: %d, want %d", c, n, want)
		}
	}
	if l.asked("a", "u") != 1 || l.asked("b", "u") != 0 || l.asked("a", "t") != 0 {
		t.Error("only rounds of the same base and of other trees count")
	}

	l = &Ledger{Branch: "b"}
	complains := &judge{answers: map[string]string{"": found("logic", "shop.go", 4, "error", "sum := first()")}}
	on(t, l, third, green(), approves())
	id := on(t, l, first, green(), complains).Passes[Adversarial-1].Findings[0].ID
	if _, err := l.Decide(id, Accepted, "it is meant so", time.Now()); err != nil {
		t.Fatal(err)
	}
	v := onBase(t, "another base", l, moved, green(), complains)
	if f := v.Passes[Adversarial-1].Findings; v.Round != 1 || v.Verdict != OK || len(f) != 1 || f[0].State != Accepted {
		t.Errorf("round %d: %s %+v", v.Round, v.Verdict, f)
	}
}

// The ledger is a readable file, and is the same after it is read back. A file that cannot be read is kept.
func TestLedgerFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reviews", LedgerName("feat/x"))
	l, err := ReadLedger(file, "feat/x")
	if err != nil || l.Branch != "feat/x" {
		t.Fatal(err)
	}
	on(t, l, first, green(),
		&judge{answers: map[string]string{"": found("logic", "shop.go", 4, "error", "sum := first()")}})
	if err := l.Write(file); err != nil {
		t.Fatal(err)
	}
	again, err := ReadLedger(file, "feat/x")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l, again); diff != "" {
		t.Error(diff)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "\n      \"snippet\": \"sum := first()\",\n") {
		t.Errorf("%s %v", text, err)
	}
	if ignore, err := os.ReadFile(filepath.Join(filepath.Dir(file), ".gitignore")); err != nil || string(ignore) != "*\n" {
		t.Errorf("%q %v", ignore, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLedger(file, "feat/x"); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Error(err)
	}
}

// Two branches have two files, for any names.
func TestLedgerName(t *testing.T) {
	seen := map[string]string{}
	for _, branch := range []string{"main", "feat/x", "feat-x", "feat_x", "..", ".", "", "Ä", strings.Repeat("a/b", 60),
		"a b"} {
		name := LedgerName(branch)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q share %s", branch, other, name)
		}
		seen[name] = branch
		if strings.ContainsAny(name, "/ ") || strings.HasPrefix(name, ".") || len(name) > 100 {
			t.Errorf("%q is kept in %q", branch, name)
		}
	}
	if LedgerName("main") != "main.json" {
		t.Error(LedgerName("main"))
	}
}

// A ledger has a maximum size: the oldest fixed findings are dropped first, open findings never.
func TestLedgerIsBounded(t *testing.T) {
	l := &Ledger{}
	for i := range mostEntries + 50 {
		state := Open
		if i%10 == 0 {
			state = Fixed
		}
		l.Findings = append(l.Findings, Entry{ID: fmt.Sprint(i), State: state})
	}
	for i := range mostRounds + 7 {
		l.Rounds = append(l.Rounds, Round{Round: i + 1})
	}
	l.trim()
	open := lists.Count(l.Findings, func(e Entry) bool { return e.State == Open })
	if len(l.Findings) != mostEntries || open != 495 || len(l.Rounds) != mostRounds || l.Rounds[0].Round != 8 {
		t.Errorf("%d findings, %d open, %d rounds", len(l.Findings), open, len(l.Rounds))
	}
}

// A finding of a program is fixed if the program runs again and does not find it, or if its line is gone. A program
// that was turned off fixes nothing, and an unproven finding of a reviewer is not kept.
func TestOnlyRecheckFixesFinding(t *testing.T) {
	hit := gates.Finding{Rule: "bandit/B602", Path: "shop.go", Line: 4, Severity: gates.Error, Message: "m"}
	for name, c := range map[string]struct {
		gate  gates.Gate
		after string
		want  State
	}{
		"it looked again":     {says("security:bandit", gates.Cheap), first + "\n", Fixed},
		"it was turned off":   {skips("security:bandit"), first + "\n", Open},
		"the gate is missing": {says("security:other", gates.Cheap), first + "\n", Open},
		"it could not run":    {cannot("security:bandit"), first + "\n", Open},
		"the gate was turned off, and the line was removed": {skips("security:bandit"), third, Fixed},
		"it could not run, line moved":                      {cannot("security:bandit"), moved, Open},
	} {
		l := &Ledger{Branch: "b"}
		on(t, l, first, append(green(), says("security:bandit", gates.Cheap, hit)), nil)
		v := on(t, l, c.after, append(green(), c.gate), nil)
		if l.Findings[0].State != c.want || len(v.Open) != 0 {
			t.Errorf("%s: %s, want %s (%v)", name, l.Findings[0].State, c.want, v.Open)
		}
	}

	l := &Ledger{Branch: "b"}
	v := on(t, l, first, green(),
		&judge{answers: map[string]string{"": found("logic", "shop.go", 4, "error", "not there at all")}})
	if f := v.Passes[Adversarial-1].Findings; len(f) != 1 || f[0].State != "" || len(l.Findings) != 0 {
		t.Errorf("%+v, %s", f, states(l))
	}
}

// A secret that a change adds is neither in the review nor in the ledger.
func TestReviewAndLedgerHideSecrets(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1B2", 9)
	l := &Ledger{Branch: "b"}
	leak := says("secrets", gates.Instant,
		gates.Finding{Rule: "secrets/github-token", Path: "shop.go", Line: 3, Severity: gates.Error, Message: "a token"})
	v := on(t, l, "package shop\n\nconst token = \""+key+"\"\n", append(green(), leak), nil)
	data, err := json.Marshal(struct {
		V Review
		L *Ledger
	}{v, l})
	if err != nil || strings.Contains(string(data), key) || !strings.Contains(string(data), "const token") {
		t.Errorf("%s %v", data, err)
	}
	on(t, l, "package shop\n", []gates.Gate{skips("secrets")}, nil)
	if states(l) != "secrets/github-token fixed 1-2" {
		t.Error(states(l))
	}
}
