package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/runplan/runplan/runner"
)

// The last line of git only says that it aborts; the reason must contain the file names from the lines before.
func TestLandListsUntrackedFiles(t *testing.T) {
	b := newBench(t)
	b.info.Land, b.info.Base, b.info.BaseBranch = "ff", b.base, b.git("git symbolic-ref --short HEAD")
	commit, _ := b.change("1", b.base, "new.txt", "theirs\n")
	b.git("echo mine >new.txt")
	e, err := b.Land(t.Context(), runner.Command{Commit: commit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e.Outcome != runner.OutcomeRefused || !strings.Contains(e.Reason, "new.txt") ||
		!strings.Contains(e.Reason, "would be overwritten") {
		t.Errorf("%s: %s", e.Outcome, e.Reason)
	}
	if got := b.git("cat new.txt"); got != "mine" {
		t.Errorf("the file has %q", got)
	}
}

func TestProgramOutputIsShortened(t *testing.T) {
	var text strings.Builder
	for i := range 9 {
		fmt.Fprintf(&text, "  line\x1b[31m %d\n\n", i)
	}
	if got, want := Said(text.String()), "line 0 / line 1 / line 2 / line 3 / line 4 / … 4 more lines"; got != want {
		t.Errorf("got %q", got)
	}
}

// Two batches with the same change do not fail; the report of the second says that its change is empty.
func TestRebaseReportsEmptyChange(t *testing.T) {
	b := newBench(t)
	one, tree := b.change("1", b.base, "same.txt", "same\n")
	two, _ := b.change("2", b.base, "same.txt", "same\n")
	e, err := b.Rebase(t.Context(), runner.Command{Batch: "2", Base: one, From: b.base, Commit: two, Tree: tree}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e.Outcome != runner.OutcomeOK || e.Tree != tree ||
		!strings.Contains(e.Reason, "its change is empty: the base already has it") {
		t.Errorf("%s, tree %s of %s: %q", e.Outcome, e.Tree, tree, e.Reason)
	}
	// A batch that never had a change gets no such reason.
	none := b.git("git rev-parse " + b.base + "^{tree}")
	if e, err = b.Rebase(t.Context(), runner.Command{Batch: "3", Base: one, From: b.base, Commit: b.base, Tree: none},
		nil); err != nil || e.Reason != "" {
		t.Errorf("%v: %q", err, e.Reason)
	}
}
