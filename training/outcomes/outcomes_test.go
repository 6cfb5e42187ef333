package outcomes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/git"
)

// shop is a repository with a run of two batches on its own branch. Its commits have the times that hour gives.
type shop struct {
	t    *testing.T
	dir  string
	hour int
	Run
}

var begin = time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)

func open(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir()}
	s.git("init", "--quiet", "--initial-branch=main")
	s.commit("start", "base.txt", "base\n")
	s.ID, s.Branch, s.Base = "r", "main", s.head()
	s.git("checkout", "--quiet", "-b", "run")
	s.merge("1", "one.txt", "a\nb\nc\nd\n")
	s.merge("2", "two.txt", "x\ny\n")
	s.git("checkout", "--quiet", "main")
	return s
}

func (s *shop) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir = s.dir
	at := begin.Add(time.Duration(s.hour) * time.Hour).Format(time.RFC3339)
	cmd.Env = append(s.env(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *shop) env() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME="+s.dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
}

func (s *shop) head() string { return s.git("rev-parse", "HEAD") }

func (s *shop) commit(message, file, text string) string {
	s.t.Helper()
	s.hour++
	if err := os.WriteFile(filepath.Join(s.dir, file), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.git("add", "--all")
	s.git("commit", "--quiet", "--message", message)
	return s.head()
}

func (s *shop) merge(batch, file, text string) {
	s.Head = s.commit("batch "+batch, file, text)
	s.Merges = append(s.Merges,
		Merge{Task: "r/" + batch, Commit: s.Head, At: begin.Add(time.Duration(s.hour) * time.Hour)})
}

// look returns the signals as "task name value note", without the names of commits.
func (s *shop) look(days int, now time.Time) []string {
	s.t.Helper()
	repo, err := git.Open(s.t.Context(), s.dir, s.env())
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := Look(s.t.Context(), repo, s.Run, days, now)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, x := range list {
		v := "unknown"
		if x.Value != nil {
			v = fmt.Sprintf("%.2f", *x.Value)
		}
		note := x.Note
		if by, _, ok := strings.Cut(note, " "); ok && by == "by" {
			note = "by another"
		}
		if i := strings.LastIndex(note, " as "); i >= 0 {
			note = note[:i+3]
		}
		out = append(out, strings.TrimSpace(strings.Join([]string{x.Task, x.Name, v, note}, " ")))
	}
	return out
}

func TestLook(t *testing.T) {
	later := begin.Add(1000 * time.Hour)
	kept := []string{"r/1 merged 1.00", "r/1 reverted 0.00",
		"r/1 rewritten 0.00 0 of 4 added lines are gone within 30 days"}
	kept2 := []string{"r/2 merged 1.00", "r/2 reverted 0.00",
		"r/2 rewritten 0.00 0 of 2 added lines are gone within 30 days"}
	for name, tt := range map[string]struct {
		then func(s *shop)
		want []string
	}{
		"not merged": {func(*shop) {},
			[]string{"r/1 merged 0.00 it is not on main", "r/2 merged 0.00 it is not on main"}},
		"the branch gone": {func(s *shop) { s.Branch = "gone" },
			[]string{"r/1 merged unknown branch gone is gone", "r/2 merged unknown branch gone is gone"}},
		"no branch": {func(s *shop) { s.Branch = "" },
			[]string{"r/1 merged unknown the run started from no branch", "r/2 merged unknown the run started from no branch"}},
		"base forgotten": {func(s *shop) { s.Base = strings.Repeat("0", 39) + "1" },
			[]string{"r/1 merged unknown git does not have the commit that the run started from",
				"r/2 merged unknown git does not have the commit that the run started from"}},
		"commit forgotten": {func(s *shop) {
			s.git("merge", "--quiet", "run")
			s.Merges[0].Commit = strings.Repeat("0", 39) +
				"1"
		}, append([]string{"r/1 merged unknown git no longer has the commit"}, kept2...)},
		"merged": {func(s *shop) { s.git("merge", "--quiet", "run") },
			append(append([]string{}, kept...), kept2...)},
		"merged with a merge commit": {func(s *shop) {
			s.commit("else", "else.txt", "x\n")
			s.git("merge", "--quiet", "--no-ff", "--no-edit", "run")
		},
			append(append([]string{}, kept...), kept2...)},
		"squashed": {func(s *shop) {
			s.git("merge", "--quiet", "--squash", "run")
			s.git("commit", "--quiet", "-m", "all of it")
		}, []string{
			"r/1 merged 1.00 with the whole run as", "r/1 reverted 0.00",
			"r/1 rewritten unknown its lines are in one commit with those of other batches",
			"r/2 merged 1.00 with the whole run as", "r/2 reverted 0.00",
			"r/2 rewritten unknown its lines are in one commit with those of other batches"}},
		"reverted with a word": {func(
			s *shop) {
			s.git("merge", "--quiet", "run")
			s.git("revert", "--no-edit", s.Merges[0].Commit)
		},
			append([]string{"r/1 merged 1.00", "r/1 reverted 1.00 by another",
				"r/1 rewritten 1.00 4 of 4 added lines are gone within 30 days"}, kept2...)},
		"reverted without one": {func(s *shop) {
			s.git("merge", "--quiet", "run")
			s.git("revert", "--no-commit", s.Merges[0].Commit)
			s.git("commit", "--quiet", "-m", "away with it")
		},
			append([]string{"r/1 merged 1.00", "r/1 reverted 1.00 by another",
				"r/1 rewritten 1.00 4 of 4 added lines are gone within 30 days"}, kept2...)},
		"brought back": {func(s *shop) {
			s.git("merge", "--quiet", "run")
			s.git("revert", "--no-edit", s.Merges[0].Commit)
			s.git("revert", "--no-edit", "HEAD")
		},
			append([]string{"r/1 merged 1.00", "r/1 reverted 0.00",
				"r/1 rewritten 1.00 4 of 4 added lines are gone within 30 days"}, kept2...)},
		"moved and half rewritten": {func(s *shop) {
			s.git("merge", "--quiet", "run")
			s.git("mv", "one.txt", "first.txt")
			s.commit("move", "else.txt", "x\n")
			s.commit("rewrite", "first.txt", "a\nb\nc\nD\n")
		},
			append([]string{"r/1 merged 1.00", "r/1 reverted 0.00",
				"r/1 rewritten 0.25 1 of 4 added lines are gone within 30 days"}, kept2...)},
		"rewritten too late to count": {func(s *shop) {
			s.git("merge", "--quiet", "run")
			s.hour += 24 * 40
			s.commit("rewrite", "one.txt", "z\n")
		}, append(append([]string{}, kept...), kept2...)},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			tt.then(s)
			if d := cmp.Diff(tt.want, s.look(30, later)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Before the days have passed, the note says "so far".
func TestLookEarly(t *testing.T) {
	s := open(t)
	s.git("merge", "--quiet", "run")
	if got := s.look(30, begin.Add(48*time.Hour)); got[2] != "r/1 rewritten 0.00 0 of 4 added lines are gone so far" {
		t.Error(got[2])
	}
}

func TestParseReverts(t *testing.T) {
	got := parseReverts(
		"\x01aaa\nRevert \"x\"\n\nThis reverts commit 0123456789abcdef, reversing\nchanges\n\x01bbb\nrevert " +
			"nothing\n\x01ccc\nThis reverts commit ABCDEF0 and reverts commit 7654321.\n")
	if d := cmp.Diff(map[string][]string{"aaa": {"0123456789abcdef"}, "ccc": {"abcdef0", "7654321"}}, got); d != "" {
		t.Error(d)
	}
}

func TestBlamed(t *testing.T) {
	if n := blamed("aaa 1 1 3\nauthor x\nfilename f\nbbb 4 4 9\naaa 5 13 2\nsummary aaa 1 2 3\n", "aaa"); n != 5 {
		t.Errorf("%d lines", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("\x01a\nThis reverts commit 0123456\n")
	f.Fuzz(func(t *testing.T, text string) {
		for commit, of := range parseReverts(text) {
			for _, name := range of {
				if len(name) < 7 || strings.Trim(name, "0123456789abcdef") != "" {
					t.Errorf("%q reverts %q", commit, name)
				}
			}
		}

		blamed(text, "a")
	})
}
