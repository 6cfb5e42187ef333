package browser

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// screenshots is the folder for the screenshots of the docs; "" makes none.
var screenshots = flag.String("screenshots", "", "make the screenshots of docs, in this folder")

// program is the runplan under test.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "the browser is slow, and -short is set: no test ran")
		return
	}
	code := withProgram(m)
	if running.stop != nil {
		running.stop()
	}
	os.Exit(code)
}

func withProgram(m *testing.M) int {
	if given := os.Getenv("RUNPLAN_BIN"); given != "" {
		program = given
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "rpb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "runplan")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", program, "../../cmd/runplan")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build runplan: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// project is a repository with a plan, and agents whose every step is defined by a script.
type project struct {
	t    *testing.T
	root string // holds home and repository
	dir  string // the repository
	env  []string
}

// newProject makes a repository with these files. agent is the bash code that an agent runs; $STAGE is the folder in
// which it waits for a file of the test.
func newProject(t *testing.T, config, agent string, files map[string]string) *project {
	t.Helper()
	root := t.TempDir()
	p := &project{t: t, root: root, dir: filepath.Join(root, "shop")}
	home := filepath.Join(root, "home")
	p.write(filepath.Join(home, ".gitconfig"),
		"[user]\n\tname = Ada Tester\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
	p.write(filepath.Join(root, "agent.sh"), "set -eu\nSTAGE="+root+
		"\nbrief=$(cat)\nhold() { until [ -e $STAGE/$1 ]; do sleep 0.05; done; }\n"+agent)
	p.write(filepath.Join(home, "runplan", "config.toml"), "[agents.fake]\ncommand = [\"bash\", \""+
		filepath.Join(root, "agent.sh")+"\"]\n"+config)
	for name, text := range files {
		p.write(filepath.Join(p.dir, name), text)
	}
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "RUNPLAN_HOME=" + filepath.Join(home, "runplan"), "TMPDIR=" + root,
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "TZ=UTC", "LC_ALL=C.UTF-8",
		"RUNPLAN_TRUST=all", "NO_COLOR=1", "TERM=dumb",
		"RUNPLAN_ROUTING_WORKER_MEM_THRESHOLD_GB=0.1", "RUNPLAN_SAMPLING_SAMPLE_MIN_MEMORY_PER_GB=0.01",
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return p
}

func (p *project) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// allow lets the agents continue that wait for name.
func (p *project) allow(name string) { p.write(filepath.Join(p.root, name), "") }

// started is a program that a test started.
type started struct {
	*exec.Cmd
	out  bytes.Buffer
	done chan error
}

// start starts runplan with args.
func (p *project) start(args ...string) *started {
	p.t.Helper()
	s := &started{Cmd: exec.Command(program, args...), done: make(chan error, 1)}
	s.Dir, s.Env, s.Stdout, s.Stderr = p.dir, p.env, &s.out, &s.out
	if err := s.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { s.done <- s.Cmd.Wait() }()
	p.t.Cleanup(func() { s.Process.Kill() })
	return s
}

// wait waits until the program has ended, and returns its output and exit status.
func (p *project) wait(s *started) (text string, code int) {
	p.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		p.t.Fatalf("%v does not end:\n%s", s.Args, s.out.String())
	}
	return s.out.String(), s.ProcessState.ExitCode()
}

// do runs runplan to its end, checks its exit status and returns its output.
func (p *project) do(want int, args ...string) string {
	p.t.Helper()
	text, code := p.wait(p.start(args...))
	if code != want {
		p.t.Fatalf("runplan %v: exit status %d, want %d\n%s", args, code, want, text)
	}
	return text
}

// page is a running server of the page.
type page struct {
	url  string // with the token
	base string
	stop func()
}

// serve starts the server of the page at an address.
func (p *project) serve(addr string) page {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "serve", "--addr", addr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = patience
	cmd.Dir, cmd.Env = p.dir, p.env
	var story bytes.Buffer
	cmd.Stderr = &story
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cmd.Wait()
		p.t.Fatalf("the page does not begin: %v\n%s", err, story.String())
	}
	go io.Copy(io.Discard, out)
	ended := false
	stop := func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			p.t.Errorf("the page ended with %v\n%s", err, story.String())
		}
	}
	p.t.Cleanup(stop)
	url := strings.TrimSpace(line)
	base, _, _ := strings.Cut(url, "/?token=")
	return page{url, base, stop}
}
