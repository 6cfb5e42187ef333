package gatetest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
)

// Change makes a real git repository with two commits, and the subject that a gate gets: the tree of the second commit
// and its change. A file with the content "-" in after is deleted. A file that is not in after does not change.
func Change(t testing.TB, before, after map[string]string) gates.Subject {
	t.Helper()
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A",
		"GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	must := func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	boot := &git.Repo{Root: dir}
	must(boot.Run(t.Context(), "init", "--quiet", dir))
	repo, err := git.Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(files map[string]string) string {
		for name, text := range files {
			p := filepath.Join(dir, filepath.FromSlash(name))
			to, isLink := strings.CutPrefix(text, "-> ")
			_ = os.Remove(p)
			err := os.MkdirAll(filepath.Dir(p), 0o755)
			switch {
			case err != nil || text == "-":
			case isLink:
				err = os.Symlink(to, p)
			default:
				err = os.WriteFile(p, []byte(text), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		must(repo.Run(t.Context(), "add", "--all", "--force", "."))
		must(repo.Run(t.Context(), "commit", "--quiet", "--allow-empty", "--no-verify", "-m", "x"))
		return must(repo.Run(t.Context(), "rev-parse", "HEAD"))
	}
	base := commit(before)
	head := commit(after)
	s := gates.Subject{
		Dir: dir, Base: base, Tree: must(repo.Run(t.Context(), "rev-parse", head+"^{tree}")),
		Diff: gates.GitDiff(repo, base, head), Env: env,
	}
	s.Batch.Key, s.Batch.Number = "1", "1"
	changes, err := s.Diff.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Changed = append(s.Changed, lists.Map(changes, func(c gates.Change) string { return c.Path })...)
	return s
}

// Look runs a gate on s, as the pipeline does, and returns its findings as "severity rule path:line".
func Look(t testing.TB, g gates.Gate, s gates.Subject) (gates.Report, []string) {
	t.Helper()
	v, err := gates.Run(t.Context(), []gates.Gate{g}, s, nil)
	if err != nil {
		t.Fatalf("%s could not run: %v", g.Info().Name, err)
	}
	var out []string
	for _, f := range v.Reports[0].Findings {
		text := string(f.Severity) + " " + f.Rule + " " + f.Path
		if f.Line > 0 {
			text += ":" + strconv.Itoa(f.Line)
		}
		out = append(out, text)
	}
	return v.Reports[0], out
}
