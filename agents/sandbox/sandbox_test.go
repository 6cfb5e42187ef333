//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/proc"
)

// project is a repository with a worktree, as in a run.
type project struct {
	t               *testing.T
	root, home      string
	workspace, temp string
	branch          string
}

func newProject(t *testing.T) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, root: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), branch: "runplan/plan/b1"}
	p.workspace, p.temp = filepath.Join(p.root, ".runplan", "worktrees", "w1"),
		filepath.Join(p.root, ".runplan", "tmp", "b1")
	for _, d := range []string{p.root, p.temp, filepath.Join(p.home, ".ssh"), filepath.Join(p.home, ".agent"),
		filepath.Join(p.home, ".config", "gh")} {
		p.check(os.MkdirAll(d, 0o755))
	}
	p.check(os.WriteFile(filepath.Join(p.home, ".ssh", "id"), []byte("key"), 0o600))
	p.check(os.WriteFile(filepath.Join(p.home, ".netrc"), []byte("password"), 0o600))
	p.check(os.WriteFile(filepath.Join(p.root, "a.txt"), []byte("a\n"), 0o644))
	p.git(p.root, "init", "--quiet", "-b", "main")
	p.git(p.root, "add", "a.txt")
	p.git(p.root, "commit", "--quiet", "-m", "start")
	p.git(p.root, "worktree", "add", "--quiet", "-b", p.branch, p.workspace)
	return p
}

func (p *project) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + p.temp, "GIT_CONFIG_NOSYSTEM=1",
		"SSH_AUTH_SOCK=/tmp/agent.sock",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x",
	}
}

func (p *project) git(dir string, args ...string) string {
	p.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, p.env()
	out, err := c.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) places() Places {
	return Places{Workspace: p.workspace, Temp: p.temp, Home: p.home, Root: p.root}
}

func (p *project) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// open makes a box without starting a program.
func (p *project) open(s Spec) *Box {
	p.t.Helper()
	b := &Box{spec: s, at: p.places(), env: p.env(), name: "runplan-x"}
	var err error
	b.git, err = GitOf(p.workspace)
	p.check(err)
	b.objects = filepath.Join(p.temp, "git-objects")
	p.check(b.git.prepare(b.objects))
	return b
}

func TestGitOf(t *testing.T) {
	p := newProject(t)
	g, err := GitOf(p.workspace)
	want := Git{Common: filepath.Join(p.root, ".git"), Private: filepath.Join(p.root, ".git", "worktrees", "w1"),
		Branch: "refs/heads/runplan/plan/b1"}
	if d := cmp.Diff(want, g); d != "" || err != nil {
		t.Error(err, d)
	}
	for _, dir := range []string{p.root, p.home} { // a repository of its own, and none
		if g, err := GitOf(dir); g != (Git{}) || err != nil {
			t.Errorf("%s: %+v, %v", dir, g, err)
		}
	}
	for _, text := range []string{"", "gitdir: /no/such/place", "gitdir: " + p.home} {
		p.check(os.WriteFile(filepath.Join(p.home, ".git"), []byte(text), 0o644))
		if _, err := GitOf(p.home); err == nil || !strings.Contains(err.Error(), "find the repository of") {
			t.Errorf("%q: %v", text, err)
		}
	}
	// The agent may not move a branch of the user.
	p.git(p.workspace, "checkout", "--quiet", "-b", "theirs")
	if g, err = GitOf(p.workspace); err != nil || g.Branch != "refs/heads/theirs" || g.branches() != nil {
		t.Errorf("%+v, %v, %v", g, err, g.branches())
	}
}

func TestCommandLines(t *testing.T) {
	p := newProject(t)
	in := func(b *Box, args ...string) string {
		return strings.NewReplacer(p.root, "ROOT", p.home, "HOME").Replace(strings.Join(b.Args(args), " "))
	}
	b := p.open(Spec{Kind: "custom", Command: []string{"jail", "--rw={workspace}:{tmp}", "{home}", "{git}", "--"}})
	if got := in(b, "agent",
		"-x"); got != "jail --rw=ROOT/.runplan/worktrees/w1:ROOT/.runplan/tmp/b1 HOME ROOT/.git -- agent -x" {
		t.Error(got)
	}
	write := []string{"~/.agent", "~/.gone", p.home + "/.config/gh"}
	line := in(p.open(Spec{Kind: "bwrap", Command: []string{"--unshare-net"}, Write: write}), "agent", "-x")
	for _, want := range []string{
		"bwrap --die-with-parent --unshare-pid ", " --ro-bind / / ", " --tmpfs /tmp ", " --tmpfs HOME/.ssh ",
		" --ro-bind /dev/null HOME/.netrc ",
		" --ro-bind ROOT ROOT --ro-bind ROOT/.git ROOT/.git --bind ROOT/.runplan/worktrees/w1 ROOT/.runplan/worktrees/w1 " +
			"--bind ROOT/.runplan/tmp/b1 ROOT/.runplan/tmp/b1 " +
			"--bind ROOT/.git/worktrees/w1 ROOT/.git/worktrees/w1 --bind ROOT/.git/refs/heads/runplan/plan " +
			"ROOT/.git/refs/heads/runplan/plan " +
			"--bind ROOT/.git/logs/refs/heads/runplan/plan ROOT/.git/logs/refs/heads/runplan/plan --bind HOME/.agent " +
			"HOME/.agent --bind HOME/.config/gh HOME/.config/gh " +
			"--unsetenv SSH_AUTH_SOCK --chdir ROOT/.runplan/worktrees/w1 --unshare-net -- agent -x",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %s", want, line)
		}
	}
	if strings.Contains(line, ".gone") || strings.Contains(line, "tmpfs HOME/.config/gh") {
		t.Errorf("got %s", line)
	}
	line = in(p.open(Spec{Kind: "docker", Image: "acme/agent:1", Command: []string{"--network", "host"}, Write: write}),
		"agent", "-x")
	for _, want := range []string{
		"docker run --rm --interactive --init --name runplan-x --cap-drop ALL --security-opt no-new-privileges --user ",
		" --tmpfs HOME:mode=0777 ",
		" --mount type=bind,source=ROOT,target=ROOT,readonly ", " --mount type=bind,source=HOME/.agent,target=HOME/.agent ",
		" --env TMPDIR ", " --env GIT_OBJECT_DIRECTORY ", " --network host acme/agent:1 agent -x",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %s", want, line)
		}
	}
	if strings.Contains(line, "--env PATH") || strings.Contains(line, "SSH_AUTH_SOCK") || strings.Contains(line, "a@x") {
		t.Errorf("got %s", line)
	}
	if got := mount(`/a,"b`, ""); got != `type=bind,"source=/a,""b","target=/a,""b"` {
		t.Error(got)
	}
	b = p.open(Spec{Kind: "sandbox-exec"})
	b.at.Temp = `/t "\`
	got := b.Args([]string{"agent"})
	if len(got) != 4 || got[0] != "sandbox-exec" || got[1] != "-p" || got[3] != "agent" {
		t.Fatalf("got %q", got)
	}
	profile := strings.NewReplacer(p.root, "ROOT", p.home, "HOME").Replace(got[2])
	for _, want := range []string{
		"(version 1)\n(allow default)\n(deny file-write*)\n", `(deny file-read* (subpath "HOME/.ssh"))`,
		`(allow file-read* file-write* (subpath "ROOT/.runplan/worktrees/w1"))`, `(subpath "/t \"\\"))`,
	} {
		if !strings.Contains(profile, want) {
			t.Errorf("%q is not in %s", want, profile)
		}
	}
}

// The repository receives the valid objects that git wrote in the sandbox, and no damaged or forged ones.
func TestRepositoryReceivesOnlyValidObjects(t *testing.T) {
	p := newProject(t)
	b := p.open(Spec{Kind: "bwrap"})
	made := func(text string, args ...string) string {
		c := exec.Command("git", append([]string{"hash-object", "-w", "--stdin"}, args...)...)
		c.Dir, c.Env, c.Stdin = p.workspace, b.Environ(), strings.NewReader(text)
		out, err := c.Output()
		p.check(err)
		return strings.TrimSpace(string(out))
	}
	good, victim := made("good\n"), made("bad\n")
	store := filepath.Join(p.root, ".git", "objects")
	if p.exists(filepath.Join(store, good[:2], good[2:])) {
		t.Fatal("the object is in the main object store")
	}
	// An object under the name of another one, a link to a file outside, a file that is not an object, a truncated
	// object.
	forged := "01" + strings.Repeat("23", 19)
	p.check(os.MkdirAll(filepath.Join(b.objects, "01"), 0o755))
	text, err := os.ReadFile(filepath.Join(b.objects, victim[:2], victim[2:]))
	p.check(err)
	p.check(os.WriteFile(filepath.Join(b.objects, "01", forged[2:]), text, 0o644))
	linked := "01" + strings.Repeat("45", 19)
	p.check(os.Symlink(filepath.Join(p.home, ".netrc"), filepath.Join(b.objects, "01", linked[2:])))
	p.check(os.WriteFile(filepath.Join(b.objects, "01", "README"), []byte("x"), 0o644))
	p.check(os.Remove(filepath.Join(b.objects, victim[:2], victim[2:])))
	p.check(os.WriteFile(filepath.Join(b.objects, victim[:2], victim[2:]), text[:len(text)-6], 0o644))
	err = b.git.collect(t.Context(), b.objects, p.env())
	if err == nil || !strings.Contains(err.Error(), forged+" is damaged: its content does not match its hash") ||
		!strings.Contains(err.Error(), victim+" is damaged") || strings.Contains(err.Error(), "README") {
		t.Errorf("got %v", err)
	}
	if got := p.git(p.root, "cat-file", "-p", good); got != "good" {
		t.Errorf("got %q", got)
	}
	for _, id := range []string{forged, linked, victim} {
		if p.exists(filepath.Join(store, id[:2], id[2:])) {
			t.Errorf("%s was taken over", id)
		}
	}
	// Git reads packs, and rejects a damaged one too.
	c := exec.Command("sh", "-c",
		`git rev-parse HEAD | git pack-objects --revs "$GIT_OBJECT_DIRECTORY/pack/pack" && echo junk >"$GIT_OBJECT_DIRECTORY/pack/junk.pack"`)
	c.Dir, c.Env = p.workspace, b.Environ()
	p.check(os.MkdirAll(filepath.Join(b.objects, "pack"), 0o755))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err = b.git.collect(t.Context(), b.objects, p.env()); err == nil ||
		!strings.Contains(err.Error(), "read the pack junk.pack") {
		t.Errorf("got %v", err)
	}
	if packs, _ := filepath.Glob(filepath.Join(store, "pack", "*.pack")); len(packs) != 1 {
		t.Errorf("packs: %q", packs)
	}
	p.git(p.root, "fsck", "--strict")
}

// bubblewrap skips the test with a message if bubblewrap is not usable.
func bubblewrap(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc",
		"true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap is not installed, or not allowed here: %v %s", err, out)
	}
}

// run runs a script in a box, like an agent.
func (p *project) run(s Spec, script string) proc.Result {
	p.t.Helper()
	b, err := Open(p.t.Context(), s, p.places(), "bash", p.env())
	p.check(err)
	res, err := proc.Run(p.t.Context(), proc.Cmd{
		Args: b.Args([]string{"bash", "-c", script}), Dir: p.workspace, Env: b.Environ(), Sweep: proc.NewTag(),
		Limits: proc.Limits{Total: 20 * time.Second},
	})
	p.check(errors.Join(err, b.Close(p.t.Context())))
	return res
}

func TestBubblewrapConfinesProgram(t *testing.T) {
	bubblewrap(t)
	p := newProject(t)
	secret := filepath.Join(p.home, ".agent", "state")
	private := fmt.Sprintf("/tmp/runplan-sandbox-test-%d", os.Getpid())
	res := p.run(Spec{Kind: "bwrap", Write: []string{"~/.agent"}}, `
echo in >in.txt; echo t >"$TMPDIR/t"; echo x >`+private+`; echo s >"$HOME/.agent/state"
for f in ../../../outside "$HOME/outside" /etc/outside ../../../.git/config ../../../.git/hooks/post-commit ../../../.git/refs/heads/main; do
	(echo broken >>"$f") 2>/dev/null && echo "wrote $f"
done
rm -rf ../../../.git/objects ../../../.runplan/journal 2>/dev/null
cat "$HOME/.ssh/id" "$HOME/.netrc" 2>/dev/null
echo "sock: ${SSH_AUTH_SOCK:-none}"
[ "$$" -lt 100 ] && echo "pids of its own"
ls /proc | grep -c '^[0-9]' | sed 's/^/processes /'`)
	if !res.OK() || strings.Contains(res.Tail, "wrote") || strings.Contains(res.Tail, "key") ||
		strings.Contains(res.Tail, "password") {
		t.Errorf("got %+v", res)
	}
	for _, want := range []string{"sock: none", "pids of its own"} {
		if !strings.Contains(res.Tail, want) {
			t.Errorf("%q is not in %q", want, res.Tail)
		}
	}
	for _, path := range []string{filepath.Join(p.workspace, "in.txt"), filepath.Join(p.temp, "t"), secret} {
		if !p.exists(path) {
			t.Errorf("%s could not be written", path)
		}
	}
	for _, path := range []string{private, filepath.Join(p.root, "outside"), filepath.Join(p.home, "outside"),
		"/etc/outside", filepath.Join(p.root, ".git", "hooks", "post-commit")} {
		if p.exists(path) {
			t.Errorf("%s was written", path)
		}
	}
	p.git(p.root, "fsck", "--strict")
}

// In the sandbox git status, diff, add, commit and log work, and the commits exist outside. The branch main and the
// git settings do not change.
func TestGitWorksInBubblewrap(t *testing.T) {
	bubblewrap(t)
	p := newProject(t)
	main := p.git(p.root, "rev-parse", "main")
	config, err := os.ReadFile(filepath.Join(p.root, ".git", "config"))
	p.check(err)
	res := p.run(Spec{Kind: "bwrap"}, `set -e
echo b >>a.txt; git status --short; git diff --stat; git add -A; git commit -m made; git log --oneline | wc -l
git commit --amend -m again; git reset --soft HEAD~1; git commit -m third; git show HEAD:a.txt
echo later >later.txt; git add later.txt
! git branch -D main 2>/dev/null; ! git update-ref refs/heads/main HEAD 2>/dev/null; ! git config user.name evil 2>/dev/null; ! git push . HEAD:refs/heads/main 2>/dev/null; echo end`)
	if !res.OK() || !strings.HasSuffix(res.Tail, "end\n") {
		t.Fatalf("got %+v", res)
	}
	if got := p.git(p.root, "show", p.branch+":a.txt"); got != "a\nb" {
		t.Errorf("the commit has %q", got)
	}
	if got := p.git(p.workspace, "status", "--short"); got != "A  later.txt" {
		t.Errorf("the worktree is %q", got)
	}
	p.git(p.workspace, "write-tree")
	if got := p.git(p.root, "rev-parse", "main"); got != main {
		t.Errorf("main moved to %s", got)
	}
	if now, _ := os.ReadFile(filepath.Join(p.root, ".git", "config")); string(now) != string(config) {
		t.Errorf("the settings are %s", now)
	}
	p.git(p.root, "fsck", "--strict")
}

func TestOpenRejectsProgramInTmp(t *testing.T) {
	bubblewrap(t)
	p := newProject(t)
	dir, err := os.MkdirTemp("/tmp", "agent")
	p.check(err)
	defer os.RemoveAll(dir)
	agent := filepath.Join(dir, "agent")
	p.check(os.WriteFile(agent, []byte("#!/bin/sh\n"), 0o755))
	if _, err := Open(t.Context(), Spec{Kind: "bwrap"}, p.places(), agent, p.env()); !errors.Is(err, ErrUnusable) ||
		!strings.Contains(err.Error(), "does not exist in the sandbox") {
		t.Errorf("got %v", err)
	}
	b, err := Open(t.Context(), Spec{Kind: "bwrap", Write: []string{dir}}, p.places(), agent, p.env())
	p.check(err)
	p.check(b.Close(t.Context()))
}

func TestBubblewrapEndsBackgroundProcesses(t *testing.T) {
	bubblewrap(t)
	p := newProject(t)
	p.run(Spec{Kind: "bwrap"}, `(setsid bash -c 'sleep 1; echo late >late.txt' &) ; exit 0`)
	b, err := Open(t.Context(), Spec{Kind: "bwrap"}, p.places(), "bash", p.env())
	p.check(err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	res, err := proc.Run(ctx, proc.Cmd{
		Args: b.Args([]string{"bash", "-c", "trap '' TERM; while :; do sleep 1; echo later >later.txt; done"}),
		Dir:  p.workspace, Env: b.Environ(),
		Sweep: proc.NewTag(), Limits: proc.Limits{Grace: 200 * time.Millisecond},
	})
	if err != nil || res.Ended != proc.Cancelled {
		t.Errorf("got %+v, %v", res, err)
	}
	time.Sleep(1500 * time.Millisecond)
	if p.exists(filepath.Join(p.workspace, "late.txt")) || p.exists(filepath.Join(p.workspace, "later.txt")) {
		t.Error("a program of the agent continued")
	}
}

// A sandbox that is not usable is an error; the agent never runs without it.
func TestUnusableSandboxIsError(t *testing.T) {
	p := newProject(t)
	bin := filepath.Join(p.home, "bin")
	p.check(os.MkdirAll(bin, 0o755))
	env := append(slices.DeleteFunc(p.env(), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }), "PATH="+bin)
	if _, err := Open(t.Context(), Spec{Kind: "bwrap"}, p.places(), "bash", env); !errors.Is(err, ErrUnusable) ||
		!strings.Contains(err.Error(), "run bwrap: program not found") {
		t.Errorf("missing: %v", err)
	}
	p.check(os.WriteFile(filepath.Join(bin, "bwrap"),
		[]byte("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"), 0o755))
	if _, err := Open(t.Context(), Spec{Kind: "bwrap"}, p.places(), "bash", env); !errors.Is(err, ErrUnusable) ||
		!strings.HasSuffix(err.Error(), "bwrap: bwrap: No permissions to create new namespace") {
		t.Errorf("forbidden: %v", err)
	}
	b := p.open(Spec{Kind: "docker"})
	if err := b.Unusable(proc.Result{Ended: proc.Exited, Exit: 125,
		Tail: "x\nCannot connect to the Docker daemon\n"}); !errors.Is(err, ErrUnusable) ||
		!strings.HasSuffix(err.Error(), "docker: Cannot connect to the Docker daemon") {
		t.Errorf("docker: %v", err)
	}
	if err := b.Unusable(proc.Result{Ended: proc.Exited, Exit: 1}); err != nil {
		t.Errorf("the agent's own status: %v", err)
	}
}

// Without a sandbox the command line and the environment of the program do not change.
func TestOpenWithoutSandbox(t *testing.T) {
	p := newProject(t)
	for _, kind := range []string{"", "none"} {
		b, err := Open(t.Context(), Spec{Kind: kind}, p.places(), "bash", p.env())
		p.check(err)
		if d := cmp.Diff([]string{"x", "y"}, b.Args([]string{"x", "y"})); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(p.env(), b.Environ()); d != "" {
			t.Error(d)
		}
		p.check(b.Close(t.Context()))
	}
}
