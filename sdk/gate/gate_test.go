package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/sdk/gate"
	"github.com/runplan/runplan/sdk/gate/gatetest"
)

// fake is a gate that answers with a function.
type fake func(context.Context, gate.Subject) (gate.Report, error)

func (fake) Info() gate.Info { return gate.Info{Name: "fake"} }

func (f fake) Check(ctx context.Context, s gate.Subject) (gate.Report, error) { return f(ctx, s) }

func one() gatetest.Case {
	return gatetest.Case{Files: map[string]string{"a.go": "package a\n"}}
}

func TestSubjectAndReportArriveWhole(t *testing.T) {
	batch := &gate.Batch{Key: "3", Number: "3b", Title: "Count", Files: gate.Files{Create: []string{"a"},
		Modify: []string{"b"}, Test: []string{"c"}, Delete: []string{"d"}}}
	c := gatetest.Case{Files: map[string]string{"a.go": "x"}, Changed: []string{"a.go", "gone.go"}, Base: "b45e",
		Batch: batch, Before: &gate.TestCount{Passed: 3, Failed: 2, Skipped: 1}}
	want := gate.Report{Status: gate.Warn, Note: "n", Output: "o", Tests: &gate.TestCount{Passed: 1, Failed: 2, Skipped: 3},
		Findings: []gate.Finding{
			{Rule: "r", Path: "a.go", Line: 4, Col: 5, Severity: gate.Warning, Message: "m", Fix: "f"},
			{Rule: "s", Severity: gate.Note, Message: "not UTF-8: \xff"}}}
	var got gate.Subject
	rep := gatetest.Look(t, fake(func(_ context.Context, s gate.Subject) (gate.Report, error) {
		got = s
		return want, nil
	}), c)
	want.Findings[1].Message = "not UTF-8: \uFFFD"
	if d := cmp.Diff(want, rep); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	if _, err := os.Stat(filepath.Join(got.Dir, "a.go")); err != nil {
		t.Errorf("the tree of the case is missing: %v", err)
	}
	if d := cmp.Diff(gate.Subject{Dir: got.Dir, Base: c.Base, Changed: c.Changed, Batch: c.Batch, Before: c.Before,
		Timeout: time.Minute}, got); d != "" {
		t.Errorf("subject (-want +got):\n%s", d)
	}
}

func TestUnknownChangesAreNil(t *testing.T) {
	for unknown, c := range map[bool]gatetest.Case{true: {Unknown: true}, false: {Changed: []string{}}} {
		gatetest.Look(t, fake(func(_ context.Context, s gate.Subject) (gate.Report, error) {
			if (s.Changed == nil) != unknown {
				t.Errorf("unknown %v: changed is %#v", unknown, s.Changed)
			}
			return gate.Report{Status: gate.Pass}, nil
		}), c)
	}
}

// A gate that cannot run says why, and what it says reaches the user.
func TestRefusals(t *testing.T) {
	pass := fake(func(context.Context, gate.Subject) (gate.Report, error) { return gate.Report{Status: gate.Pass}, nil })
	for name, c := range map[string]struct {
		gate     gate.Gate
		settings map[string]any
		want     string
	}{
		"an error": {gate: fake(func(context.Context, gate.Subject) (gate.Report, error) {
			return gate.Report{}, errors.New("the server is away")
		}), want: "the server is away"},
		"a panic": {gate: fake(func(context.Context, gate.Subject) (gate.Report, error) { panic("upside down") }),
			want: "it panicked: upside down"},
		"no status": {gate: fake(func(context.Context, gate.Subject) (gate.Report, error) { return gate.Report{}, nil }),
			want: "the report has no status; it must be pass, fail, warn or skipped"},
		"settings for a gate that has none": {gate: pass, settings: map[string]any{"word": "a"},
			want: "settings: the gate has none"},
		"wrong settings": {gate: &strict{fake: pass}, settings: map[string]any{"word": "wrong"},
			want: "settings: word is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			c1 := one()
			c1.Settings = c.settings
			if err := gatetest.Refusal(t, c.gate, c1); err.Error() != c.want {
				t.Errorf("it says %q, want %q", err, c.want)
			}
		})
	}
}

// strict is a gate with settings. It counts how often it is configured.
type strict struct {
	fake
	configured int
}

func (s *strict) Configure(settings json.RawMessage) error {
	s.configured++
	var c struct{ Word string }
	if err := json.Unmarshal(settings, &c); err != nil {
		return err
	}
	if c.Word == "wrong" {
		return errors.New("word is wrong")
	}
	return nil
}

func TestSettingsReachTheGateOnce(t *testing.T) {
	g := &strict{fake: func(context.Context, gate.Subject) (gate.Report, error) {
		return gate.Report{Status: gate.Pass}, nil
	}}
	gatetest.Look(t, g, one()) // which asks for the description and for a report
	if g.configured != 1 {
		t.Errorf("Configure was called %d times", g.configured)
	}
}

// A tree that is gone is an error, whatever the gate makes of it.
func TestMissingTree(t *testing.T) {
	g := fake(func(context.Context, gate.Subject) (gate.Report, error) { return gate.Report{Status: gate.Pass}, nil })
	c := one()
	c.Dir = filepath.Join(t.TempDir(), "none")
	if err := gatetest.Refusal(t, g, c); !strings.Contains(err.Error(), "read the tree: ") {
		t.Errorf("it says %q", err)
	}
}

// bad has gates that break one rule of [gatetest.Conform] each, and what it says about them.
var bad = map[string]struct {
	gate gate.Gate
	want string
}{
	"changes the tree": {fake(func(_ context.Context, s gate.Subject) (gate.Report, error) {
		return gate.Report{Status: gate.Pass}, os.WriteFile(filepath.Join(s.Dir, "new"), nil, 0o644)
	}), "it changed the tree"},
	"passes with an error": {answer(gate.Pass, gate.Finding{Rule: "r", Message: "m", Severity: gate.Error}),
		"status is pass; a finding at severity error: true"},
	"fails without an error": {answer(gate.Fail), "status is fail; a finding at severity error: false"},
	"skips without a reason": {answer(gate.Skipped), "it was skipped without a reason"},
	"an unknown severity": {answer(gate.Warn, gate.Finding{Rule: "r", Message: "m", Severity: "grave"}),
		"a finding without a severity that runplan knows"},
	"a path outside the tree": {answer(gate.Warn, gate.Finding{Rule: "r", Message: "m", Path: "../a",
		Severity: gate.Warning}), `path is "../a"`},
	"control codes": {answer(gate.Warn, gate.Finding{Rule: "r", Message: "\x1b[31m", Severity: gate.Warning}),
		"control codes or broken text"},
	"rejects its settings": {&strict{fake: answer(gate.Pass)}, "it rejects the settings of the case"},
}

func answer(status gate.Status, findings ...gate.Finding) fake {
	return func(context.Context, gate.Subject) (gate.Report, error) {
		return gate.Report{Status: status, Findings: findings}, nil
	}
}

// TestConformFinds runs the suite on each bad gate, in a process whose tests have to fail.
func TestConformFinds(t *testing.T) {
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestBad$")
			cmd.Env = append(os.Environ(), "BAD_GATE="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("the suite says (%v), want %q:\n%s", err, c.want, out)
			}
		})
	}
}

// TestBad is the process of [TestConformFinds].
func TestBad(t *testing.T) {
	c, ok := bad[os.Getenv("BAD_GATE")]
	if !ok {
		t.Skip("TestConformFinds runs it")
	}
	cases := one()
	if _, ok := c.gate.(*strict); ok {
		cases.Settings = map[string]any{"word": "wrong"}
	}
	gatetest.Conform(t, cases, func() gate.Gate { return c.gate })
}

func TestConformAcceptsGoodGates(t *testing.T) {
	finding := gate.Finding{Rule: "r", Path: "a.go", Line: 1, Message: "m", Severity: gate.Error}
	gatetest.Conform(t, one(), func() gate.Gate { return answer(gate.Fail, finding) })
	gatetest.Conform(t, one(), func() gate.Gate { return answer(gate.Pass) })
}
