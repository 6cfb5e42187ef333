package gates

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/proc"
)

// program runs p in a gate of its own, and returns the gate's report too.
func runs(t *testing.T, s Subject, p Program) (got Ended, rep Report, err error) {
	t.Helper()
	rep, err = New(Info{Name: "own"}, func(ctx context.Context, l *Look) (err error) {
		got, err = l.Run(ctx, p)
		return err
	}).Check(t.Context(), s)
	return got, rep, err
}

// A gate's function gets the result of a program. Without a usable result there is an error.
func TestLookRunsPrograms(t *testing.T) {
	needs(t, "bash")
	dir := tree(t, map[string]string{"sub/x": ""})
	bash := func(text string) []string { return []string{"bash", "-c", text} }
	got, rep, err := runs(t, Subject{Dir: dir}, Program{Args: bash("echo $X; pwd; echo err >&2; exit 3"), Dir: "sub",
		Env:    []string{"X=1"},
		Stdout: true})
	if err != nil || got.Exit != 3 || got.How != "exit 3" || got.OK() || string(got.Stdout) != "1\n"+dir+"/sub\n" ||
		!strings.Contains(got.Text, "err") || *rep.Exit != 3 ||
		rep.Command != "cd sub && bash -c 'echo $X; pwd; echo err >&2; exit 3'" {
		t.Errorf("%+v %+v %v", got, rep, err)
	}
	if got, _, err := runs(t, Subject{Dir: dir}, Program{Args: bash("kill -SEGV $$")}); err != nil || got.OK() ||
		got.How != "it was killed by SIGSEGV" {
		t.Errorf("a crash is a result: %+v, %v", got, err)
	}
	if _, _, err := runs(t, Subject{Dir: dir}, Program{Args: bash("kill -KILL $$")}); err == nil ||
		!strings.Contains(err.Error(), "killed by SIGKILL from outside") {
		t.Errorf("a program that something else killed has no result: %v", err)
	}
	if _, _, err := runs(t, Subject{Dir: dir}, Program{Args: []string{"no-such-program"}}); !errors.Is(err,
		ErrNoProgram) ||
		!errors.Is(err, proc.ErrNotFound) {
		t.Errorf("a missing program: %v", err)
	}
	for _, c := range []struct {
		gate, own time.Duration
		want      string
	}{{time.Minute, 50 * time.Millisecond, "time limit 50ms reached"}, {50 * time.Millisecond, time.Minute,
		"time limit 50ms reached"},
		{time.Nanosecond, 0, "time limit 1ns, before bash could start"}} {
		if _, _, err := runs(t, Subject{Dir: dir, Timeout: c.gate}, Program{Args: bash("sleep 60"),
			Limit: c.own}); !errors.Is(err, ErrTimeLimit) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	rep, err = New(Info{Name: "own"}, func(ctx context.Context, l *Look) error {
		for _, exit := range []string{"0", "4", "5", "0"} {
			if _, err := l.run(ctx, program{args: bash("exit " + exit), shown: []string{"e" + exit}}); err != nil {
				return err
			}
		}
		_, err := l.run(ctx, program{args: bash("echo probe; exit 9"), quiet: true})
		return err
	}).Check(t.Context(), Subject{Dir: dir})
	if err != nil || rep.Command != "e0 && e4 && e5 && e0" || *rep.Exit != 4 || strings.Contains(rep.Output, "probe") {
		t.Errorf("the first failure is the exit status, and a probe leaves no trace: %+v, %v", rep, err)
	}
	rep, err = New(Info{Name: "own"}, func(ctx context.Context, l *Look) error {
		l.Command("typed")
		l.Show("shown")
		l.Count(TestCount{Passed: 2})
		if !l.Exists("sub/x") || l.Exists("sub") || l.Exists("gone") || l.Subject().Dir != dir {
			t.Error("files of the tree")
		}
		return nil
	}).Check(t.Context(), Subject{Dir: dir})
	if err != nil || rep.Command != "typed" || rep.Output != "shown" || rep.Tests.Passed != 2 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// A gate that compares is skipped without a base, and names the files that it could not read.
func TestLookReadsChangedFiles(t *testing.T) {
	dir := tree(t, nil)
	large := map[string][2]string{"a": {"x", "y"}}
	for i := range 12 {
		large["large"+string(rune('a'+i))] = [2]string{"LARGE", "x"}
	}
	for name, c := range map[string]struct {
		diff Diff
		want string
		ok   bool
		note string
		err  error
	}{
		"no base":  {nil, "", false, "the base commit of the change is unknown", nil},
		"one file": {changeOf(map[string][2]string{"a": {"x", "y"}, "b": {"x", "y"}}), "a", true, "", nil},
		"too large": {changeOf(large), "a", true, "not checked because too large: largea, largeb, largec, larged, largee, " +
			"largef, largeg, largeh, largei, largej", nil},
		"no disk": {changeOf(map[string][2]string{"a": {"UNREADABLE", "y"}}), "", false, "", errDisk},
	} {
		rep, err := New(Info{Name: "own"}, func(ctx context.Context, l *Look) error {
			files, ok, err := l.Changed(ctx, func(c Change) bool { return c.Path != "b" })
			var names []string
			for _, f := range files {
				names = append(names, f.Path)
			}
			if strings.Join(names, " ") != c.want || ok != c.ok {
				t.Errorf("%s: %v %v", name, names, ok)
			}
			return err
		}).Check(t.Context(), Subject{Dir: dir, Diff: c.diff})
		if !errors.Is(err, c.err) || !strings.HasPrefix(rep.Note, c.note) || (rep.Note == "") != (c.note == "") ||
			(rep.Status == Skipped) != (name == "no base") || strings.Contains(rep.Note, "largek") {
			t.Errorf("%s: %s %q, %v", name, rep.Status, rep.Note, err)
		}
	}
}

// Programs get an environment without questions. A user's environment has no variables of CI.
func TestEnvironmentOfPrograms(t *testing.T) {
	w := &Look{subject: Subject{Env: []string{"A=1", "FORCE_COLOR=1", "CLICOLOR_FORCE=1", "PYTEST_ADDOPTS=-q",
		"GITHUB_X=1"}}}
	env := w.environ([]string{"B=2"})
	for _, kv := range []string{"A=1", "B=2", "CI=true", "GITHUB_X=1", "GIT_TERMINAL_PROMPT=0",
		"PYTEST_ADDOPTS=-q", "TURBO_FORCE=true", "NX_SKIP_NX_CACHE=true"} {
		if !slices.Contains(env, kv) {
			t.Errorf("%s is missing in %q", kv, env)
		}
	}
	if text := strings.Join(env, " "); strings.Contains(text, "FORCE_COLOR") || strings.Contains(text, "CLICOLOR") || strings.Contains(text, "CARGO") {
		t.Error(text)
	}
	w.user, w.bare, w.release = true, " -s", true
	want := []string{"A=1", "PYTEST_ADDOPTS=-q", "TURBO_FORCE=true", "NX_SKIP_NX_CACHE=true", "WIREIT_CACHE=none",
		"PYTEST_ADDOPTS=-q -s", "CARGO_PROFILE_DEV_DEBUG_ASSERTIONS=false",
		"CARGO_PROFILE_TEST_DEBUG_ASSERTIONS=false"}
	if d := cmp.Diff(want, w.environ(nil)); d != "" {
		t.Error(d)
	}
}

// Commands are shown so that a person can copy them.
func TestCommandLinesCanBeCopied(t *testing.T) {
	for want, args := range map[string][]string{
		"a b-c ./d.e /f_g=h:i,j@k%l+m 09AZaz": {"a", "b-c", "./d.e", "/f_g=h:i,j@k%l+m", "09AZaz"},
		"'' 'a b' 'c$' 'd;'":                  {"", "a b", "c$", "d;"},
		`'it'\''s' '(x)' 'ä' 'a*' '[z'`:       {"it's", "(x)", "ä", "a*", "[z"},
		"'`' '{' '~' '^'":                     {"`", "{", "~", "^"},
	} {
		if got := commandLine("", args); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if got := commandLine("a b", []string{"x"}); got != "cd 'a b' && x" {
		t.Error(got)
	}
	if got := commandLine(".", []string{"x"}); got != "x" {
		t.Error(got)
	}
}

// The name of a log is a valid name of one file, for any gate.
func TestLogNames(t *testing.T) {
	for gate, want := range map[string]string{"tests:go:a/b": "l/tests-go-a-b.log", "a.B_c-9z": "l/a.B_c-9z.log",
		"..x":      "l/x.log",
		"{[/:@`Z0": "l/------Z0.log", strings.Repeat("x", 200): "l/" + strings.Repeat("x", 97) + "….log"} {
		if got := LogName("l", gate); got != want {
			t.Errorf("%s: %s", gate, got)
		}
	}
	if got := LogName("", "x"); got != "" {
		t.Error(got)
	}
}

// Long output keeps its head and its tail, and says where lines are missing.
func TestTapeKeepsHeadAndTail(t *testing.T) {
	var w tape
	line := strings.Repeat("x", 1023)
	for i := range 2 * 1024 {
		w.add(line)
		if i == 10 && strings.Count(w.String(), "\n") != 11 {
			t.Error("a short text is not whole")
		}
	}
	if got := w.String(); got != strings.Repeat(line+"\n", 2*1024) {
		t.Errorf("%d bytes that fit are not kept", len(got))
	}
	w.add("last")
	got := w.String()
	head, tail, ok := strings.Cut(got, "[…]\n")
	if !ok || len(head) != tapeHalf || len(tail) > tapeHalf || len(tail) < tapeHalf-1024 || !strings.HasSuffix(tail,
		line+"\nlast\n") {
		t.Errorf("%d and %d bytes, %v", len(head), len(tail), ok)
	}
	var huge tape
	huge.add(strings.Repeat("h", tapeHalf))
	huge.add(strings.Repeat("t", 2*tapeHalf))
	if got := huge.String(); len(got) != 3*tapeHalf+2 || strings.Contains(got, "…") {
		t.Errorf("the last line is kept whole: %d bytes", len(got))
	}
}

// A path that a program prints is named as seen from the tree; "" if it is elsewhere.
func TestPathsOfPrograms(t *testing.T) {
	dir := tree(t, map[string]string{"a/b.go": ""})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	w := &Look{subject: Subject{Dir: link}}
	for _, c := range [][3]string{{"", "a/b.go", "a/b.go"}, {"a", "b.go", "a/b.go"}, {"a", "../c.go", "c.go"}, {"a",
		"../../c.go", ""},
		{"", dir + "/a/b.go", "a/b.go"}, {"a", link + "/a/b.go", "a/b.go"}, {"", "/etc/passwd", ""}, {"", "", ""}, {"",
			".", "."}} {
		if got := w.Rel(c[0], c[1]); got != c[2] {
			t.Errorf("%s in %s: %q, not %q", c[1], c[0], got, c[2])
		}
	}
	if w.existing("a", "b.go") != "a/b.go" || w.existing("a", "c.go") != "" || w.existing("a", "../../x") != "" {
		t.Error("only files of the tree exist")
	}
	for _, dir := range []string{filepath.Join(dir, "a", "b.go"), filepath.Join(dir, "gone")} {
		if got, err := Tree(dir); err == nil {
			t.Errorf("%s is a tree: %s", dir, got)
		}
	}
}

// A project below the root that cannot run its tests stops only the work on itself.
func TestToolsOfUntouchedProjectAreMissing(t *testing.T) {
	dir := t.TempDir()
	missing := notReady{errors.New("jest is not installed")}
	base := func(cases []testout.Case, err error) func(context.Context, string) ([]testout.Case, error) {
		return func(context.Context, string) ([]testout.Case, error) { return cases, err }
	}
	for name, c := range map[string]struct {
		root, changed string
		err           error
		base          func(context.Context, string) ([]testout.Case, error)
		skipped       bool
	}{
		"untouched":                         {"web", "a.go", missing, base(nil, missing), true},
		"untouched, base unknown":           {"web", "a.go", missing, nil, true},
		"touched":                           {"web", "web/a.js", missing, base(nil, missing), false},
		"the root":                          {".", "a.go", missing, base(nil, missing), false},
		"everything":                        {"web", "", missing, base(nil, missing), false},
		"its tests ran on the base":         {"web", "a.go", missing, base([]testout.Case{{Name: "a"}}, nil), false},
		"the base cannot be asked":          {"web", "a.go", missing, base(nil, errors.New("stopped")), false},
		"another error, such as a time-out": {"web", "a.go", errors.New("timed out"), base(nil, missing), false},
	} {
		b := builtin{info: Info{Name: "tests:node:web", Root: c.root},
			do: func(_ context.Context, w *Look) error { w.Find(Finding{Rule: "x"}); return c.err }}
		s := Subject{Dir: dir, BaseTests: c.base}
		if c.changed != "" {
			s.Changed = []string{c.changed}
		}
		rep, err := b.Check(t.Context(), s)
		if c.skipped != (err == nil) || c.skipped && (rep.Status != Skipped || len(rep.Findings) > 0 ||
			rep.Note != "nothing changed under web/, and jest is not installed") {
			t.Errorf("%s: %v %+v", name, err, rep)
		}
	}
}
