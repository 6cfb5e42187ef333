// Package servertest tests runplan-temporal against a Temporal server, with processes that are killed, frozen and
// restarted. No other module depends on the server.
package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/server/common/testing/freeport"
)

// The programs under test, which TestMain builds.
var (
	runplan string
	server  string
)

var programs = flag.String("programs", "", "folder with runplan-temporal and devserver, to build neither")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(build(m.Run))
}

// built is the folder that keeps the programs, so that the next test run does not link them again.
const built = "../../bin/temporal"

func build(run func() int) int {
	dir := *programs
	if dir == "" {
		var err error
		if dir, err = buildAll(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
	}
	runplan, server = filepath.Join(dir, "runplan-temporal"), filepath.Join(dir, "devserver")
	return run()
}

// buildAll builds the programs and returns a folder that keeps them while this test is running, because another
// process may build them again in the meantime.
func buildAll() (dir string, err error) {
	at, err := filepath.Abs(built)
	if err == nil {
		err = os.MkdirAll(at, 0o755)
	}
	if err == nil {
		dir, err = os.MkdirTemp(filepath.Dir(at), "servertest-")
	}
	if err != nil {
		return "", err
	}
	for _, p := range []struct{ at, pkg, name string }{{"..", "./cmd/runplan-temporal", "runplan-temporal"},
		{".", "./devserver", "devserver"}} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(at, p.name), p.pkg)
		cmd.Dir, cmd.Stderr, cmd.Stdout = p.at, os.Stderr, os.Stderr
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOTOOLCHAIN=local", "CGO_ENABLED=0")
		err := cmd.Run()
		if err == nil {
			err = os.Link(filepath.Join(at, p.name), filepath.Join(dir, p.name))
		}
		if err != nil {
			os.RemoveAll(dir)
			return "", fmt.Errorf("build %s: %w", p.name, err)
		}
	}
	return dir, nil
}

// stage is one team: a shared repository, a checkout, a server and workers, all on this machine.
type stage struct {
	t       *testing.T
	dir     string
	project string
	port    int
	env     []string
	server  *process
	workers map[string]*process
}

// heartbeat is the interval that the tests use: short, so that a dead worker is noticed soon.
const heartbeat = 4 * time.Second

func newStage(t *testing.T) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, dir: dir, project: filepath.Join(dir, "project"), port: freeport.MustGetFreePort(),
		workers: map[string]*process{}}
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"HOME=" + home, "RUNPLAN_HOME=" + filepath.Join(home, "runplan"), "GIT_CONFIG_NOSYSTEM=1", "PATH=" +
			os.Getenv("PATH"), "NO_COLOR=1", "RUNPLAN_TRUST=all",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
		"TMPDIR=" + dir,
	}
	s.git(dir, "init", "-q", "--bare", "-b", "main", "origin.git")
	s.git(dir, "init", "-q", "-b", "main", "project")
	s.git(s.project, "remote", "add", "origin", s.remote())
	// The configuration of the tests names their folder. It is not committed, so that trees can be compared; it is
	// sent with the plan.
	s.write(".git/info/exclude", "/.runplan/\n")
	return s
}

func (s *stage) remote() string  { return filepath.Join(s.dir, "origin.git") }
func (s *stage) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// write writes a file of the project.
func (s *stage) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// commit commits all files of the project and pushes the commit.
func (s *stage) commit() {
	s.git(s.project, "add", "-A")
	s.git(s.project, "commit", "-q", "-m", "start")
	s.git(s.project, "push", "-q", "origin", "HEAD:main")
}

func (s *stage) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// process is a started program whose output goes to a file.
type process struct {
	*exec.Cmd
	log  string
	done chan struct{}
	err  error
}

func (s *stage) start(name, dir string, env []string, program string, args ...string) *process {
	s.t.Helper()
	p := &process{Cmd: exec.Command(program, args...), log: filepath.Join(s.dir, name+".log"), done: make(chan struct{})}
	f, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	p.Dir, p.Env, p.Stdout, p.Stderr = dir, append(append([]string{}, s.env...), env...), f, f
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { p.err = p.Wait(); f.Close(); close(p.done) }()
	s.t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGCONT)
		_ = p.Process.Kill()
		<-p.done
	})
	return p
}

func (p *process) text() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// kill sends SIGKILL to the process and waits for its end.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.done
}

// code waits for the end of the process and returns its exit status.
func (p *process) code(t *testing.T, most time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(most):
		t.Fatalf("%s does not end:\n%s", filepath.Base(p.log), p.text())
	}
	return p.ProcessState.ExitCode()
}

// serve starts the server on the database file of the previous server.
func (s *stage) serve(args ...string) {
	s.t.Helper()
	name := fmt.Sprintf("server%d", time.Now().UnixNano())
	s.server = s.start(name, s.dir, nil, server,
		append([]string{"--port", strconv.Itoa(s.port), "--db-filename", filepath.Join(s.dir, "server.db")}, args...)...)
	s.listens(s.server)
}

// worker starts a worker.
func (s *stage) worker(name string, args ...string) *process {
	s.t.Helper()
	p := s.start(name, s.dir, nil, runplan,
		append([]string{"worker", "--address", s.address(), "--remote", s.remote(), "--dir", filepath.Join(s.dir, name)},
			args...)...)
	s.workers[name] = p
	s.listens(p)
	return p
}

// listens waits until a process prints that it is listening. Otherwise the test fails with the output of the process.
func (s *stage) listens(p *process) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(p.text(),
		"listening"); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.done:
			s.t.Fatalf("%s has ended: %v\n%s", filepath.Base(p.log), p.err, p.text())
		default:
		}
		if time.Now().After(end) {
			_ = p.Process.Signal(syscall.SIGQUIT) // it prints where it is
			<-p.done
			s.t.Fatalf("%s does not listen:\n%s", filepath.Base(p.log), p.text())
		}
	}
}

// run starts a run of the plan on Temporal.
func (s *stage) run(args ...string) *process {
	s.t.Helper()
	return s.start(fmt.Sprintf("run%d", time.Now().UnixNano()), s.project, nil, runplan,
		append([]string{"run", "plan.md", "--plain"}, s.on(args...)...)...)
}

// on adds the flags of the Temporal engine to args.
func (s *stage) on(args ...string) []string {
	return append([]string{"--engine", "temporal", "--address", s.address(), "--heartbeat", heartbeat.String()}, args...)
}

// call runs runplan to its end and returns its output and exit status.
func (s *stage) call(args ...string) (out string, code int) {
	s.t.Helper()
	return s.callFor(2*time.Minute, args...)
}

func (s *stage) callFor(most time.Duration, args ...string) (out string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, runplan, args...)
	cmd.Dir, cmd.Env = s.project, s.env
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		s.t.Fatal(err)
	}
	return both.String(), cmd.ProcessState.ExitCode()
}

func (s *stage) await(most time.Duration, what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(most); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within %s", what, most)
		}
	}
}

// ledger returns the agents' own records, one line for each start: "<batch> <attempt> <pid> <folder>".
func (s *stage) ledger() [][]string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "ledger"))
	var out [][]string
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.Fields(line))
	}
	return out
}

// agentOf returns the process ID of the last agent that was started in a worker's folder, or 0 if that agent has
// ended.
func (s *stage) agentOf(worker string) int {
	all := s.ledger()
	for i := len(all) - 1; i >= 0; i-- {
		if len(all[i]) < 4 || !strings.Contains(all[i][3], "/"+worker+"/") {
			continue
		}
		if pid, _ := strconv.Atoi(all[i][2]); alive(pid) {
			return pid
		}
		return 0
	}
	return 0
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// slowAgent configures an agent that works slowly and writes a file for its batch.
func (s *stage) slowAgent(seconds string) {
	s.write(".runplan/config.toml", fmt.Sprintf(`[run]
agent = "slow"
[agents.slow]
command = ["bash", %q]
env = { LEDGER = %q, PAUSE = %q }
`, filepath.Join(s.dir, "agent.sh"), filepath.Join(s.dir, "ledger"), seconds))
	agent := `set -eu
echo "$RUNPLAN_BATCH $RUNPLAN_ATTEMPT $$ $PWD" >> "$LEDGER"
for i in 1 2 3 4; do
  sleep "$PAUSE"
  echo "batch $RUNPLAN_BATCH step $i" >> "out$RUNPLAN_BATCH.txt"
done
`
	if err := os.WriteFile(filepath.Join(s.dir, "agent.sh"), []byte(agent), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// stormPlan returns a plan with n independent batches.
func stormPlan(n int) string {
	var b strings.Builder
	b.WriteString("# Storm\n\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "## Batch %d: file %d\n\n**Files:**\n- Create: `out%d.txt`\n\nWrite the file.\n\n", i, i, i)
	}
	return b.String()
}

// landed checks that the run branch contains each batch once, with all of its work, and that its history is linear.
func (s *stage) landed(n int) error {
	main := s.git(s.remote(), "rev-parse", "refs/heads/runplan/plan/main")
	if here := s.git(s.project, "rev-parse", "refs/heads/runplan/plan/main"); here != main {
		return fmt.Errorf("the run branch is at %s here and at %s in the shared repository", here, main)
	}
	seen := map[string]int{}
	for _, key := range strings.Fields(
		s.git(s.remote(), "log", "--format=%(trailers:key=Runplan-Batch,valueonly)", "main.."+main)) {
		seen[key]++
	}
	for i := 1; i <= n; i++ {
		if k := strconv.Itoa(i); seen[k] != 1 {
			return fmt.Errorf("batch %s is on the run branch %d times", k, seen[k])
		}
		want := ""
		for step := 1; step <= 4; step++ {
			want += fmt.Sprintf("batch %d step %d\n", i, step)
		}
		if got := s.git(s.remote(), "show", fmt.Sprintf("%s:out%d.txt", main, i)); got != strings.TrimSpace(want) {
			return fmt.Errorf("batch %d left %q", i, got)
		}
	}
	if merges := s.git(s.remote(), "rev-list", "--merges", "main.."+main); merges != "" || len(seen) != n {
		return fmt.Errorf("the run branch forked or has more than the plan: %v, merges %q", seen, merges)
	}
	return nil
}

// events returns the journal of the newest run from the checkout.
func (s *stage) events() []map[string]any {
	s.t.Helper()
	out, code := s.call("log", "--json")
	if code != 0 {
		s.t.Fatal(out)
	}
	var all []map[string]any
	for line := range strings.Lines(out) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// plain replaces the parts of a report that differ between runs: IDs, commits, times and paths.
func plain(text string) string {
	for _, r := range []struct{ find, put string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "RUN"},
		{`\b[0-9a-f]{7,64}\b`, "HASH"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?( [A-Z]+)?`, "DATE"},
		{`\d\d:\d\d:\d\d`, "CLOCK"},
		{`\b\d+(\.\d+)?(ms|s|m|h)( ?\d+(ms|s|m))?\b`, "TIME"},
		{`/tmp/[\w/.-]+`, "PATH"},
		{`[█▒▪░ ]{2,}`, " "}, // the bars of the timeline
	} {
		text = regexp.MustCompile(r.find).ReplaceAllString(text, r.put)
	}
	return text
}
