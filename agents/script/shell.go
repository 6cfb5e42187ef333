package script

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
)

// maxArgument limits a script to well below the size of an argument on Linux (128 KiB).
const maxArgument = 100 << 10

func (w *work) shell(ctx context.Context, b planparse.Block) error {
	w.say("shell: " + summary(b.Text))
	// Empty lines in front let bash name the lines of the plan in its messages.
	script := strings.Repeat("\n", b.Line) + b.Text
	args := []string{"bash", "-eu", "-o", "pipefail", "-c", script, filepath.Base(w.agent.planPath)}
	if len(script) > maxArgument {
		dir, err := os.MkdirTemp(w.task.TempDir, "block-")
		if err != nil {
			return fmt.Errorf("create a folder for the script: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		path := filepath.Join(dir, "block.sh")
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			return fmt.Errorf("write the script: %w", err)
		}
		args = []string{"bash", "-eu", "-o", "pipefail", path}
	}
	res, err := w.run(ctx, proc.Cmd{Args: args})
	if err != nil {
		return err
	}
	return w.expectSuccess(res, "the shell block")
}

// summary is the first command of a script, for people.
func summary(script string) string {
	first, more := "", false
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if first != "" {
			more = true
			break
		}
		first = line
	}
	if more {
		first += " …"
	}
	return first
}

// command runs a command of the plan and checks it against what the plan expects.
func (w *work) command(ctx context.Context, b planparse.Block) error {
	name := strings.TrimSpace(b.Text)
	w.say("run " + name)
	res, err := w.run(ctx, proc.Cmd{Args: []string{"bash", "-c", b.Text}, Keep: 1 << 20})
	if err != nil {
		return err
	}
	want := parseExpected(b.Expected)
	switch {
	case res.Ended != proc.Exited:
		return w.expectSuccess(res, name)
	case res.Exit == 127 && want.status != fail:
		if m := notInstalled.FindStringSubmatch(res.Tail); m != nil { // another attempt would not install it
			return fmt.Errorf("%s: %w", name, proc.NotFound(m[1]))
		}
	case want.status == pass && res.Exit != 0:
		return &failure{message: fmt.Sprintf("%s: exited with status %d, expected to pass", name, res.Exit), output: res.Tail}
	case want.status == fail && res.Exit == 0:
		return &failure{message: fmt.Sprintf("%s: passed, expected to fail", name), output: res.Tail}
	}
	for _, text := range want.texts {
		if !holds(res.Tail, text) {
			return &failure{message: fmt.Sprintf("%s: its output does not contain the expected %q", name, text),
				output: res.Tail}
		}
	}
	return nil
}

// notInstalled matches what bash says of a program outside of the project.
var notInstalled = lazyre.New(`^bash: line \d+: ([^/:\s]+): command not found\s*$`)

type status int

const (
	anyStatus status = iota
	pass
	fail
)

type expected struct {
	status status
	texts  []string
}

// parseExpected parses PASS or FAIL, each also with a quoted text (FAIL with "not defined"), or a text that the output
// must contain. An empty text means PASS.
func parseExpected(s string) expected {
	s = strings.TrimSpace(s)
	if s == "" {
		return expected{status: pass}
	}
	verdict := regexp.MustCompile(
		"^[*_`]*(PASS|FAIL|(?i:pass|fail))(?i:es|ed|s|ing)?[*_`]*(?:$|[^\\pL\\pN_])(.*)$").FindStringSubmatch(s)
	if verdict == nil {
		return expected{texts: []string{unquote(s)}}
	}
	// A lower-case word is a verdict only if it is the whole text: "pass the salt" is a text.
	if up := strings.ToUpper(verdict[1]); up != verdict[1] && verdict[2] != "" {
		return expected{texts: []string{unquote(s)}}
	}
	e := expected{status: pass}
	if strings.EqualFold(verdict[1], "fail") {
		e.status = fail
	}
	for _, m := range regexp.MustCompile("\"([^\"]+)\"|“([^”]+)”|`([^`]+)`").FindAllStringSubmatch(verdict[2], -1) {
		e.texts = append(e.texts, m[1]+m[2]+m[3])
	}
	return e
}

func unquote(s string) string {
	for _, q := range []string{"\"\"", "``", "“”"} {
		q := []rune(q)
		inner, ok := strings.CutPrefix(s, string(q[0]))
		inner, ok2 := strings.CutSuffix(inner, string(q[1]))
		if ok && ok2 && inner != "" && !strings.ContainsRune(inner, q[0]) {
			return inner
		}
	}
	return s
}

// holds reports whether output contains text, ignoring differences in white space.
func holds(output, text string) bool {
	output = redact.Clean(output)
	if strings.Contains(output, text) {
		return true
	}
	fields := phrase.Line(text)
	return fields != "" && strings.Contains(phrase.Line(output), fields)
}

// run runs c in the workspace, under the remaining limits of the attempt.
func (w *work) run(ctx context.Context, c proc.Cmd) (proc.Result, error) {
	c.Dir = w.task.Dir
	c.Env = w.task.Environ(w.task.Project...)
	c.Limits.Idle = cmp.Or(c.Limits.Idle, w.task.Limits.Idle)
	c.Limits.Grace = w.task.Limits.Grace
	if !w.deadline.IsZero() {
		c.Limits.Total = max(time.Until(w.deadline), time.Millisecond)
	}
	if w.obs != nil {
		c.Line = w.obs.Line
	}
	c.Redact = w.task.Redact
	c.Log = w.task.LogPath
	c.Sweep = w.tag
	c.Reaper = w.agent.reaper
	res, err := proc.Run(ctx, c)
	if res.Swept > 0 {
		w.notes = append(w.notes, res.LeftBehind())
	}
	return res, err
}

// expectSuccess turns an unsuccessful result into a failure.
func (w *work) expectSuccess(res proc.Result, what string) error {
	if res.OK() {
		return nil
	}
	f := &failure{output: res.Tail, message: what + " " + res.How()}
	switch res.Ended {
	case proc.Total:
		f.message, f.outcome = w.overTotal(), agents.TimedOut
	case proc.Idle:
		f.message = fmt.Sprintf("idle limit reached: %s printed nothing for %s", what, w.task.Limits.Idle)
		f.outcome = agents.TimedOut
	case proc.Cancelled:
		f.message = fmt.Sprintf("stopped: %v", res.Cause)
	case proc.Exited:
		if last := phrase.LastLine(redact.Clean(res.Tail)); last != "" {
			f.message += ": " + phrase.CutBytes(last, maxSay)
		}
	}
	return f
}
