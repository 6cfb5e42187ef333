package briefing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/failures"
)

// repository is a git repository in its own temporary folder.
type repository struct {
	*git.Repo
	t   *testing.T
	env []string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=a@example.org")
	r := repository{&git.Repo{Root: t.TempDir()}, t, env}
	r.git("init", "--quiet")
	repo, err := git.Open(t.Context(), r.Root, env)
	if err != nil {
		t.Fatal(err)
	}
	r.Repo = repo
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Root, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes the files, commits them and returns the commit.
func (r repository) commit(message string, files map[string]string) string {
	r.t.Helper()
	for p, text := range files {
		r.write(p, text)
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", message)
	return r.git("rev-parse", "HEAD")
}

func (r repository) write(path, text string) {
	r.t.Helper()
	full := filepath.Join(r.Root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Each kind of path that a plan can name gives the expected reference. Uncommitted changes in the checkout are
// ignored.
func TestReadRefs(t *testing.T) {
	r := newRepository(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(r.Root, "link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	at := r.commit("start", map[string]string{
		"a.go": "one\r\ntwo\nthree\n\n\n", "docs/x.md": "x\n", "docs/deep/y.md": "y", "empty": "", "bin": "MZ\x00\x01",
		"last":  "end\n\n\n",
		"large": strings.Repeat("line\n", git.MaxBlob/4), "odd [1].md": "odd\n", ":top": "colon\n", "esc": "a\x1b[31mb\n",
	})
	r.write("a.go", "dirty\n")
	r.write("new.md", "not committed\n")
	paths := []string{
		"a.go", "./docs/x.md", "docs", "docs/deep", "docs/**/*.md", "*.nothing", "empty", "bin", "large", "link", "last",
		"new.md", "odd [1].md", ":top", "esc",
		"../outside", "/etc/passwd", ".git/config", "a.go", "docs/x.md/below", "a\nb", ".",
	}
	refs, err := ReadRefs(t.Context(), r.Repo, at, paths, 2)
	if err != nil {
		t.Fatal(err)
	}
	ref := func(path, text string, lines int, note string) Ref {
		return Ref{Path: path, Commit: at, Text: text, Lines: lines, Note: note}
	}
	missing := func(path string) Ref { return Ref{Path: path, Commit: at, Missing: true} }
	want := []Ref{
		ref("a.go", "one\ntwo\n", 5, ""), ref("./docs/x.md", "x\n", 1, ""),
		ref("docs", "docs/deep/y.md\ndocs/x.md\n", 2, "a folder with 2 files"),
		ref("docs/deep", "docs/deep/y.md\n", 1, "a folder with 1 file"),
		ref("docs/**/*.md", "docs/deep/y.md\ndocs/x.md\n", 2, "matches 2 files"),
		missing("*.nothing"), ref("empty", "", 0, ""),
		{Path: "bin", Commit: at, Binary: true, Note: "binary, 4 bytes"},
		ref("large", "", 0, "2 MiB, too large to be shown; read the part that you need"),
		ref("link", "", 0, "a symbolic link, not followed; its target is `/etc/passwd`"), ref("last", "end\n\n", 3, ""),
		missing("new.md"), ref("odd [1].md", "odd\n", 1, ""),
		ref(":top", "colon\n", 1, ""), ref("esc", "ab\n", 1, ""),
		ref("../outside", "", 0, "outside of the repository, not read"),
		ref("/etc/passwd", "", 0, "outside of the repository, not read"),
		ref(".git/config", "", 0, "git's own, not read"), ref("a.go", "one\ntwo\n", 5, ""), missing("docs/x.md/below"),
		ref("a\nb", "", 0, "not a path"),
		ref(".", ":top\na.go\n", 11, "a folder with 11 files"),
	}
	if d := cmp.Diff(want, refs); d != "" {
		t.Error(d)
	}
}

// References beyond the limit are listed without their content.
func TestRefsBeyondLimitAreListed(t *testing.T) {
	r := newRepository(t)
	at := r.commit("start", map[string]string{"a": "text\n"})
	var paths []string
	for range maxRefs + 1 {
		paths = append(paths, "a")
	}
	paths[maxRefs] = "b"
	refs, err := ReadRefs(t.Context(), r.Repo, at, paths, 9)
	if err != nil || refs[maxRefs-1].Text != "text\n" || refs[maxRefs].Text != "" ||
		!strings.Contains(refs[maxRefs].Note, "only the first 40") {
		t.Errorf("%+v, %v", refs[maxRefs-1:], err)
	}
}

// A commit that git does not have is an error, not a missing file.
func TestReadRefsReportsMissingCommit(t *testing.T) {
	r := newRepository(t)
	r.commit("start", nil)
	if _, err := ReadRefs(t.Context(), r.Repo, strings.Repeat("1", 40), []string{"a"}, 9); err == nil {
		t.Error("no error")
	}
}

func trailers(run, batch string) string {
	return fmt.Sprintf("\n\nRunplan-Run: %s\nRunplan-Batch: %s\nRunplan-Agent: fake\n", run, batch)
}

// The brief of a third batch contains only the commits of this run, the files they changed, the end of the progress
// and the known failures. The user's git settings do not affect it.
func TestGather(t *testing.T) {
	r := newRepository(t)
	r.git("config", "log.showSignature", "true")
	r.git("config", "log.date", "relative")
	r.git("config", "diff.renames", "true")
	from := r.commit("before"+trailers("run", "0"),
		map[string]string{"doc.md": "as it was\n", "old.go": "package a // enough to be told again\n"})
	r.commit("First"+trailers("run", "1"), map[string]string{"a.go": "a\n", "b c.go": "b\n"})
	r.commit("by hand", map[string]string{"hand.go": "h\n"})
	r.commit("Of another run"+trailers("other", "2"), map[string]string{"other.go": "o\n"})
	if err := os.Rename(filepath.Join(r.Root, "old.go"), filepath.Join(r.Root, "new.go")); err != nil {
		t.Fatal(err)
	}
	to := r.commit("Second\x1b[31m"+trailers("run", "2"), map[string]string{"doc.md": "as it is\n"})
	r.write("doc.md", "dirty\n")
	progress := filepath.Join(t.TempDir(), "progress.txt")
	if err := os.WriteFile(progress, []byte(numbered("line", 30)+"\n\nlast \x1b[1mline"), 0o644); err != nil {
		t.Fatal(err)
	}
	store := failures.Open(filepath.Join(t.TempDir(), failures.FileName), nil)
	in, err := Gather(t.Context(), Sources{
		Input: Input{
			Batch:   planparse.Batch{Key: "3", Number: "3", Title: "Wiring", ContextRefs: []string{"doc.md"}},
			Earlier: []Earlier{earlier("1"), earlier("2")},
			Limits:  Limits{Tokens: 1500, RefLines: 9, Commits: 5, ProgressLines: 3, Similarity: 0.6},
		},
		Repo: r.Repo, Commit: to, From: from, Run: "run", Progress: progress, Failures: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Ref{{Path: "doc.md", Commit: to, Text: "as it is\n", Lines: 1}}, in.Refs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Commit{
		{Hash: to, Batch: "2", Subject: "Second\x1b[31m", Files: []string{"doc.md", "new.go", "old.go"}},
		{Hash: r.git("rev-parse", to+"~3"), Batch: "1", Subject: "First", Files: []string{"a.go", "b c.go"}},
	}, in.Commits); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Earlier{earlier("1", "a.go", "b c.go"), earlier("2", "doc.md", "new.go", "old.go")}, in.Earlier,
		cmpopts.IgnoreUnexported(runner.BatchSummary{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"line 29", "line 30", "last line"}, in.Progress); d != "" {
		t.Error(d)
	}
	if len(in.Failures) > 0 || len(in.Unread) > 0 {
		t.Errorf("failures %v, unread %v", in.Failures, in.Unread)
	}
	if brief := Compose(in).Text(); strings.Contains(brief, "dirty") || strings.Contains(brief, "\x1b") {
		t.Errorf("the brief has uncommitted or unprintable text:\n%s", brief)
	}
}

// If a source other than git cannot be read, the brief lists it, and the batch continues.
func TestGatherListsUnreadableSources(t *testing.T) {
	r := newRepository(t)
	at := r.commit("start", nil)
	broken := filepath.Join(t.TempDir(), failures.FileName)
	if err := os.WriteFile(broken, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := Gather(t.Context(),
		Sources{Repo: r.Repo, Commit: at, Progress: t.TempDir(), Failures: failures.Open(broken, nil)})
	if err != nil {
		t.Fatal(err)
	}
	block := Compose(in).Block
	for _, want := range []string{"### What could not be read\n", "\n- progress.txt: ",
		"\n- failure-patterns.json: the file is not a JSON array of failure patterns\n"} {
		if !strings.Contains(block, want) {
			t.Errorf("the block lacks %q:\n%s", want, block)
		}
	}
}

// Only the end of a long file is read, starting at the beginning of a line.
func TestTailOfLongFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress.txt")
	if err := os.WriteFile(path, []byte(numbered("line", 50000)), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, err := tail(path, 20)
	if err != nil || len(lines) != 20 || lines[0] != "line 49981" || lines[19] != "line 50000" {
		t.Errorf("%q, %v", lines, err)
	}
	if lines, err = tail(path, 1<<20); err != nil || !strings.HasPrefix(lines[0], "line ") {
		t.Errorf("the first line is %q (%v)", lines[0], err)
	}
	if lines, err = tail(path+".none", 20); err != nil || lines != nil {
		t.Errorf("a missing file has %q, %v", lines, err)
	}
}
