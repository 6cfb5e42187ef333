package gates

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fixed is a gate that returns a fixed report or error.
type fixed struct {
	info Info
	rep  Report
	err  error
	boom bool
}

func (f fixed) Info() Info { return f.info }
func (f fixed) Check(context.Context, Subject) (Report, error) {
	if f.boom {
		panic("boom")
	}
	return f.rep, f.err
}

func gate(name string, cost Cost, status Status) fixed {
	f := fixed{info: Info{Name: name, Kind: Static, Cost: cost, Blocking: true}, rep: Report{Status: status}}
	if status == Fail {
		f.rep.Findings = []Finding{{Rule: "r", Path: "a.go", Line: 3, Severity: Error, Message: name + " says no"}}
	}
	return f
}

func (f fixed) advisory() fixed { f.info.Blocking = false; return f }
func (f fixed) counts(passed, failed int) fixed {
	f.rep.Tests = &TestCount{Passed: passed, Failed: failed}
	return f
}

// A gate can read how long the test suites before it took.
func TestGateGetsEarlierReports(t *testing.T) {
	var got []string
	last := New(Info{Name: "last", Cost: Dear}, func(_ context.Context, l *Look) error {
		for _, r := range l.Subject().Earlier {
			if r.Duration <= 0 {
				t.Errorf("%s has no duration", r.Gate)
			}
			got = append(got, r.Gate)
		}
		return nil
	})
	if _, err := Run(t.Context(), []Gate{last, gate("tests:go", Costly, Pass), gate("lint:go", Cheap, Pass)},
		Subject{Dir: t.TempDir()}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lint:go", "tests:go"}, got); diff != "" {
		t.Error(diff)
	}
}

// A skip of a quiet gate is marked, also where another gate failed first.
func TestSkipsOfQuietGatesAreMarked(t *testing.T) {
	quiet := func(s Status) Gate {
		f := gate("quiet", Dear, s)
		f.info.Quiet = true
		return f
	}
	for name, c := range map[string]struct {
		list []Gate
		want bool
	}{
		"it skips itself":      {[]Gate{quiet(Skipped)}, true},
		"another failed first": {[]Gate{gate("t", Costly, Fail), quiet(Pass)}, true},
		"it ran":               {[]Gate{quiet(Warn)}, false},
		"it is not quiet":      {[]Gate{gate("x", Dear, Skipped)}, false},
	} {
		v, err := Run(t.Context(), c.list, Subject{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Reports[len(v.Reports)-1].Quiet; got != c.want {
			t.Errorf("%s: quiet is %v", name, got)
		}
	}
}

func TestPipelineOrder(t *testing.T) {
	cases := map[string]struct {
		gates  []Gate
		before *TestCount
		want   []string
		status Status
	}{
		"cheap gates go first, and equals keep their order": {
			gates:  []Gate{gate("t", Costly, Pass), gate("l2", Cheap, Pass), gate("l1", Cheap, Warn), gate("i", Instant, Pass)},
			want:   []string{"i pass", "l2 pass", "l1 warn", "t pass"},
			status: Warn,
		},
		"a failure stops gates of higher cost classes, not those of the same one": {
			gates:  []Gate{gate("t", Costly, Pass), gate("l1", Cheap, Fail), gate("l2", Cheap, Pass)},
			want:   []string{"l1 fail", "l2 pass", "t skipped: l1 failed first"},
			status: Fail,
		},
		"a failure of an advisory gate warns": {
			gates:  []Gate{gate("l", Cheap, Fail).advisory(), gate("t", Costly, Pass)},
			want:   []string{"l warn: advisory: it failed but does not block", "t pass"},
			status: Warn,
		},
		"every gate was skipped": {
			gates: []Gate{gate("t", Costly, Skipped)}, want: []string{"t skipped: no reason given"}, status: Skipped,
		},
		"no gates": {want: nil, status: Skipped},
		"fewer tests fail the last gate that counts, and stop the dear ones": {
			gates:  []Gate{gate("a", Costly, Pass).counts(3, 0), gate("b", Costly, Pass).counts(4, 0), gate("d", Dear, Pass)},
			before: &TestCount{Passed: 8},
			want:   []string{"a pass", "b fail", "d skipped: b failed first"}, status: Fail,
		},
		"an equal number of tests is enough": {
			gates:  []Gate{gate("a", Costly, Pass).counts(3, 0), gate("b", Costly, Pass).counts(4, 0)},
			before: &TestCount{Passed: 7}, want: []string{"a pass", "b pass"}, status: Pass,
		},
		"with a suite left out counts cannot be compared": {
			gates:  []Gate{gate("a", Costly, Pass).counts(3, 0), gate("tests:x", Costly, Skipped)},
			before: &TestCount{Passed: 7},
			want: []string{
				"a pass: the number of tests is not compared, because tests:x was skipped",
				"tests:x skipped: no reason given",
			},
			status: Pass,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var seen, got []string
			line := func(r Report) string { return strings.TrimSuffix(r.Gate+" "+string(r.Status)+": "+r.Note, ": ") }
			v, err := Run(t.Context(), c.gates, Subject{Before: c.before}, func(r Report) { seen = append(seen, line(r)) })
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range v.Reports {
				got = append(got, line(r))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(got, seen); d != "" {
				t.Errorf("observed too early, or not at all:\n%s", d)
			}
			if v.Status != c.status || v.OK() != (c.status != Fail) {
				t.Errorf("status %s, ok %v", v.Status, v.OK())
			}
		})
	}
}

// meeting is a gate that returns only after another gate runs at the same time.
type meeting struct {
	fixed
	here, there chan struct{}
}

func (m meeting) Check(ctx context.Context, s Subject) (Report, error) {
	close(m.here)
	select {
	case <-m.there:
		return m.fixed.Check(ctx, s)
	case <-ctx.Done():
		return Report{}, context.Cause(ctx)
	}
}

// A program that cannot fail a tree runs at the same time as the next gate, and its report keeps its position.
func TestAdvisoryProgramsOverlapNextGate(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("one waits for the other"))
	defer cancel()
	a, b := make(chan struct{}), make(chan struct{})
	program := gate("patterns", Cheap, Pass).advisory()
	program.info.Pure, program.info.Command = true, "ast-grep scan"
	var seen []string
	v, err := Run(ctx, []Gate{gate("first", Instant, Pass), meeting{program, a, b},
		meeting{gate("tests", Costly, Pass), b, a}}, Subject{}, func(r Report) {
		seen = append(seen, r.Gate)
	})
	if err != nil || v.Status != Pass {
		t.Fatalf("%+v, error %v", v, err)
	}
	want := []string{"first", "patterns", "tests"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	for i, r := range v.Reports {
		if r.Gate != want[i] {
			t.Errorf("report %d is of %s", i, r.Gate)
		}
	}
	// A gate that cannot run ends the run, even if the next gate has finished.
	program.err = errors.New("blind")
	c := make(chan struct{})
	close(c)
	if _, err := Run(t.Context(),
		[]Gate{gate("first", Instant, Pass), meeting{program, make(chan struct{}), c}, gate("tests", Costly, Pass)},
		Subject{}, nil); err == nil {
		t.Error("a gate that could not run was passed over")
	}
}

// Gates without a program are done at once, so the next program begins while the early one still runs. A failure among
// them waits for it, and no later gate begins.
func TestAdvisoryProgramsOverlapNextProgram(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("one waits for the other"))
	defer cancel()
	program := gate("patterns", Cheap, Pass).advisory()
	program.info.Pure, program.info.Command = true, "ast-grep scan"
	tests := gate("tests", Costly, Pass)
	tests.info.Command = "go test ./..."
	for _, c := range []struct {
		between Status
		met     bool
		want    []string
	}{
		{Pass, true, []string{"first pass", "patterns pass", "between pass", "tests pass"}},
		{Skipped, true, []string{"first pass", "patterns pass", "between skipped", "tests pass"}},
		{Fail, false, []string{"first pass", "patterns pass", "between fail", "tests skipped"}},
	} {
		a, b := make(chan struct{}), make(chan struct{})
		if !c.met {
			close(b)
		}
		var seen, got []string
		v, err := Run(ctx, []Gate{gate("first", Instant, Pass), meeting{program, a, b}, gate("between", Cheap, c.between),
			meeting{tests, b, a}}, Subject{}, func(r Report) {
			seen = append(seen, r.Gate+" "+string(r.Status))
		})
		if err != nil {
			t.Fatalf("%s: %v", c.between, err)
		}
		for _, r := range v.Reports {
			got = append(got, r.Gate+" "+string(r.Status))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.between, diff)
		}
		if diff := cmp.Diff(c.want, seen); diff != "" {
			t.Errorf("%s: shown: %s", c.between, diff)
		}
	}
}

// crowd counts how many of its gates run at the same time.
type crowd struct {
	fixed
	running, most *atomic.Int32
	full          chan struct{} // closed when two of them run
}

func (c crowd) Check(ctx context.Context, s Subject) (Report, error) {
	n := c.running.Add(1)
	defer c.running.Add(-1)
	for old := c.most.Load(); n > old && !c.most.CompareAndSwap(old, n); old = c.most.Load() {
	}
	if n == maxSuites {
		select {
		case <-c.full:
		default:
			close(c.full)
		}
	}
	select {
	case <-c.full:
		return c.fixed.Check(ctx, s)
	case <-ctx.Done():
		return Report{}, context.Cause(ctx)
	}
}

// If all gates run, suites whose runner tests packages in parallel run two at a time.
func TestParallelSuitesRunInPairs(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("one waits for the other"))
	defer cancel()
	var running, most atomic.Int32
	full := make(chan struct{})
	list := []Gate{gate("first", Instant, Pass)}
	want := []string{"first"}
	for _, name := range []string{"tests:a", "tests:b", "tests:c", "tests:d"} {
		f := gate(name, Costly, Pass)
		f.info.Command, f.info.WithLinters, f.info.Parallel = "go test ./...", true, true
		list, want = append(list, crowd{f, &running, &most, full}), append(want, name)
	}
	v, blind, err := RunAll(ctx, list, Subject{}, nil)
	if err != nil || len(blind) > 0 || v.Status != Pass {
		t.Fatalf("%+v, %v, error %v", v, blind, err)
	}
	if most.Load() != maxSuites {
		t.Errorf("%d suites ran at the same time", most.Load())
	}
	for i, r := range v.Reports {
		if r.Gate != want[i] {
			t.Errorf("report %d is of %s", i, r.Gate)
		}
	}
}

func TestGateErrorGivesNoVerdict(t *testing.T) {
	cause := errors.New("no disk")
	bad := gate("x", Cheap, Pass)
	bad.err = cause
	v, err := Run(t.Context(), []Gate{gate("a", Instant, Pass), bad, gate("t", Costly, Pass)}, Subject{}, nil)
	var ge *GateError
	if !errors.As(err, &ge) || ge.Gate != "x" || !errors.Is(err, cause) || len(v.Reports) != 1 || v.OK() ||
		v.Status != "" {
		t.Errorf("%v %+v", err, v)
	}
	for name, g := range map[string]fixed{
		"panics":         {info: Info{Name: "p"}, boom: true},
		"unknown status": {info: Info{Name: "p"}, rep: Report{Status: "fine"}},
		"empty status":   {info: Info{Name: "p"}},
	} {
		if v, err := Run(t.Context(), []Gate{g}, Subject{}, nil); err == nil || v.OK() {
			t.Errorf("%s: %v %+v", name, err, v)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if v, err := Run(ctx, []Gate{gate("a", Instant, Pass)}, Subject{}, nil); !errors.Is(err, cause) || v.OK() {
		t.Errorf("cancelled: %v %+v", err, v)
	}
}

func TestRunSanitisesReports(t *testing.T) {
	g := gate("g", Cheap, Pass)
	g.rep.Findings = []Finding{{Rule: "r", Path: "/etc/passwd", Severity: Error, Message: "\x1b[31mred\x1b[0m SECRET"},
		{Rule: "s", Severity: "odd", Message: "m"}}
	g.rep.Output = strings.Repeat("é", maxOutput)
	v, err := Run(t.Context(), []Gate{g},
		Subject{Redact: func(s string) string { return strings.ReplaceAll(s, "SECRET", "***") }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rep := v.Reports[0]
	want := []Finding{{Rule: "r", Severity: Error, Message: "red ***"}, {Rule: "s", Severity: Error, Message: "m"}}
	if d := cmp.Diff(want, rep.Findings); d != "" || rep.Status != Fail || len(rep.Output) > maxOutput {
		t.Errorf("%s %d\n%s", rep.Status, len(rep.Output), d)
	}
	if g.rep.Findings[1].Severity != "odd" || g.rep.Findings[0].Path != "/etc/passwd" {
		t.Errorf("the findings that the gate keeps have changed: %+v", g.rep.Findings)
	}
	many := gate("g", Cheap, Warn)
	for range 500 {
		many.rep.Findings = append(many.rep.Findings, Finding{Rule: "w", Severity: Warning, Message: "m"})
	}
	many.rep.Findings = append(many.rep.Findings, Finding{Rule: "e", Severity: Error, Message: "m"})
	v, _ = Run(t.Context(), []Gate{many}, Subject{}, nil)
	if rep := v.Reports[0]; len(rep.Findings) != maxFindings || rep.Findings[0].Rule != "e" ||
		!strings.Contains(rep.Note, "301 more") {
		t.Errorf("%d findings, %s", len(rep.Findings), rep.Note)
	}
}

func TestFingerprint(t *testing.T) {
	one := func(msg string) string {
		return Verdict{Reports: []Report{{Gate: "t", Status: Fail,
			Findings: []Finding{{Rule: "test", Path: "a.go", Severity: Error, Message: msg}}}}}.Fingerprint()
	}
	a := one("TestX failed after 1.23s in /tmp/x123/y at 0xc000123: want 3, got 4")
	if b := one("TestX failed after 900ms in /var/folders/q/zz at 0xdeadbeef:  want 5, got 16"); a != b {
		t.Error("figures, durations, addresses or temporary paths tell two runs of one failure apart")
	}
	if a == one("TestY failed after 1.23s in /tmp/x123/y at 0xc000123: want 3, got 4") {
		t.Error("two failures look alike")
	}
	if (Verdict{Reports: []Report{{Status: Pass}}}).Fingerprint() != "" {
		t.Error("a verdict without a failure has a fingerprint")
	}
}

func TestDigest(t *testing.T) {
	exit := 1
	out := strings.Repeat("compiling something\n", 400) + "thread panicked: index out of range\nat src/a.go\n" +
		strings.Repeat("more noise\n", 400) + "1 failed, 2 passed\n"
	v := Verdict{Status: Fail, Reports: []Report{
		{Gate: "lint:go", Status: Pass},
		{Gate: "lint:sh", Status: Warn,
			Findings: []Finding{{Rule: "SC1", Path: "a.sh", Line: 2, Severity: Warning, Message: "quote it"}}},
		{
			Gate: "tests:go", Status: Fail, Command: "go test ./...", Exit: &exit, Tests: &TestCount{2, 1, 0}, Output: out,
			Findings: []Finding{{Rule: "test", Path: "a_test.go", Line: 7, Severity: Error, Message: "TestOne: one is not 1"}},
		},
		{Gate: "review", Status: Skipped, Note: "tests:go failed first"},
	}}
	got := Digest(v, 1000)
	for _, want := range []string{
		"## tests:go: FAILED", "$ go test ./...  (exit 1)", "- a_test.go:7: TestOne: one is not 1 [test]",
		"index out of range",
		"1 failed, 2 passed", "## lint:sh: warning", "- a.sh:2: quote it",
		"lint:go passed, review skipped (tests:go failed first)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Index(got, "tests:go: FAILED") > strings.Index(got, "lint:sh") {
		t.Error("failed gates must come first")
	}
	for _, limit := range []int{1, 10, 50, 100, 333, 1000, 5000} {
		if n := len(Digest(v, limit)); n > limit {
			t.Errorf("limit %d, got %d", limit, n)
		}
	}
}

func FuzzTelling(f *testing.F) {
	f.Add("a\nerror: b\nc", 10)
	f.Add(strings.Repeat("é\nFAIL\n", 50), 100)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 4 || limit > 1<<16 {
			return
		}
		if got := telling(s, limit); len(got) > limit {
			t.Errorf("%d bytes, limit %d", len(got), limit)
		}
	})
}
