//go:build unix

package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/runplan/runplan/tools/tooltest"
)

func TestMain(m *testing.M) {
	switch os.Getenv("PROC_TEST_ROLE") {
	case "reaper":
		ReapMain(os.Stdin)
		os.Exit(0)
	case "busy":
		busyMain()
	case "parent":
		parentMain()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func bash(script string) Cmd { return Cmd{Args: []string{"bash", "-c", script}} }

func run(t *testing.T, c Cmd) Result {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}

// alive waits for the process whose id is in file to end, and reports whether it still runs.
func alive(t *testing.T, file string) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the program did not get as far as to write its pid: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if bornAt(pid) == "" {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	return true
}

func TestOutcome(t *testing.T) {
	tests := map[string]struct {
		script string
		want   Result
	}{
		"status 0":                                {"true", Result{Ended: Exited}},
		"another status":                          {"exit 3", Result{Ended: Exited, Exit: 3}},
		"status 137 is not a signal":              {"exit 137", Result{Ended: Exited, Exit: 137}},
		"status 143 is not a signal":              {"exit 143", Result{Ended: Exited, Exit: 143}},
		"a signal from elsewhere is not a status": {"kill -KILL $$", Result{Ended: Signaled, Exit: -1, Signal: "SIGKILL"}},
		"a TERM from elsewhere is not ours":       {"kill -TERM $$", Result{Ended: Signaled, Exit: -1, Signal: "SIGTERM"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, bash(tt.script))
			if r.Ended != tt.want.Ended || r.Exit != tt.want.Exit || r.Signal != tt.want.Signal {
				t.Errorf("got %+v, want %+v", r, tt.want)
			}
		})
	}
}

func TestMissingProgramReturnsErrNotFound(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, prog := range []string{"no-such-program-here", "./no-such-file", plain} {
		_, err := Run(t.Context(), Cmd{Args: []string{prog}, Dir: dir})
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v is not ErrNotFound", prog, err)
		}
		if _, err = Output(t.Context(), Cmd{Args: []string{prog}, Dir: dir}); !errors.Is(err, ErrNotFound) {
			t.Errorf("Output %s: %v is not ErrNotFound", prog, err)
		}
		if prog == plain && (strings.Contains(err.Error(), "not found") ||
			!strings.Contains(err.Error(), "chmod +x "+plain)) {
			t.Errorf("a file that is there is said not to be: %v", err)
		}
	}
	_, err := Run(t.Context(), Cmd{Args: []string{"true"}, Dir: filepath.Join(dir, "gone")})
	if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a missing directory is not a missing program, and is named: %v", err)
	}
}

func TestProgramLookupUsesCommandPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hello-agent"), []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := run(t, Cmd{Args: []string{"hello-agent"}, Env: []string{"PATH=" + dir + ":/bin"}})
	if r.Tail != "hello\n" {
		t.Errorf("got %q", r.Tail)
	}
}

func TestStdinIsEmptyByDefault(t *testing.T) {
	if r := run(t, bash("cat; echo end; exec 3</dev/tty")); !strings.HasPrefix(r.Tail, "end\n") || r.Exit == 0 {
		t.Errorf("got %+v: stdin is to be empty, and there is to be no terminal", r)
	}
	c := bash("cat")
	c.Stdin = strings.NewReader("brief")
	if r := run(t, c); r.Tail != "brief" {
		t.Errorf("got %q", r.Tail)
	}
	c = bash("exit 4") // does not read
	c.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
	if r := run(t, c); r.Exit != 4 {
		t.Errorf("got %+v", r)
	}
}

func TestLimits(t *testing.T) {
	tooltest.Slow(t)
	tests := map[string]struct {
		script string
		limits Limits
		want   Reason
	}{
		"total": {"while :; do echo x; sleep 0.02; done",
			Limits{Total: 200 * time.Millisecond, Grace: 100 * time.Millisecond}, Total},
		"idle": {"echo x; sleep 30", Limits{Idle: 150 * time.Millisecond, Grace: 100 * time.Millisecond}, Idle},
		"output holds the idle limit off": {
			"for i in 1 2 3 4 5 6 7 8; do echo x; sleep 0.1; done", Limits{Idle: 500 * time.Millisecond}, Exited},
		"TERM is ignored": {"trap '' TERM; echo x; while :; do sleep 0.1; done",
			Limits{Idle: 300 * time.Millisecond, Grace: 200 * time.Millisecond}, Idle},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := bash(tt.script)
			c.Limits = tt.limits
			r := run(t, c)
			if r.Ended != tt.want {
				t.Errorf("ended %s, want %s", r.Ended, tt.want)
			}
			if r.Duration > 3*time.Second {
				t.Errorf("took %s", r.Duration)
			}
		})
	}
}

func TestCancelKeepsCauseAndGracePeriod(t *testing.T) {
	why := errors.New("the batch was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := bash("trap 'echo tidy; exit 7' TERM; echo ready; while :; do sleep 0.02; done")
	c.Line = func(s string) {
		if s == "ready" {
			cancel(why)
		}
	}
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Ended != Cancelled || !errors.Is(r.Cause, why) || r.Exit != 7 || !strings.HasSuffix(r.Tail, "tidy\n") {
		t.Errorf("got %+v", r)
	}
	if r, err := Run(ctx, bash("touch never")); err != nil || r.Ended != Cancelled {
		t.Errorf("nothing starts once the context has ended: %+v %v", r, err)
	}
}

func TestRunEndsBackgroundProcesses(t *testing.T) {
	const forever = `while :; do sleep 0.05; done`
	tests := map[string]struct {
		script string // writes the pid of what should not survive to $F, with output closed
		sweep  bool
	}{
		"a child in the background":             {`bash -c 'echo $$ >$F; ` + forever + `' &`, false},
		"a child that holds stdout":             {`bash -c 'echo $$ >$F; ` + forever + `' & wait_file`, false},
		"nohup":                                 {`nohup bash -c 'echo $$ >$F; ` + forever + `' >/dev/null 2>&1 &`, false},
		"a child that ignores TERM":             {`bash -c 'trap "" TERM HUP INT; echo $$ >$F; ` + forever + `' &`, false},
		"job control gives it a separate group": {`set -m; bash -c 'echo $$ >$F; ` + forever + `' &`, false},
		"setsid":                                {`setsid bash -c 'echo $$ >$F; ` + forever + `' &`, true},
		"setsid, orphaned, ignores TERM, no output": {`(setsid bash -c 'trap "" TERM; echo $$ >$F; ` + forever +
			`' >/dev/null 2>&1 </dev/null &)`, true},
	}
	const prelude = `wait_file() { while [ ! -s $F ]; do sleep 0.01; done; }; `
	for name, tt := range tests {
		for _, how := range []string{"the program ends", "the context ends"} {
			t.Run(name+", "+how, func(t *testing.T) {
				if tt.sweep && runtime.GOOS != "linux" {
					t.Skip("only Linux tells the environment of processes")
				}
				t.Parallel()
				file := filepath.Join(t.TempDir(), "pid")
				script := prelude + tt.script + "\nwait_file; echo go;"
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if how == "the context ends" {
					script += forever
				}
				c := bash(script)
				c.Env = append(os.Environ(), "F="+file)
				c.Limits.Grace = 200 * time.Millisecond
				c.Line = func(s string) {
					if s == "go" && how == "the context ends" {
						cancel()
					}
				}
				if tt.sweep {
					c.Sweep = NewTag()
				}
				r, err := Run(ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				if how == "the program ends" && r.Swept == 0 {
					t.Errorf("the survivors are to be counted")
				}
				if alive(t, file) {
					t.Errorf("the process is still alive")
				}
			})
		}
	}
}

func TestOpenStdoutDoesNotBlockRun(t *testing.T) {
	// The process detaches and cannot be found without a tag, so it still runs when Run returns.
	file := filepath.Join(t.TempDir(), "pid")
	c := bash(`setsid bash -c 'echo $$ >$F; sleep 3600' & while [ ! -s $F ]; do sleep 0.01; done; echo last`)
	c.Env = append(os.Environ(), "F="+file)
	r := run(t, c)
	if r.Tail != "last\n" {
		t.Errorf("tail %q", r.Tail)
	}
	if b, err := os.ReadFile(file); err == nil {
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func TestSweepSparesOtherPrograms(t *testing.T) {
	other := make(chan Result, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan bool, 1)
	go func() {
		c := bash("echo ready; sleep 20")
		c.Sweep = NewTag()
		c.Line = func(string) { ready <- true }
		r, _ := Run(ctx, c)
		other <- r
	}()
	<-ready
	c := bash("true")
	c.Sweep = NewTag()
	if r := run(t, c); r.Swept != 0 {
		t.Errorf("swept %d", r.Swept)
	}
	cancel()
	if r := <-other; r.Ended != Cancelled {
		t.Errorf("the other program ended %s", r.Ended)
	}
}

func TestOutputFloodUsesLimitedMemory(t *testing.T) {
	var peak atomic.Uint64
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc))
			}
		}
	}()
	lines, longest := 0, 0
	c := bash(`head -c 100000000 /dev/zero | tr '\0' 'x' | fold -w 1000; head -c 10000000 /dev/zero | tr '\0' 'y'; echo; echo end`)
	c.Line = func(s string) { lines++; longest = max(longest, len(s)) }
	c.Log = filepath.Join(t.TempDir(), "log")
	c.KeepStdout = 1000
	r := run(t, c)
	close(stop)
	if r.Bytes < 110_000_000 || lines != 100_001 || longest > maxLine+10 {
		t.Errorf("bytes %d, lines %d, longest %d", r.Bytes, lines, longest)
	}
	if !strings.HasSuffix(r.Tail, "yyyy\nend\n") || len(r.Tail) != defaultKeep {
		t.Errorf("tail of %d bytes ends with %q", len(r.Tail), r.Tail[max(0, len(r.Tail)-20):])
	}
	if len(r.Stdout) != 1000 || !r.Truncated {
		t.Errorf("kept %d bytes, truncated %v", len(r.Stdout), r.Truncated)
	}
	if p := peak.Load(); p > 32<<20 {
		t.Errorf("heap grew to %d MiB", p>>20)
	}
	b, err := os.ReadFile(c.Log)
	if err != nil || len(b) > maxLog+200 || !strings.Contains(string(b[len(b)-200:]), "reached its maximum size") {
		t.Errorf("log: %d bytes, err %v", len(b), err)
	}
}

func TestLinesAreSanitizedAndRedacted(t *testing.T) {
	var got []string
	c := bash(`printf 'a\033[31mred\033[0m\r\n10%%\r20%%\rdone\nsecret=%s\nlast' hunter2`)
	c.Line = func(s string) { got = append(got, s) }
	c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	c.Log = filepath.Join(t.TempDir(), "log")
	r := run(t, c)
	want := []string{"ared", "done", "secret=[redacted]", "last"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b, _ := os.ReadFile(c.Log)
	if strings.Contains(r.Tail+string(b), "hunter2") || !strings.HasSuffix(string(b), "[redacted]\nlast") {
		t.Errorf("tail %q, log %q", r.Tail, b)
	}
}

func TestStdoutIsSeparateFromStderr(t *testing.T) {
	c := bash("echo out; echo err >&2")
	c.KeepStdout = 100
	r := run(t, c)
	if string(r.Stdout) != "out\n" || r.Truncated || !strings.Contains(r.Tail, "err\n") {
		t.Errorf("got %+v", r)
	}
}

// Stdout receives every byte of standard output while the program runs, and nothing of standard error.
func TestStdoutIsStreamed(t *testing.T) {
	var got strings.Builder
	var during atomic.Bool
	first := make(chan struct{})
	c := bash(`printf 'begin\033[31m hunter2\n'; read -r -t 10 <fifo; head -c 3000000 /dev/zero | tr '\0' x; echo err >&2; printf '\nlast'`)
	c.Dir = t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(c.Dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	var lines []string
	c.Line = func(s string) { lines = append(lines, s) }
	c.Stdout = writerFunc(func(p []byte) {
		if got.Len() == 0 {
			close(first)
		}
		got.Write(p)
	})
	go func() {
		<-first
		during.Store(true) // the program waits for this, so it has not ended
		_ = os.WriteFile(filepath.Join(c.Dir, "fifo"), []byte("go\n"), 0)
	}()
	r := run(t, c)
	want := "begin\033[31m hunter2\n" + strings.Repeat("x", 3000000) + "\nlast"
	if got.String() != want || !during.Load() {
		t.Errorf("got %d bytes of %d, while it ran: %v", got.Len(), len(want), during.Load())
	}
	if r.Truncated || r.Stdout != nil || !slices.Contains(lines, "err") || r.Bytes != int64(len(want)+len("err\n")) {
		t.Errorf("truncated %v, %d bytes kept, %d printed, lines of both outputs: %d", r.Truncated, len(r.Stdout), r.Bytes,
			len(lines))
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return 0, errors.New("not checked") }

// Processes that are left in the background are named, without secrets and control codes.
func TestSweptProcessesAreNamed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system lists no processes")
	}
	c := bash(`sleep 601 & exec -a $'hunter2\tand\nmore\033[31m' sleep 602 & (exec -a "$(printf '%0200d' 7)" sleep 603) & sleep 0.3; exit 0`)
	c.Sweep = NewTag()
	c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
	r := run(t, c)
	if r.Swept != 3 || len(r.Left) != 3 {
		t.Fatalf("swept %d: %q", r.Swept, r.Left)
	}
	for _, want := range []string{"sleep 601", "[redacted] and more 602", strings.Repeat("0", longestName) + "…"} {
		if !slices.Contains(r.Left, want) {
			t.Errorf("%q is not in %q", want, r.Left)
		}
	}
	c = bash(`for i in $(seq 30); do sleep 604 & done; sleep 0.3`)
	if r = run(t, c); r.Swept != 30 || len(r.Left) != mostNames {
		t.Errorf("swept %d, named %d", r.Swept, len(r.Left))
	}
	if r = run(t, bash("true")); r.Swept != 0 || r.Left != nil {
		t.Errorf("no process was left, but the result names %q", r.Left)
	}
}

func TestOutput(t *testing.T) {
	out, err := Output(t.Context(), bash("echo hi; echo note >&2"))
	if string(out) != "hi\n" || err != nil {
		t.Errorf("got %q, %v", out, err)
	}
	var exit *ExitError
	if _, err = Output(t.Context(), bash("echo why >&2; exit 128")); !errors.As(err, &exit) || exit.Code != 128 ||
		exit.Stderr != "why\n" {
		t.Errorf("got %v", err)
	}
	if _, err = Output(t.Context(), bash("kill -TERM $$")); !errors.As(err, &exit) || exit.Signal != "SIGTERM" ||
		exit.Code != -1 {
		t.Errorf("got %v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, why)
	defer cancel()
	if _, err = Output(ctx, bash("sleep 20 | cat")); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkOutput(b *testing.B) {
	for b.Loop() {
		if _, err := Output(b.Context(), Cmd{Args: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(b.Context(), Cmd{Args: []string{"true"}, Sweep: NewTag()}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSplitSecretsAreRedacted(t *testing.T) {
	var lines []string
	c := bash(`printf '%4090ssecret-value more\n' ''; for i in 1 2 3; do echo xxsecret-value; done`)
	c.Line = func(s string) { lines = append(lines, s) }
	c.Redact = func(s string) string { return strings.ReplaceAll(s, "secret-value", "[redacted]") }
	c.Keep = 25 // begins in the middle of the value
	r := run(t, c)
	if all := strings.Join(lines, "\n") + r.Tail; strings.Contains(all, "secre") || strings.Contains(all, "alue") {
		t.Errorf("lines %q, tail %q", lines, r.Tail)
	}
}
