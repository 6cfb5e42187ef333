package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// plan builds a plan from lines such as "2 after 1, 3". The words "empty", "done" and "open" describe the batch,
// "when: …" is its condition, and "as 2" its number if that differs from its key. Each batch is ten lines long.
func plan(t *testing.T, lines ...string) *planparse.Plan {
	t.Helper()
	p := &planparse.Plan{}
	for i, line := range lines {
		line, when, _ := strings.Cut(line, " when: ")
		key, rest, _ := strings.Cut(line, " ")
		b := planparse.Batch{Key: key, Number: key, Title: "batch " + key, When: when, StartLine: 10 * (i + 1),
			Tasks: []planparse.Task{{}}}
		for words := strings.Fields(strings.ReplaceAll(rest, ",", " ")); len(words) > 0; words = words[1:] {
			switch words[0] {
			case "empty":
				b.Empty, b.Tasks = true, nil
			case "done":
				b.Tasks = []planparse.Task{{Done: true}, {Done: true}}
			case "open":
				b.Tasks = []planparse.Task{{Done: true}, {}}
			case "as":
				b.Number, words = words[1], words[1:]
			case "after":
				b.DependsOn, words = words[1:], words[:1]
			default:
				t.Fatalf("what is %q?", words[0])
			}
		}
		p.Batches = append(p.Batches, b)
	}
	return p
}

// story returns a decision as text such as "1; 2 needs 1; 3 (why it is skipped)".
func story(d Decision) string {
	var out []string
	for _, s := range d.Steps {
		text := s.Batch
		if len(s.Needs) > 0 {
			text += " needs " + strings.Join(s.Needs, ",")
		}
		if s.Skip != "" {
			text += " (" + s.Skip + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

const outside, ticked = "outside --from/--to", "all of it is ticked off in the plan"

func TestDecide(t *testing.T) {
	tests := map[string]struct {
		plan     []string
		from, to string
		env      map[string]string
		want     string
	}{
		"one batch": {plan: []string{"1"}, want: "1"},
		"one after the other, as the plan has it": {plan: []string{"1", "2", "10", "3"},
			want: "1; 2 needs 1; 10 needs 2; 3 needs 10"},
		"what it depends on is in the chain already": {plan: []string{"1", "2 after 1", "3 after 1"},
			want: "1; 2 needs 1; 3 needs 1,2"},
		"a batch waits for one further down in the plan": {plan: []string{"1 after 3", "2", "3"},
			want: "1 needs 3; 2; 3 needs 2"},
		"dependencies against the order of the plan": {plan: []string{"1 after 2", "2 after 3", "3"},
			want: "1 needs 2; 2 needs 3; 3"},
		"a diamond": {plan: []string{"1", "2 after 1", "3 after 1", "4 after 2, 3"},
			want: "1; 2 needs 1; 3 needs 1,2; 4 needs 2,3"},
		"an empty batch": {plan: []string{"1", "2 empty", "3"}, want: "1; 2 (" + EmptyNote +
			"); 3 needs 1"},
		"a batch that is ticked off": {plan: []string{"1 done", "2 open", "3"}, want: "1 (" + ticked +
			"); 2; 3 needs 2"},
		"a batch that needs a skipped one": {plan: []string{"1 done", "2 after 1", "3"}, want: "1 (" + ticked +
			"); 2 needs 1; 3 needs 2"},
		"nothing is left to do": {plan: []string{"1 done", "2 empty"}, want: "1 (" + ticked + "); 2 (" +
			EmptyNote + ")"},
		"a condition that holds": {plan: []string{"1 when: true", "2"}, want: "1; 2 needs 1"},
		"a condition that does not hold": {plan: []string{"1", "2 when: env.CI == 'yes'", "3"},
			want: "1; 2 (its condition is false: env.CI == 'yes'); 3 needs 1"},
		"a condition that the environment meets": {plan: []string{"1", "2 when: env.CI == 'yes'"},
			env: map[string]string{"CI": "yes"}, want: "1; 2 needs 1"},
		"from a batch on": {plan: []string{"1", "2", "3"}, from: "2", want: "1 (" + outside +
			"); 2; 3 needs 2"},
		"up to a batch": {plan: []string{"1", "2", "3"}, to: "2", want: "1; 2 needs 1; 3 (" +
			outside + ")"},
		"one batch of many": {plan: []string{"1", "2", "3"}, from: "2", to: "2", want: "1 (" +
			outside + "); 2; 3 (" + outside + ")"},
		"bounds as people say them": {plan: []string{"1", "2", "3"}, from: "B2", to: "b3", want: "1 (" +
			outside + "); 2; 3 needs 2"},
		"a batch whose number begins with B": {plan: []string{"B1", "1", "b2"}, from: "B1", to: "B1",
			want: "B1; 1 (" + outside + "); b2 (" + outside + ")"},
		"a bound by number, where the key is another": {plan: []string{"P5-2 as P5/2", "x as P5/3"}, from: "P5/3",
			want: "P5-2 (" + outside + "); x"},
		"a number twice: the key tells which": {plan: []string{"3", "3-2 as 3", "4"}, from: "3-2", to: "3-2",
			want: "3 (" + outside + "); 3-2; 4 (" + outside + ")"},
		"a number twice: the first one is meant": {plan: []string{"2", "3", "3-2 as 3"}, from: "3", to: "3",
			want: "2 (" + outside + "); 3; 3-2 (" + outside + ")"},
		"a key goes before a number": {plan: []string{"7-2 as 9", "8", "9"}, from: "9", want: "7-2 (" +
			outside + "); 8 (" + outside + "); 9"},
		"no condition is asked outside of the bounds": {plan: []string{"1 when: nonsense(", "2"}, from: "2", want: "1 (" +
			outside + "); 2"},
		"a plan without batches": {want: ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := plan(t, tt.plan...)
			o := Options{From: tt.from, To: tt.to, Env: tt.env}
			d, err := Decide(p, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, story(d)); diff != "" {
				t.Error(diff)
			}
			if d.Mode != Headless || d.Workers != 1 || len(d.Reasons) == 0 {
				t.Errorf("%s with %d workers, because %v", d.Mode, d.Workers, d.Reasons)
			}
			if again, err := Decide(p, o); err != nil || !cmp.Equal(d, again) {
				t.Error("asked again, the decision differs")
			}
			runnable(t, d)
		})
	}
}

// runnable checks that the batches can run in exactly one order: at each step exactly one batch is ready.
func runnable(t *testing.T, d Decision) {
	t.Helper()
	over := map[string]bool{}
	left := 0
	for _, s := range d.Steps {
		over[s.Batch] = s.Skip != ""
		if s.Skip == "" {
			left++
		}
	}
	for ; left > 0; left-- {
		var ready []string
		for _, s := range d.Steps {
			if !over[s.Batch] && !slices.ContainsFunc(s.Needs, func(n string) bool { return !over[n] }) {
				ready = append(ready, s.Batch)
			}
		}
		if len(ready) != 1 {
			t.Fatalf("%d batches are left, and %v can be run", left, ready)
		}
		over[ready[0]] = true
	}
}

func TestDecideRefusesInvalidInput(t *testing.T) {
	tests := map[string]struct {
		plan     []string
		from, to string
		when     string // of the whole plan
		want     []string
	}{
		"a missing first batch": {plan: []string{"1", "2"}, from: "7",
			want: []string{"--from 7: the plan has no such batch; it has 1, 2"}},
		"a missing last batch": {plan: []string{"1", "2-2"}, to: "B9",
			want: []string{"--to B9: the plan has no such batch; it has 1, 2-2"}},
		"no number at all": {plan: []string{"x as"}, from: "B",
			want: []string{"--from B: the plan has no such batch"}},
		"bounds the wrong way round": {plan: []string{"1", "2"}, from: "2", to: "1",
			want: []string{"--from 2 is after --to 1"}},
		"a cycle":                       {plan: []string{"1 after 2", "2 after 1"}, want: []string{"cycle"}},
		"a batch that waits for itself": {plan: []string{"1", "2 after 2"}, want: []string{"cycle"}},
		"a missing batch": {plan: []string{"1", "2 after 9"},
			want: []string{"line 20: batch 2 depends on 9"}},
		"a condition with a wrong name": {plan: []string{"1", "2 when: batch.titel == 'x'"},
			want: []string{"line 20: batch 2: when: ", "titel", "batch.titel == 'x'", "^"}},
		"a condition of the plan": {plan: []string{"1"}, when: "batch.tasks",
			want: []string{"when: ", "batch.tasks"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lines := slices.Clone(tt.plan)
			for i := range lines {
				lines[i] = strings.TrimSuffix(lines[i], " as")
			}
			p := plan(t, lines...)
			if strings.HasSuffix(tt.plan[0], " as") {
				p.Batches[0].Number = ""
			}
			p.Header.When = tt.when
			d, err := Decide(p, Options{From: tt.from, To: tt.to})
			if err == nil {
				t.Fatalf("decided on %s", story(d))
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// The condition of the plan applies to each batch, in addition to the batch's own condition.
func TestPlanConditionAppliesToBatches(t *testing.T) {
	p := plan(t, "1", "2 when: batch.number == '2'", "3 when: false")
	p.Header.When = "batch.number != '1'"
	d, err := Decide(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "1 (its condition is false: batch.number != '1'); 2; 3 (its condition is false: false)"
	if diff := cmp.Diff(want, story(d)); diff != "" {
		t.Error(diff)
	}
}

// Decide accepts a plan exactly as the parser returns it.
func TestDecideAcceptsParsedPlan(t *testing.T) {
	p, err := planparse.Parse("plan.md",
		[]byte(
			"# Plan\n\n## Batch 1: One\n\n### Task 1: a\n\n- [ ] a\n\n## Batch 2: Two\n\n## Batch 3: Three\ndepends_on: "+
				"[batch-1]\n\n### Task 1: b\n\n- [x] b\n\n## Batch 4: Four\nwhen: env.DEPLOY == \"1\"\n\n### Task 1: c\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decide(p, Options{Env: map[string]string{"DEPLOY": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "1; 2 (" + EmptyNote + "); 3 needs 1 (" + ticked + "); 4 needs 1"
	if diff := cmp.Diff(want, story(d)); diff != "" {
		t.Error(diff)
	}
}

// If a plan splits batch 2 into 2a and 2b, --from 2 starts with the first part and --to 2 ends with the last one.
func TestRangeIncludesSplitBatches(t *testing.T) {
	text := ""
	for _, number := range []string{"1", "2a", "2b", "3.1", "3.2", "22"} {
		text += "## Batch " + number + ": Part\n\n### Task 1: a\n\n- [ ] a\n\n"
	}
	p := parsed(t, text)
	for name, want := range map[string][2]string{"2 to 2": {"2a", "2b"}, "B2 to 3": {"2a", "3.2"},
		"2b to 3.1": {"2b", "3.1"},
		"3 to 22":   {"3.1", "22"}} {
		from, to, _ := strings.Cut(name, " to ")
		first, last, err := bounds(p, Options{From: from, To: to})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := [2]string{p.Batches[first].Key, p.Batches[last].Key}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"4", "B", "2c"} {
		if _, _, err := bounds(p, Options{From: name}); err == nil {
			t.Errorf("--from %s found a batch", name)
		}
	}
}

func TestHolds(t *testing.T) {
	b := &planparse.Batch{
		Number: "4b", Title: "Add the API", Tasks: make([]planparse.Task, 3), Critical: true,
		Files: planparse.Files{Create: []string{"a", "b"}, Modify: []string{"c"}, Test: []string{"d", "e", "f"},
			Delete: []string{"g"}},
		Commands: make([]planparse.Command, 5),
	}
	facts := FactsOf(b, map[string]string{"CI": "true", "DEPLOY-TO": "prod"})
	for condition, want := range map[string]bool{
		"true": true, "false": false, "!true": false,
		`batch.number == "4b"`: true, `batch.title contains "API"`: true, `batch.title matches "^Add"`: true,
		"batch.tasks == 3": true,
		"batch.creates == 2 && batch.modifies == 1 && batch.tests == 3 && batch.deletes == 1 && batch.commands == 5": true,
		"batch.critical": true, "not batch.critical": false, "batch.creates > 2 or batch.deletes > 0": true,
		`env.CI == "true"`: true, `env["DEPLOY-TO"] == "prod"`: true, `env.MISSING == ""`: true, `"MISSING" in env`: false,
		`"CI" in env`: true,
	} {
		if got, err := Holds(condition, facts); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", condition, got, err, want)
		}
	}
	if got, err := Holds(`env.CI == ""`, FactsOf(b, nil)); !got || err != nil {
		t.Errorf("without an environment: %v, %v", got, err)
	}
}

// An invalid condition is refused with its text and never counts as true or false.
func TestHoldsRefusesInvalidCondition(t *testing.T) {
	for condition, want := range map[string]string{
		"batch.nubmer == '1'": "nubmer", "batches == 1": "batches", "envs.CI": "envs", "batch.tasks": "yes or no",
		`"true"`: "yes or no", "env.CI": "yes or no", "nil": "yes or no",
		"batch.tasks == ": "unexpected", "batch.tasks = 3": "", "": "", "batch.title > 3": "", "1 / 0 == 1 &&": "unexpected",
		"exec('ls')":              "exec",
		`batch.title matches "["`: "", "batch": "yes or no",
	} {
		got, err := Holds(condition, Facts{Env: map[string]string{}})
		if err == nil || got {
			t.Errorf("%s holds: %v, %v; want an error", condition, got, err)
			continue
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("%q", condition)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want the condition and %q", condition, err, want)
		}
	}
	if _, err := Holds("batch.tasks == 1 && batch.nubmer", Facts{}); err == nil || !strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "^") {
		t.Errorf("%v; want the place", err)
	}
}

func BenchmarkDecide(b *testing.B) {
	const n = 1000
	for name, depends := range map[string]func(i int) []string{
		"no dependencies":      func(int) []string { return nil },
		"a chain":              func(i int) []string { return []string{fmt.Sprint(max(i-1, 0))} },
		"a chain, upside down": func(i int) []string { return []string{fmt.Sprint(i + 1)} },
		"a condition each":     nil,
	} {
		p := &planparse.Plan{}
		for i := range n {
			batch := planparse.Batch{Key: fmt.Sprint(i), Number: fmt.Sprint(i), Tasks: []planparse.Task{{}}}
			if depends == nil {
				batch.When = "env.CI != 'x' && batch.tasks > 0"
			} else if batch.DependsOn = depends(i); i == 0 || i == n-1 {
				batch.DependsOn = slices.DeleteFunc(batch.DependsOn,
					func(d string) bool { return d == batch.Key || d == fmt.Sprint(n) })
			}
			p.Batches = append(p.Batches, batch)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Decide(p, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
