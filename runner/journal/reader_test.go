package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/runplan/runplan/runner"
)

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file of an attempt is found by its event, in a tournament that of the candidate.
func TestAttachedFileIsThatOfEvent(t *testing.T) {
	l := LayoutOf(t.TempDir())
	writeText(t, filepath.Join(l.Attempt("run", "1", 2), BriefFile), "of the attempt")
	writeText(t, filepath.Join(l.Candidate("run", "1", 2, 3), BriefFile), "of the candidate")
	for want, e := range map[string]runner.Event{
		"of the attempt":   {Run: "run", Batch: "1", Attempt: 2},
		"of the candidate": {Run: "run", Batch: "1", Attempt: 2, Candidate: 3},
	} {
		if got, err := l.Attached(e, BriefFile, MaxFile); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	other := runner.Event{Run: "run", Batch: "1", Attempt: 9}
	if _, err := l.Attached(other, BriefFile, MaxFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := l.Attached(runner.Event{Run: "run", Batch: "1", Attempt: 2}, BriefFile, 3); err == nil {
		t.Error("a file above the limit was read")
	}
}

// A file that was changed after its event is refused. An event of an older journal has no hashes.
func TestChangedAttachedFileIsRefused(t *testing.T) {
	l := LayoutOf(t.TempDir())
	e := runner.Event{Run: "run", Batch: "1", Attempt: 1}
	dir := l.AttemptOf(e)
	writeText(t, filepath.Join(dir, BriefFile), "what was asked")
	old := e
	e.Sums = l.SumFiles(dir, BriefFile, LogFile)
	if len(e.Sums) != 1 {
		t.Fatalf("hashes of %v, want that of the brief", e.Sums)
	}
	if _, err := l.Attached(e, BriefFile, MaxFile); err != nil {
		t.Error(err)
	}
	writeText(t, filepath.Join(dir, BriefFile), "what was not asked")
	if _, err := l.Attached(e, BriefFile, MaxFile); !errors.Is(err, ErrFileChanged) {
		t.Errorf("a changed file: %v", err)
	}
	if _, err := l.Attached(old, BriefFile, MaxFile); err != nil {
		t.Errorf("without a hash: %v", err)
	}
}

// A link in runplan's folder does not lead to a file of the user.
func TestLinkOutOfFolderIsNotRead(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "private"), "a key")
	l := LayoutOf(filepath.Join(dir, "repo"))
	e := runner.Event{Run: "run", Batch: "1", Attempt: 1}
	writeText(t, filepath.Join(l.AttemptOf(e), LogFile), "")
	if err := os.Symlink(filepath.Join(dir, "private"), filepath.Join(l.AttemptOf(e), BriefFile)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Attached(e, BriefFile, MaxFile); err == nil {
		t.Errorf("the link was followed: %q", got)
	}
}

// Ledgers lists the findings of runs and of branches, also in a folder with characters of a pattern.
func TestLedgersOfRunsAndBranches(t *testing.T) {
	l := LayoutOf(filepath.Join(t.TempDir(), "a[b"))
	writeText(t, filepath.Join(l.BranchFindings(), "main.json"), "{}")
	writeText(t, filepath.Join(l.BranchFindings(), ".gitignore"), "*")
	writeText(t, l.Findings("run", "2"), "{}")
	got, err := l.Ledgers()
	if want := []string{"logs/run/review/2.json", "reviews/main.json"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
