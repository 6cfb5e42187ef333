package gates

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/planparse"
)

// A gate runs only if all conditions for it, or for its family, are true.
func TestGateRunsUnderConditions(t *testing.T) {
	dir := tree(t, nil)
	for name, c := range map[string]struct {
		when   map[string]string
		s      Subject
		status Status
		note   string
	}{
		"no condition for it":    {map[string]string{"tests": "false"}, Subject{}, Pass, ""},
		"a name that it extends": {map[string]string{"lin": "false"}, Subject{}, Pass, ""},
		"its own": {map[string]string{"lint:own": `gate == "lint:own" && batch == "4"`},
			Subject{Batch: planparse.Batch{Number: "4"}}, Pass, ""},
		"its family": {map[string]string{"lint": `batch != ""`}, Subject{}, Skipped, `only when batch != ""`},
		"two": {map[string]string{"lint": `true`, "lint:own": `env.MODE == "slow"`}, Subject{Env: []string{"MODE=fast=x"}},
			Skipped, "only when env.MODE"},
		"a variable": {map[string]string{"lint": `env.MODE == "a=b"`}, Subject{Env: []string{"MODE=a=b", "X"}},
			Pass, ""},
		"a changed file": {map[string]string{"lint": `"a.go" in changed && !all`},
			Subject{Changed: []string{"a.go"}}, Pass, ""},
		"nothing changed":     {map[string]string{"lint": `all`}, Subject{Changed: []string{}}, Skipped, "only when all"},
		"changes are unknown": {map[string]string{"lint": `all && len(changed) == 0`}, Subject{}, Pass, ""},
	} {
		s := Settings{Commands: []CommandGate{{Name: "lint:own", Command: []string{"true"}}}}
		for gate, text := range c.when {
			when, err := ParseWhen(gate, text)
			if err != nil {
				t.Fatal(err)
			}
			s.When = append(s.When, when)
		}
		c.s.Dir = dir
		if c.s.Env != nil {
			c.s.Env = append(os.Environ(), c.s.Env...)
		}
		rep, err := find(t, Builtin(dir, s), "lint:own").Check(t.Context(), c.s)
		if err != nil || rep.Status != c.status || !strings.Contains(rep.Note, c.note) || rep.Gate != "lint:own" ||
			rep.Command != "true" {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
	if _, err := ParseWhen("lint", "no_such_name"); err == nil {
		t.Error("an unknown name is no error")
	}
}

// The configuration changes severities; the last rule that matches counts, and the status follows.
func TestConfiguredSeverities(t *testing.T) {
	errs := []Finding{{Rule: "vet", Path: "a.go", Line: 3, Severity: Error, Message: "m", Test: "T"}}
	for name, c := range map[string]struct {
		overrides []string // SEVERITY: CONDITION
		findings  []Finding
		status    Status
		want      []string
		note      string
	}{
		"none matches": {[]string{`info: path == "b.go"`}, errs, Fail, []string{"a.go:3:0 error vet m"}, ""},
		"each fact": {[]string{`warning: rule == "lint/vet" && path == "a.go" && line == 3 && severity == "error" && ` +
			`message == "m" && test == "T" && gate == "lint:go" && env.HOME == "h"`}, errs, Warn,
			[]string{"a.go:3:0 warning vet m"}, "the configuration sets the severity of 1 of 1 findings"},
		"the last counts": {[]string{`info: true`, `warning: true`}, errs, Warn, []string{"a.go:3:0 warning vet m"},
			"1 of 1"},
		"the same severity": {[]string{`error: true`}, errs, Fail, []string{"a.go:3:0 error vet m"}, ""},
		"a rule that has the family": {[]string{`info: rule == "lint/x"`}, []Finding{{Rule: "lint/x", Severity: Warning},
			{Rule: "y", Severity: Note}}, Pass, []string{":0:0 info lint/x ", ":0:0 info y "}, "1 of 2"},
		"a note that blocks": {[]string{`error: severity == "info"`}, []Finding{{Rule: "y", Severity: Note},
			{Rule: "z", Severity: Warning}}, Fail, []string{":0:0 error y ", ":0:0 warning z "}, "1 of 2"},
	} {
		var s Settings
		for _, text := range c.overrides {
			severity, condition, _ := strings.Cut(text, ": ")
			o, err := ParseOverride(condition, severity)
			if err != nil {
				t.Fatal(err)
			}
			s.Overrides = append(s.Overrides, o)
		}
		g := New(Info{Name: "lint:go"}, func(_ context.Context, l *Look) error {
			for _, f := range c.findings {
				l.Find(f)
			}
			return nil
		})
		rep, err := underConditions([]Gate{g}, s)[0].Check(t.Context(), Subject{Dir: tree(t, nil), Env: []string{"HOME=h"}})
		if d := cmp.Diff(c.want, said(rep.Findings)); d != "" || err != nil || rep.Status != c.status ||
			!strings.Contains(rep.Note, c.note) || (rep.Note == "") != (c.note == "") {
			t.Errorf("%s: %s %s %q, %v", name, d, rep.Status, rep.Note, err)
		}
	}
	if _, err := ParseOverride("true", "fatal"); err == nil || !strings.Contains(err.Error(),
		"must be error, warning or info") {
		t.Error(err)
	}
	if _, err := ParseOverride("no_such_name", "info"); err == nil {
		t.Error("an unknown name is no error")
	}
}
