//go:build unix

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/planparse"
)

// look runs a plugin through the pipeline, as runplan does.
func look(t *testing.T, p *Plugin, s gates.Subject) (gates.Report, error) {
	t.Helper()
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	v, err := gates.Run(t.Context(), []gates.Gate{p}, s, nil)
	if err != nil {
		return gates.Report{}, err
	}
	return v.Reports[0], nil
}

// sumOf returns the checksum of a file, "?" if it cannot be read.
func sumOf(file string) string {
	sum, err := atomicfile.Sum(file)
	if err != nil {
		return "?"
	}
	return sum
}

// A plugin that does not answer causes an error of its gate.
func TestCallFails(t *testing.T) {
	for name, c := range map[string]struct {
		mode   string
		change func(*Config)
		is     error
		want   []string
		alive  bool
	}{
		"crashes": {mode: "crash in call", is: ErrExited,
			want: []string{"it exited with status 2 before it had answered", "panic: nil map", "goroutine"}},
		"exits":  {mode: "exit in call", is: ErrExited, want: []string{"exited with status 7", "license has expired"}},
		"killed": {mode: "killed in call", is: ErrExited, want: []string{"killed from outside"}},
		"panics": {mode: "panic in call", want: []string{"it panicked: the map is upside down", "main.go:"},
			alive: true},
		"hangs": {mode: "hang in call", change: func(c *Config) { c.CallTimeout = 200 * time.Millisecond },
			is: gates.ErrTimeLimit, want: []string{"time limit 200ms", "counting to infinity"}},
		"too big": {mode: "10 MB answer", want: []string{"its answer is too long", "4 MiB"}},
		"cannot look": {mode: "cannot look", want: []string{"the server is away; secret [redacted]", "tried three times"},
			alive: true},
	} {
		t.Run(name, func(t *testing.T) {
			config := stage(t, c.mode)
			config.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
			if c.change != nil {
				c.change(&config)
			}
			p := open(t, config)
			for range 2 { // what has failed is tried again
				_, err := look(t, p, gates.Subject{})
				if err == nil {
					t.Fatal("a failed plugin gave an answer")
				}
				blames(t, err, "actor", c.is, c.want...)
				if alive := p.now != nil; alive != c.alive {
					t.Errorf("the plugin is still there: %v, want %v", alive, c.alive)
				}
			}
		})
	}
}

func TestPassAndFail(t *testing.T) {
	p := open(t, stage(t, "passes"))
	if rep, err := look(t, p, gates.Subject{}); err != nil || rep.Status != gates.Pass || rep.Gate != "actor" ||
		rep.Duration <= 0 {
		t.Errorf("got %+v, %v", rep, err)
	}
	no := false
	config := stage(t, "fails")
	config.Name, config.Blocking = "other", &no
	p = open(t, config)
	if rep, err := look(t, p, gates.Subject{}); err != nil || rep.Status != gates.Warn || rep.Gate != "other" ||
		len(rep.Findings) != 1 {
		t.Errorf("got %+v, %v", rep, err)
	}
	if info := p.Info(); info.Kind != gates.Static || info.Cost != gates.Cheap || info.Blocking ||
		!strings.Contains(info.Command, "gate fails") {
		t.Errorf("info is %+v", info)
	}
}

func TestRestart(t *testing.T) {
	p := open(t, stage(t, "dies after each answer"))
	for i := range 3 {
		rep, err := look(t, p, gates.Subject{})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(rep.Note, "it exited with status 9) and was started again"); said != (i > 0) {
			t.Errorf("call %d: note is %q", i, rep.Note)
		}
		if !p.now.proc.ended(5 * time.Second) {
			t.Fatal("the plugin does not exit")
		}
	}
}

func TestRestartFails(t *testing.T) {
	config := stage(t, "dies after each answer")
	self, err := os.ReadFile(config.Command[0])
	if err != nil {
		t.Fatal(err)
	}
	config.Path = filepath.Join(t.TempDir(), "gate")
	config.Command[0] = config.Path
	if err := os.WriteFile(config.Path, self, 0o755); err != nil {
		t.Fatal(err)
	}
	config.SHA256 = sumOf(config.Path)
	p := open(t, config)
	if _, err := look(t, p, gates.Subject{}); err != nil {
		t.Fatal(err)
	}
	p.now.proc.ended(5 * time.Second)
	if err := os.WriteFile(config.Path+".new", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(config.Path+".new", config.Path); err != nil {
		t.Fatal(err)
	}
	_, err = look(t, p, gates.Subject{})
	blames(t, err, "actor", ErrChecksum, "had ended since the last call (it exited with status 9)")
}

func TestCloseEndsAllProcesses(t *testing.T) {
	for _, mode := range []string{"passes", "deaf to TERM", "leaves a child"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "leaves a child" && !sweeps() {
				t.Skip("this system does not tell which processes belong to a plugin")
			}
			config := stage(t, mode)
			p := open(t, config)
			if _, err := look(t, p, gates.Subject{}); err != nil {
				t.Fatal(err)
			}
			scratch := p.now.scratch
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(scratch); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", scratch, err)
			}
			if _, err := look(t, p, gates.Subject{}); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close it says %v", err)
			}
		})
	}
}

func TestCloseDuringCall(t *testing.T) {
	p := open(t, stage(t, "hang in call"))
	failed := make(chan error)
	go func() {
		_, err := p.Check(context.Background(), gates.Subject{Dir: "."})
		failed <- err
	}()
	time.Sleep(100 * time.Millisecond)
	_ = p.Close()
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("the call says %v", err)
	}
}

func TestCancel(t *testing.T) {
	p := open(t, stage(t, "hang in call"))
	why := errors.New("the user has had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	if _, err := p.Check(ctx, gates.Subject{Dir: "."}); !errors.Is(err, why) {
		t.Errorf("it says %v", err)
	}
	config := stage(t, "hang at start")
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	if _, err := Open(ctx, config); !errors.Is(err, why) {
		t.Errorf("Open says %v", err)
	}
}

// Text on standard output after the handshake is ignored and blocks nothing.
func TestStdoutNoiseIsIgnored(t *testing.T) {
	p := open(t, stage(t, "raw noise in call"))
	if rep, err := look(t, p, gates.Subject{}); err != nil || rep.Status != gates.Pass {
		t.Errorf("got %+v, %v", rep, err)
	}
}

// Concurrent calls wait for their turn.
func TestConcurrentCalls(t *testing.T) {
	p := open(t, stage(t, "fails"))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if rep, err := p.Check(t.Context(), gates.Subject{Dir: "."}); err != nil || rep.Status != gates.Fail {
				t.Errorf("got %+v, %v", rep, err)
			}
		})
	}
	all.Wait()
}

// Plugins that open, fail and close leak neither files nor goroutines.
func TestNothingLeaks(t *testing.T) {
	cycle := func() {
		for _, mode := range []string{"passes", "exit at start", "exit in call"} {
			p, err := Open(t.Context(), stage(t, mode))
			if err != nil {
				continue
			}
			_, _ = p.Check(t.Context(), gates.Subject{Dir: "."})
			_ = p.Close()
		}
	}
	cycle()
	files, routines := openFiles(t), runtime.NumGoroutine()
	for range 5 {
		cycle()
	}
	for range 100 {
		if openFiles(t) <= files && runtime.NumGoroutine() <= routines {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d files are open, %d were; %d goroutines, %d were\n%s", openFiles(t), files, runtime.NumGoroutine(),
		routines,
		stacks[:runtime.Stack(stacks, true)])
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(names)
}

// The digest changes with everything that affects the answers.
func TestDigest(t *testing.T) {
	config := stage(t, "passes")
	digest := func(c Config) string {
		d, err := open(t, c).Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := digest(config)
	if again := digest(config); again != first {
		t.Error("the digest of the same plugin differs")
	}
	config.Settings = map[string]any{"word": "right"}
	if digest(config) == first {
		t.Error("it is the same with other settings")
	}
}

// A plugin gets only the basic environment variables and those that its settings name.
func TestEnvironment(t *testing.T) {
	config := stage(t, "tells its environment")
	config.Dir = t.TempDir()
	config.Environ = append(config.Environ, "AWS_SECRET_ACCESS_KEY=s", "GITHUB_TOKEN=s", "ASKED_TOKEN=yes",
		"WILD_OPEN=yes", "WILD_TOKEN=s",
		"HTTPS_PROXY=http://u:p@proxy", "SSH_AUTH_SOCK=/s", "LC_ALL=C", "TMPDIR=/very/long", "RUNPLAN_TAG=other",
		"GIT_DIR=/g", "PLUGIN_CLIENT_CERT=x")
	config.Env = append(config.Env, "ASKED_TOKEN", "WILD_*")
	p := open(t, config)
	rep, err := look(t, p, gates.Subject{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range rep.Findings {
		name, value, _ := strings.Cut(f.Message, "=")
		names = append(names, name)
		if name == "TMPDIR" && len(value) > 60 {
			t.Errorf("TMPDIR is %s", value)
		}
	}
	slices.Sort(names)
	want := []string{"ASKED_TOKEN", "GATE_TEST_MARK", "HOME", "LC_ALL", "PATH", "PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT",
		"PLUGIN_PROTOCOL_VERSIONS",
		"PLUGIN_UNIX_SOCKET_DIR", CookieKey, "RUNPLAN_TAG", "TEMP", "TMP", "TMPDIR", "WILD_OPEN"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if real, _ := filepath.EvalSymlinks(config.Dir); rep.Output != real {
		t.Errorf("it works in %s, want %s", rep.Output, real)
	}
}

func TestRequest(t *testing.T) {
	p := open(t, stage(t, "tells what it was asked"))
	s := gates.Subject{
		Dir: t.TempDir(), Base: "b45e", Tree: "7ee", Changed: []string{"a.go", "b\xff.go"},
		Before: &gates.TestCount{Passed: 3},
		Batch:  planparse.Batch{Key: "3", Number: "3", Title: "Count\xff", Files: planparse.Files{Create: []string{"a.go"}}},
	}
	rep, err := look(t, p, s)
	if err != nil {
		t.Fatal(err)
	}
	var got asked
	if err := json.Unmarshal([]byte(rep.Output), &got); err != nil {
		t.Fatal(err)
	}
	want := asked{
		Dir: s.Dir, Base: "b45e", Tree: "7ee", Changed: []string{"a.go"}, Before: s.Before, Timeout: 10 * time.Second,
		Batch: planparse.Batch{Key: "3", Number: "3", Title: "Count\uFFFD", Files: planparse.Files{Create: []string{"a.go"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(rep.Note, "1 changed paths are not UTF-8") {
		t.Errorf("note is %q", rep.Note)
	}
}

// The output of a plugin is in the log of the plugin and in the log of the call, without secrets.
func TestLogs(t *testing.T) {
	config := stage(t, "noise in call")
	config.LogFile = filepath.Join(t.TempDir(), "new", "plugin.log")
	config.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2hunter2", "[redacted]") }
	p := open(t, config)
	want := "this goes to stdout\nthis goes to stderr, token=[redacted]\n"
	for range 2 {
		rep, err := look(t, p, gates.Subject{LogDir: filepath.Join(t.TempDir(), "logs"), Redact: config.Redact})
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(rep.Log); err != nil || string(data) != want || rep.LogHash != sumOf(rep.Log) {
			t.Errorf("log %s is %q, %v", rep.Log, data, err)
		}
	}
	_ = p.Close()
	if data, err := os.ReadFile(config.LogFile); err != nil || string(data) != want+want {
		t.Errorf("the log of its life is %q, %v", data, err)
	}
}

func sweeps() bool { _, err := os.Stat("/proc/self/environ"); return err == nil }
