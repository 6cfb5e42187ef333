package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
)

func TestApplyInsertsHunks(t *testing.T) {
	const parent = "a\nb\nc\nd\n"
	list := []hunk{{from: 1, n: 0, new: []string{"x\n"}}, {from: 3, n: 2, new: []string{"y\n"}}}
	if got := apply(parent, list); got != "a\nx\nb\ny\n" {
		t.Errorf("%q", got)
	}
	if got := apply(parent, list[1:]); got == parent {
		t.Error("a hunk was left out")
	}
}

func TestDistanceCountsAddedAndRemovedLines(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"a b c", "a b c", 0}, {"a b c", "a x c", 2}, {"a b c", "a c", 1}, {"", "a b", 2}, {"a b c d", "b x d", 3}} {
		if got := distance(strings.Fields(c.a), strings.Fields(c.b)); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestReadGoDistinguishesFailuresByMessage(t *testing.T) {
	const out = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: got 1, want 2 (0.01s)\n"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0.01}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p","Elapsed":1.5}
`
	a, b := readGo(out), readGo(
		strings.ReplaceAll(strings.ReplaceAll(out, "a_test.go:7", "a_test.go:9"), "0.01s", "0.02s"))
	if diff := cmp.Diff(a, b); diff != "" || !a.Built || a.Took != 1.5 || a.Tests.of("p TestB") != "" ||
		a.Tests.of("p TestA") == "" {
		t.Errorf("%+v\n%s", a, diff)
	}
	if c := readGo(strings.ReplaceAll(out, "got 1", "got 3")); c.Tests["p TestA"] == a.Tests["p TestA"] {
		t.Error("another failure looks the same")
	}
	if readGo(`{"Action":"build-fail","ImportPath":"p"}`).Built {
		t.Error("it was not built")
	}
}

// example returns a commit with five candidates of different kinds.
func example() commitCase {
	tests := func(red string) outcomes { return outcomes{"old": "", "red": red} }
	return commitCase{
		fix: fix{commit: "1234"}, lang: gates.LangGo, red: []string{"red"}, guard: []string{"old"}, base: tests("as before"),
		candidates: []candidate{
			{kind: truth, diff: 9, tests: tests("")}, {kind: near, diff: 2, tests: tests("other")},
			{kind: noise, diff: 1, tests: tests("as before")},
			{kind: partial, diff: 8, tests: tests("")}, {kind: mutated, diff: 9, tests: outcomes{"old": "broken", "red": ""}},
		},
	}
}

func TestContestAdmitsOnlyPassingCandidates(t *testing.T) {
	c := example()
	x, ok := c.contest(setting{own: 1}, 1)
	if !ok || len(x.right) != 4 {
		t.Fatalf("%+v", x)
	}
	got := map[string]float64{}
	for _, way := range choices() {
		got[way.name] = way.odds(x)
	}
	if got["random"] != 0.5 || got["smallest diff"] != 0 || got["score without evidence"] != 0 || got["score"] != 1 ||
		got["oracle"] != 1 {
		t.Error(got)
	}
	if again, _ := c.contest(setting{own: 1}, 1); !cmp.Equal(x, again, cmp.AllowUnexported(contest{})) {
		t.Error("the same seed gives another tournament")
	}
	if _, ok := c.contest(setting{held: 0.5}, 1); ok {
		t.Error("one test cannot be shared out")
	}
}
