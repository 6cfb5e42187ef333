package agentsmoke

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome records the result of one run.
type outcome struct {
	exit    int
	out     string // what it printed
	took    time.Duration
	file    string  // hello.txt of the run branch; "" if it is not there
	gated   string  // the outcome of the gate that looks for it
	ends    []event // how the agent's attempts ended
	last    event   // the last of them
	purpose []line  // the ledger
}

// event holds the fields of a line of "runplan log --json" that matter here.
type event struct {
	Kind, Outcome, Reason, Model, Tier string

	Attempt int
	RetryAt time.Time `json:"retry_at"`
	Reports []struct{ Gate, Status string }
}

// line is one line of the ledger.
type line struct {
	In     *int64   `json:"input_tokens"`
	Out    *int64   `json:"output_tokens"`
	Cached *int64   `json:"cache_read_tokens"`
	Cost   *float64 `json:"cost_usd"`
	Source string
	Model  string
}

const plan = "# Greetings\n\n## Batch 1: greet\n\n- [ ] Write hello.txt\n"

const config = `[run]
%s
[[gates.command]]
name = "hello"
run = "grep -q '` + written + `' hello.txt"
`

// configOf returns the project's config.toml. A run does not wait for an outage unless the situation sets a backoff.
func configOf(s situation) string {
	run := s.config
	if !strings.Contains(run, "backoff") {
		run += "backoff = '0s'\n"
	}
	return fmt.Sprintf(config, run)
}

// prices are the prices of the models that the CLIs name.
const prices = `date = "2026-11-24"
[models."loop-1"]
input = 10.0
output = 100.0
cache_read = 1.0
cache_write = 12.0
[models."claude-sonnet-5-5"]
input = 10.0
output = 100.0
cache_read = 1.0
cache_write = 12.0
`

// place is a home folder and a repository for one CLI.
type place struct {
	dir, runplan string
	outside      string // a folder of its own
	env          []string
}

func newPlace(t *testing.T, runplan string, c cli, m *model, s situation) place {
	t.Helper()
	p := place{dir: t.TempDir(), runplan: runplan}
	var err error
	if p.outside, err = os.MkdirTemp(filepath.Join(c.bin, "..", ".."), "outside-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(p.outside) })
	home := filepath.Join(p.dir, "home")
	files, env := settings(c.name, m.URL, s.plan)
	all := map[string]string{
		"project/Makefile": "all:\n\ttouch " + p.ran() + "\n",
		"project/plan.md":  plan, "project/.runplan/config.toml": configOf(s), "home/tmp/.keep": "",
		"home/.gitconfig": "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n",
	}
	for name, text := range files {
		all["home/"+name] = text
	}
	if s.prices {
		all["home/runplan/prices.toml"] = prices
	}
	for name, text := range all {
		path := filepath.Join(p.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.env = append([]string{
		"HOME=" + home, "RUNPLAN_HOME=" + filepath.Join(home, "runplan"), "TMPDIR=" + filepath.Join(home, "tmp"),
		"PATH=" + c.bin + string(os.PathListSeparator) + p.programs(t), "GIT_CONFIG_NOSYSTEM=1", "TZ=UTC", "LANG=C.UTF-8",
		"NO_COLOR=1", "TERM=dumb",
		"RUNPLAN_TRUST=all",
	}, env...)
	for _, args := range [][]string{{"git", "init", "--quiet"}, {"git", "add", "--all"},
		{"git", "commit", "--quiet", "--message=start"}} {
		if code, out := p.do(t, time.Minute, args...); code != 0 {
			t.Fatalf("%v: %s", args, out)
		}
	}
	return p
}

// programs returns a folder with the programs that the CLIs and git need. With the whole PATH, a program that is
// installed during the test could end an attempt, because runplan notices which program runs under a name.
func (p place) programs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(p.dir, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(
		"awk basename bash cat chmod cp cut date dirname env find git grep head id kill ln ls make " +
			"mkdir mktemp mv node printf ps readlink rm sed sh sleep sort tail tee test touch tr true uname uniq wc which xargs") {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// ran returns the path of the file that the project's Makefile creates. It is outside the workspace, where an agent
// must not write, and outside the folder for temporary files, which a sandbox may leave open.
func (p place) ran() string { return filepath.Join(p.outside, "ran") }

// do runs a program in the repository and returns its exit status and output.
func (p place) do(t *testing.T, limit time.Duration, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, "project"), p.env
	cmd.Cancel = func() error { // once ends runplan's step, twice what it started
		time.AfterFunc(time.Second, func() { _ = cmd.Process.Signal(os.Interrupt) })
		return cmd.Process.Signal(os.Interrupt)
	}
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// run executes runplan run plan.md with the CLI in a situation, and returns the outcome.
func (p place) run(t *testing.T, name string, s situation) outcome {
	t.Helper()
	var o outcome
	began := time.Now()
	args := []string{p.runplan, "run", "--agent", name, "--no-sample"}
	if !slices.Contains(s.args, "--max-attempts") {
		args = append(args, "--max-attempts", "1")
	}
	limit := 150 * time.Second
	if s.ctrlC > 0 {
		limit = s.ctrlC
	}
	o.exit, o.out = p.do(t, limit, append(append(args, s.args...), "plan.md")...)
	o.took = time.Since(began)
	p.read(t, &o)
	return o
}

// read reads the journal, the ledger and the run branch.
func (p place) read(t *testing.T, o *outcome) {
	t.Helper()
	_, text := p.do(t, time.Minute, p.runplan, "log", "--json")
	o.ends = nil
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 4<<20)
	for s.Scan() {
		var e event
		if json.Unmarshal(s.Bytes(), &e) != nil {
			continue
		}
		switch e.Kind {
		case "executed":
			o.ends, o.last = append(o.ends, e), e
		case "gated":
			for _, r := range e.Reports {
				if r.Gate == "hello" {
					o.gated = r.Status
				}
			}
		}
	}
	_, text = p.do(t, time.Minute, p.runplan, "spend", "--json")
	var ledger struct{ Lines []line }
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&ledger); err != nil {
		t.Errorf("the ledger: %v\n%s", err, text)
	}
	o.purpose = ledger.Lines
	if code, text := p.do(t, time.Minute, "git", "show", "runplan/plan/main:hello.txt"); code == 0 {
		o.file = text
	}
}

// logs returns the output of the CLI, to explain a failure.
func (p place) logs() string {
	var b bytes.Buffer
	files, _ := filepath.Glob(filepath.Join(p.dir, "project/.runplan/logs/*/*"))
	more, _ := filepath.Glob(filepath.Join(p.dir, "project/.runplan/logs/*/*/*"))
	for _, f := range slices.Concat(files, more) {
		if text, err := os.ReadFile(f); err == nil {
			b.WriteString("--- " + f + "\n")
			b.Write(text[max(0, len(text)-1<<20):])
		}
	}
	return b.String()
}
