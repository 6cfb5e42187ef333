package scripttest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// program is the runplan under test.
var program string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m))
}

// withProgram builds runplan, unless RUNPLAN_BIN names a program, and runs the tests.
func withProgram(m *testing.M) int {
	if program = os.Getenv("RUNPLAN_BIN"); program != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "rp")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "runplan")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", program, "./cmd/runplan")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build runplan: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// The scripts test a plan, a lesson and a gate as their owner would.
func TestScripts(t *testing.T) {
	t.Setenv("RUNPLAN_OUTSIDE", "1") // isolated.txtar must not see it
	Options{Program: program}.Run(t, "testdata/script")
}

// A suite that calls testscript.Run itself gets the runplan in PATH.
func TestSetupFindsRunplanInPath(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "runplan")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if failed, said := result(t, Setup, "exits 0 runplan --version\nstdout ."); failed {
		t.Error(said)
	}
}

// Without a runplan, the tests fail and say what to do.
func TestMissingRunplanFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, setup := range map[string]func(*testscript.Env) error{"no runplan in PATH": Setup,
		"a program that does not exist": Options{Program: "./nothing"}.Setup} {
		if failed, said := result(t, setup, "exists $WORK"); !failed || !strings.Contains(said, "go install github.com/") {
			t.Errorf("%s: failed is %v:\n%s", name, failed, said)
		}
	}
}

// A suite that a script starts, as a gate of its repository does, skips its scripts instead of running without end.
func TestSuiteInsideOfItselfIsSkipped(t *testing.T) {
	outer := &testscript.Env{WorkDir: t.TempDir(), Vars: []string{"PATH=" + os.Getenv("PATH")}}
	if err := (Options{Program: program}).Setup(outer); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", outer.Getenv("PATH"))
	if skipped, said := result(t, Options{Program: program}.Setup, "stop"); !skipped ||
		!strings.Contains(said, "never end") {
		t.Errorf("skipped is %v:\n%s", skipped, said)
	}
}

// Each check fails when it must, with a message that names the reason.
func TestChecksFail(t *testing.T) {
	t.Parallel()
	const inRepo = "repo r\ncd r\nsnapshot before\n"
	tests := map[string]struct{ script, want string }{
		"repo without a folder":      {"repo", "usage: repo DIR"},
		"exits with another code":    {"exits 1 true", "true: exit code 0, want 1"},
		"exits with a success":       {"exits 0 false", "false: exit code 1, want 0"},
		"exits of a missing program": {"exits 0 no-such-program", "no-such-program: exec: "},
		"unchanged, a changed file":  {inRepo + "cp $WORK/new kept\nunchanged before", `(?m)^\+.* kept `},
		"unchanged, a new time": {inRepo + "exec touch -d 2001-01-01 kept\nunchanged before",
			`(?m)^\+.* kept 2001`},
		"unchanged, a new mode":           {inRepo + "exec chmod 700 kept\nunchanged before", `(?m)^\+-rwx------ kept `},
		"unchanged, a new file":           {inRepo + "cp $WORK/new other\nunchanged before", `(?m)^\+.* other `},
		"unchanged, a removed file":       {inRepo + "rm kept\nunchanged before", `(?m)^-.* kept `},
		"unchanged, a branch":             {inRepo + "exec git branch b\nunchanged before", `refs/heads/b `},
		"unchanged, a setting":            {inRepo + "exec git config core.abbrev 9\nunchanged before", `\.git/config `},
		"unchanged, a hook":               {inRepo + "cp $WORK/new .git/hooks/x\nunchanged before", `\.git/hooks/x `},
		"unchanged, another path":         {inRepo + "cp $WORK/new other\nunchanged before kept", `(?m)^\+.* other `},
		"! unchanged":                     {inRepo + "! unchanged before", "nothing was touched"},
		"unchanged without a snapshot":    {"repo r\ncd r\nunchanged before", "no such file"},
		"notrace, a branch":               {inRepo + "exec git branch runplan/p/main\nnotrace", "refs/heads/runplan/p/main"},
		"notrace, a worktree":             {inRepo + "exec git worktree add -q ../w\nnotrace", "worktrees are left"},
		"notrace, a folder":               {inRepo + "mkdir .runplan/worktrees/1\nnotrace", "worktrees are left"},
		"noprocs, a process in $WORK":     {"exec sleep 60 &\nnoprocs", `processes are left:\n.*sleep 60`},
		"noprocs, a process with a text":  {"cd /\nexec sleep 61.25 &\nnoprocs 61.25", `left:\n.*sleep 61\.25`},
		"waitfor, a text that is missing": {"waitfor new text", "waited 20s for new with text"},
		"json, two values":                {"json two", "more than one JSON value"},
		"json, a control code":            {"json control.json", "control code"},
		"jsonlines, an array":             {"jsonlines array", "array:1: json: cannot unmarshal array"},
		"jsonlines, nothing":              {"jsonlines empty", "empty is empty"},
		"value, another one":              {"value two.json a 2", "a is 1, not 2"},
		"value, a missing one":            {"value two.json b", "there is no such value"},
		"! value":                         {"! value two.json a", "a: there is 1"},
		"clean, a control code":           {"exec printf 'a\\033[0m'\nclean stdout", "control code at byte 1"},
		"expand, a missing file":          {"expand nothing", "no such file"},
	}
	names := map[string]bool{}
	for name, tt := range tests {
		names[regexp.MustCompile(`\w+`).FindString(name)] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := "\n-- new --\nnew\n-- r/kept --\nkept\n-- two --\n1 2\n-- two.json --\n{\"a\":1}\n-- array --\n[1]\n" +
				"-- empty --\n-- control.json --\n\"\\u001b\"\n"
			failed, said := result(t, Options{Program: program}.Setup, tt.script+files)
			if !failed || !regexp.MustCompile(tt.want).MatchString(said) {
				t.Errorf("failed is %v, want true and %q:\n%s", failed, tt.want, said)
			}
		})
	}
	for name := range Commands() {
		if !names[name] && name != "snapshot" { // unchanged reads what snapshot wrote
			t.Errorf("no test makes %s fail", name)
		}
	}
}

// result runs a script and returns whether it failed or was skipped, and what it printed.
func result(t *testing.T, setup func(*testscript.Env) error, script string) (failed bool, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.txtar")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	var r recorder
	testscript.RunT(&r, testscript.Params{Files: []string{file}, Setup: setup, Cmds: Commands()})
	return r.failed, r.said.String()
}

// recorder is a test whose failure is not that of the test that runs it.
type recorder struct {
	failed bool
	said   strings.Builder
}

func (r *recorder) Log(args ...any)   { fmt.Fprintln(&r.said, args...) }
func (r *recorder) Fatal(args ...any) { r.Log(args...); r.FailNow() }
func (r *recorder) Skip(args ...any)  { r.Fatal(args...) }
func (r *recorder) Parallel()         {}
func (r *recorder) Verbose() bool     { return false }
func (r *recorder) FailNow()          { r.failed = true; runtime.Goexit() }
func (r *recorder) Run(_ string, f func(testscript.T)) {
	var wait sync.WaitGroup
	wait.Go(func() { f(r) })
	wait.Wait()
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// guide returns docs/testscripts.md.
func guide(t *testing.T) string {
	t.Helper()
	return read(t, filepath.Join("..", "..", "docs", "testscripts.md"))
}

// The guide has a row for each command, with the text of its comment.
func TestGuideListsCommands(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "commands.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	ast.Inspect(file, func(n ast.Node) bool {
		entry, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		name, _ := strconv.Unquote(entry.Key.(*ast.BasicLit).Value)
		for _, comment := range file.Comments {
			if use, does, ok := strings.Cut(strings.Join(strings.Fields(comment.Text()), " "), ": "); ok &&
				comment.End() < entry.Pos() && strings.HasPrefix(use, name) {
				fmt.Fprintf(&rows, "| `%s` | %s |\n", strings.ReplaceAll(use, "|", "\\|"), strings.TrimSuffix(does, "."))
			}
		}
		return true
	})
	if n := strings.Count(rows.String(), "\n"); n != len(Commands()) {
		t.Errorf("%d of %d commands have a comment", n, len(Commands()))
	}
	if !strings.Contains(guide(t), "|---|---|\n"+rows.String()+"\n") {
		t.Errorf("docs/testscripts.md should have these rows:\n%s", &rows)
	}
}

// The example of the guide works as it is written, as a module of its own, and fails when its plan is wrong.
func TestGuide(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text, repo := guide(t), t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(repo, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shown := regexp.MustCompile("(?m)^`([\\w./-]+)`:\n\n(?:<!--.*-->\n)?(````?)\\w*\n").FindAllStringSubmatchIndex(text,
		-1)
	if len(shown) != 6 {
		t.Fatalf("docs/testscripts.md shows %d files, want 6", len(shown))
	}
	for _, at := range shown {
		content, _, _ := strings.Cut(text[at[1]:], "\n"+text[at[4]:at[5]]+"\n")
		write(text[at[2]:at[3]], content+"\n")
	}
	// The module file that go get would write, made without the network.
	write("suite/go.mod", strings.Replace(read(t, filepath.Join(here, "go.mod")),
		"module github.com/runplan/runplan/sdk\n",
		"module example.com/suite\n", 1)+
		"\nrequire github.com/runplan/runplan/sdk v0.0.0\n\nreplace github.com/runplan/runplan/sdk => "+here+"\n")
	write("suite/go.sum", read(t, filepath.Join(here, "go.sum")))
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "runplan")); err != nil {
		t.Fatal(err)
	}
	test := func() (string, error) {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"},
			{"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "files"}} {
			if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout", "5m", ".")
		cmd.Dir = filepath.Join(repo, "suite")
		cmd.Env = append(os.Environ(), "GOPROXY=off", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := test(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
	write("plans/greeter.md", strings.Replace(read(t, filepath.Join(repo, "plans", "greeter.md")), "hello $1", "TODO", 1))
	if out, err := test(); err == nil || !strings.Contains(out, "greeter.md --agent script: exit code 1, want 0") {
		t.Errorf("with a wrong plan: error %v, want a failure\n%s", err, out)
	}
}
