package room

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/proc"
)

// bench holds a repository with two trees, and the sealed rooms for it.
type bench struct {
	*testing.T
	*Rooms
	repo, home   string
	first, other string // commits
}

func (b *bench) git(args ...string) string {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.repo
	cmd.Env = append(os.Environ(), "HOME="+b.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada",
		"GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@b.c")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) write(path, text string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, repo: t.TempDir(), home: t.TempDir()}
	b.git("init", "-q", "-b", "main")
	b.write(filepath.Join(b.repo, ".gitignore"), "zz_*\nnode_modules/\n")
	b.write(filepath.Join(b.repo, "a.txt"), "a\n")
	b.write(filepath.Join(b.repo, "sub/b.txt"), "b\n")
	b.git("add", "-A")
	b.git("commit", "-qm", "first")
	b.first = b.git("rev-parse", "HEAD")
	b.write(filepath.Join(b.repo, "a.txt"), "changed\n")
	b.write(filepath.Join(b.repo, "sub/new.txt"), "new\n")
	b.git("rm", "-q", "sub/b.txt")
	b.git("add", "-A")
	b.git("commit", "-qm", "other")
	b.other = b.git("rev-parse", "HEAD")
	environ := append(os.Environ(), "HOME="+b.home, "GIT_CONFIG_NOSYSTEM=1")
	repo, err := git.Open(t.Context(), b.repo, environ)
	if err != nil {
		t.Fatal(err)
	}
	b.Rooms = New(Config{Repo: repo, Dir: filepath.Join(t.TempDir(), "rooms"), Environ: environ})
	t.Cleanup(func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) tree(commit string) string { return b.git("rev-parse", commit+"^{tree}") }

func (b *bench) take(commit string) *Room {
	b.Helper()
	rm, err := b.Take(b.Context(), b.first, b.tree(commit))
	if err != nil {
		b.Fatal(err)
	}
	return rm
}

// files lists the files in a room, except for .git.
func (b *bench) files(rm *Room) []string {
	b.Helper()
	var out []string
	found, err := stampTree(rm.Dir, func(rel string, _ os.DirEntry) bool { return rel != ".git" })
	if err != nil {
		b.Fatal(err)
	}
	for p := range found {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func TestRoomContainsOnlyTree(t *testing.T) {
	b := newBench(t)
	rm := b.take(b.first)
	if got, want := b.files(rm), []string{".gitignore", "a.txt", "sub/b.txt"}; !slices.Equal(got, want) {
		t.Errorf("files of the room: %v, want %v", got, want)
	}
	b.write(filepath.Join(rm.Dir, "zz_ignored.go"), "package zz\n")
	b.write(filepath.Join(rm.Dir, "node_modules/.bin/jest"), "#!/bin/sh\n")
	dir := rm.Dir
	rm.Release()
	rm = b.take(b.other)
	if rm.Dir != dir {
		t.Errorf("the free room was not used again")
	}
	if got, want := b.files(rm), []string{".gitignore", "a.txt", "sub/new.txt"}; !slices.Equal(got, want) {
		t.Errorf("files of the room after it moved: %v, want %v", got, want)
	}
	if data, err := os.ReadFile(filepath.Join(rm.Dir, "a.txt")); err != nil || string(data) != "changed\n" {
		t.Errorf("a.txt: %q, %v", data, err)
	}
	if head, err := rm.ws.HeadRef(); err != nil || head != b.first {
		t.Errorf("HEAD is %s, %v; want the base %s", head, err, b.first)
	}
	rm.Release()
}

func TestCheckReportsChangedFiles(t *testing.T) {
	b := newBench(t)
	rm := b.take(b.first)
	if d, err := rm.Check(t.Context()); err != nil || !d.Empty() {
		t.Fatalf("a fresh room differs: %+v, %v", d, err)
	}
	b.write(filepath.Join(rm.Dir, "a.txt"), "x\n") // of the same length
	b.write(filepath.Join(rm.Dir, "build.out"), "output\n")
	d, err := rm.Check(t.Context())
	if err != nil || !slices.Equal(d.Changed, []string{"a.txt"}) || len(d.Touched) > 0 {
		t.Errorf("a changed file: %+v, %v", d, err)
	}
	b.write(filepath.Join(rm.Dir, "a.txt"), "a\n")
	if d, err = rm.Check(t.Context()); err != nil || !slices.Equal(d.Touched, []string{"a.txt"}) || len(d.Changed) > 0 {
		t.Errorf("a file that was put back: %+v, %v", d, err)
	}
	b.Expect(d)
	if d = b.Unexpected(d); !d.Empty() {
		t.Errorf("an expected rewrite still differs: %+v", d)
	}
	if err := os.Remove(filepath.Join(rm.Dir, "sub/b.txt")); err != nil {
		t.Fatal(err)
	}
	if d, err = rm.Check(t.Context()); err != nil || !slices.Contains(d.Changed, "sub/b.txt") {
		t.Errorf("a deleted file: %+v, %v", d, err)
	}
	rm.Release()
	rm = b.take(b.first)
	if d, err = rm.Check(t.Context()); err != nil || !d.Empty() {
		t.Errorf("a room that was used again differs: %+v, %v", d, err)
	}
	rm.Release()
}

func TestRoomReusesUnchangedPreparedFiles(t *testing.T) {
	b := newBench(t)
	prepared := 0
	b.Prepare = func(_ context.Context, ws *git.Workspace, _ []string) error {
		prepared++
		b.write(filepath.Join(ws.Dir, "node_modules/lib/index.js"), "real\n")
		b.write(filepath.Join(ws.Dir, "a.txt"), "the set-up wrote into the tree\n")
		return nil
	}
	key := "one"
	b.Key = func(context.Context, string) (string, error) { return key, nil }
	rm := b.take(b.first)
	if data, _ := os.ReadFile(filepath.Join(rm.Dir, "a.txt")); string(data) != "a\n" {
		t.Errorf("gates would see what the set-up wrote into the tree: %q", data)
	}
	rm.Release()
	rm = b.take(b.other)
	if prepared != 1 {
		t.Errorf("prepared %d times for two trees with one key", prepared)
	}
	b.write(filepath.Join(rm.Dir, "node_modules/lib/index.js"), "fake\n")
	if d, err := rm.Check(t.Context()); err != nil || !slices.Equal(d.Made, []string{"node_modules/lib/index.js"}) {
		t.Errorf("a dependency that changed: %+v, %v", d, err)
	}
	rm.Release()
	rm = b.take(b.other)
	if data, _ := os.ReadFile(filepath.Join(rm.Dir, "node_modules/lib/index.js")); string(data) != "real\n" ||
		prepared != 2 {
		t.Errorf("the fake dependency stayed: %q, prepared %d times", data, prepared)
	}
	b.write(filepath.Join(rm.Dir, "node_modules/added/index.js"), "added\n")
	rm.Release()
	rm = b.take(b.other)
	if slices.Contains(b.files(rm), "node_modules/added/index.js") {
		t.Errorf("a file that gates added to the dependencies stayed")
	}
	rm.Release()
	key = "two"
	rm = b.take(b.other)
	if prepared != 3 {
		t.Errorf("prepared %d times after the key changed", prepared)
	}
	rm.Release()
}

// A set-up that changes no file of the tree leaves nothing to check out again, unless it changed the index.
func TestRoomChecksOutOnce(t *testing.T) {
	for name, stages := range map[string]bool{"untracked": false, "staged": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Prepare = func(_ context.Context, ws *git.Workspace, _ []string) error {
				b.write(filepath.Join(ws.Dir, "made.txt"), "made\n")
				if !stages {
					// git would write it again
					return os.WriteFile(filepath.Join(ws.GitDir, "index.lock"), nil, 0o644)
				}
				_, err := ws.Run(b.Context(), "add", "made.txt")
				return err
			}
			rm := b.take(b.first)
			if got := slices.Contains(b.files(rm), "made.txt"); got == stages {
				t.Errorf("the room has the file of the set-up: %v", got)
			}
			os.Remove(filepath.Join(rm.GitDir(), "index.lock"))
			rm.Release()
		})
	}
}

func TestRoomIgnoresLaterSettingsChanges(t *testing.T) {
	b := newBench(t)
	b.write(filepath.Join(b.home, ".npmrc"), "fund=false\n")
	b.write(filepath.Join(b.home, "extra.gitconfig"), "[user]\n\tname = Included \"Name\"\n")
	b.write(filepath.Join(b.home, ".gitconfig"), "[include]\n\tpath = ~/extra.gitconfig\n[core]\n\tautocrlf = false\n")
	b.write(filepath.Join(b.home, ".cargo/registry/x"), "data\n")
	if err := b.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.write(filepath.Join(b.home, ".npmrc"), "script-shell=/tmp/evil\n")
	b.write(filepath.Join(b.home, ".config/go/env"), "GOFLAGS=-run=Nothing\n")
	rm := b.take(b.first)
	home := proc.Getenv(rm.Env, "HOME")
	if data, err := os.ReadFile(filepath.Join(home, ".npmrc")); err != nil || string(data) != "fund=false\n" {
		t.Errorf(".npmrc in the room: %q, %v", data, err)
	}
	if got := proc.Getenv(rm.Env, "GOENV"); got != "off" {
		t.Errorf("GOENV is %q: a file that came later would be read", got)
	}
	cmd := exec.Command("git", "config", "user.name")
	cmd.Dir, cmd.Env = rm.Dir, rm.Env
	if out, err := cmd.Output(); err != nil || string(out) != "Included Name\n" {
		t.Errorf("user.name in the room: %q, %v", out, err)
	}
	if data, err := os.ReadFile(filepath.Join(home, ".cargo/registry/x")); err != nil || string(data) != "data\n" {
		t.Errorf("the data of tool chains cannot be read: %q, %v", data, err)
	}
	b.write(filepath.Join(home, ".npmrc"), "script-shell=/tmp/evil\n") // by a test of this candidate
	b.write(filepath.Join(rm.Temp, "left"), "x")
	rm.Release()
	rm = b.take(b.other)
	if data, _ := os.ReadFile(filepath.Join(home, ".npmrc")); string(data) != "fund=false\n" {
		t.Errorf("a file that a test wrote to the home folder is used by the next gates: %q", data)
	}
	if left, err := os.ReadDir(rm.Temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files stayed: %v, %v", left, err)
	}
	rm.Release()
}

func TestEnvironmentOmitsAgentWritablePaths(t *testing.T) {
	b := newBench(t)
	b.Environ = append(b.Environ, "PATH="+filepath.Join(b.repo, ".venv/bin")+":node_modules/.bin:/usr/bin", "VIRTUAL_ENV="+
		filepath.Join(b.repo, ".venv"), "XDG_CONFIG_HOME="+filepath.Join(b.home, "cfg"))
	rm := b.take(b.first)
	defer rm.Release()
	if got, want := proc.Getenv(rm.Env, "PATH"), filepath.Join(rm.Dir, ".venv/bin")+":/usr/bin"; got != want {
		t.Errorf("PATH is %q, want %q", got, want)
	}
	for name, want := range map[string]string{"VIRTUAL_ENV": filepath.Join(rm.Dir, ".venv"), "XDG_CONFIG_HOME": "",
		"GOWORK": "off", "TMPDIR": rm.Temp} {
		if got := proc.Getenv(rm.Env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestCloseRemovesRooms(t *testing.T) {
	b := newBench(t)
	rm := b.take(b.first)
	rm.Release()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder of the rooms is still there: %v", err)
	}
	if list := b.git("worktree", "list"); strings.Contains(list, "room") {
		t.Errorf("git still knows a room:\n%s", list)
	}
}

// The path of the home may look like a pattern: its settings are found.
func TestHomeLikePattern(t *testing.T) {
	b := newBench(t)
	home := filepath.Join(b.home, "ada[1]")
	b.write(filepath.Join(home, ".gitconfig"), "[user]\n\tname = Ada\n")
	b.write(filepath.Join(home, ".config/git/ignore"), "x\n")
	h, err := readHome(t.Context(), b.Repo, []string{"HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".gitconfig", ".config/git/ignore"} {
		if len(h.files[name].text) == 0 {
			t.Errorf("%s is not among the settings", name)
		}
	}
}
