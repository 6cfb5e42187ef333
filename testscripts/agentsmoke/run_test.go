package agentsmoke

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is what runplan made of one run.
type outcome struct {
	exit    int
	out     string // what it printed
	took    time.Duration
	file    string // hello.txt of the run branch; "" if it is not there
	gated   string // the outcome of the gate that looks for it
	last    event  // how the agent ended
	purpose []line // the ledger
}

// event is what matters of a line of "runplan log --json".
type event struct {
	Kind, Outcome, Reason, Model string
	RetryAt                      time.Time `json:"retry_at"`
	Reports                      []struct{ Gate, Status string }
}

// line is one of the ledger.
type line struct {
	In     *int64   `json:"input_tokens"`
	Out    *int64   `json:"output_tokens"`
	Cached *int64   `json:"cache_read_tokens"`
	Cost   *float64 `json:"cost_usd"`
	Source string
	Model  string
}

const plan = "# Greetings\n\n## Batch 1: greet\n\n- [ ] Write hello.txt\n"

const config = `[[gates.command]]
name = "hello"
run = "grep -q '` + written + `' hello.txt"
`

// place is a home and a repository for one CLI.
type place struct {
	dir, runplan string
	outside      string // a folder of its own
	env          []string
}

func newPlace(t *testing.T, runplan string, c cli, m *model) place {
	t.Helper()
	p := place{dir: t.TempDir(), runplan: runplan}
	var err error
	if p.outside, err = os.MkdirTemp(filepath.Join(c.bin, "..", ".."), "outside-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(p.outside) })
	home := filepath.Join(p.dir, "home")
	files, env := settings(c.name, m.URL)
	all := map[string]string{
		"project/Makefile": "all:\n\ttouch " + p.ran() + "\n",
		"project/plan.md":  plan, "project/.runplan/config.toml": config, "home/tmp/.keep": "",
		"home/.gitconfig": "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n",
	}
	for name, text := range files {
		all["home/"+name] = text
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
		"PATH=" + c.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "TZ=UTC", "LANG=C.UTF-8", "NO_COLOR=1", "TERM=dumb",
		"RUNPLAN_TRUST=all",
	}, env...)
	for _, args := range [][]string{{"git", "init", "--quiet"}, {"git", "add", "--all"}, {"git", "commit", "--quiet", "--message=start"}} {
		if code, out := p.do(t, time.Minute, args...); code != 0 {
			t.Fatalf("%v: %s", args, out)
		}
	}
	return p
}

// ran is what the project's Makefile makes: outside of the workspace, where nothing may be written. It is not in the
// folder for temporary files either, which a sandbox may leave open.
func (p place) ran() string { return filepath.Join(p.outside, "ran") }

// do runs a program in the repository and returns its exit status and all that it printed.
func (p place) do(t *testing.T, limit time.Duration, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, "project"), p.env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that runplan ends what it started
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// run is runplan plan.md with the CLI, and what is known after it.
func (p place) run(t *testing.T, name string) outcome {
	t.Helper()
	var o outcome
	began := time.Now()
	o.exit, o.out = p.do(t, 3*time.Minute, p.runplan, "run", "--agent", name, "--max-attempts", "1", "plan.md")
	o.took = time.Since(began)
	_, text := p.do(t, time.Minute, p.runplan, "log", "--json")
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		var e event
		if json.Unmarshal(s.Bytes(), &e) != nil {
			continue
		}
		switch e.Kind {
		case "executed":
			o.last = e
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
	return o
}

// logs is what the CLI itself printed, for those who want to know why.
func (p place) logs() string {
	var b bytes.Buffer
	files, _ := filepath.Glob(filepath.Join(p.dir, "project/.runplan/logs/*/*"))
	more, _ := filepath.Glob(filepath.Join(p.dir, "project/.runplan/logs/*/*/*"))
	for _, f := range slices.Concat(files, more) {
		if text, err := os.ReadFile(f); err == nil {
			b.WriteString("--- " + f + "\n")
			b.Write(text[max(0, len(text)-20000):])
		}
	}
	return b.String()
}
