package knowledge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pastOf returns what the index knows about the commits of a file, without their keys.
func pastOf(t *testing.T, p *place, name string) (list []string) {
	t.Helper()
	b, repo := p.base()
	f, found, err := b.FileByPath(t.Context(), repo, name)
	if err != nil || !found {
		t.Fatalf("%s: found %t, %v", name, found, err)
	}
	commits, err := b.Commits(t.Context(), f.ID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(n *int) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	for _, c := range commits {
		list = append(list, fmt.Sprintf("%s +%s -%s", c.Message, lines(c.Insertions), lines(c.Deletions)))
	}
	slices.Reverse(list)
	return list
}

// If git cannot read an old version of a file, the index holds the whole history, once. From there on the numbers of
// lines are unknown, not zero.
func TestHistoryWithoutOldVersions(t *testing.T) {
	p := newPlace(t, "-- a.go --\npackage a\n")
	var want []string
	last := 2*feedStep + feedStep/2
	for i := 1; i < last; i++ {
		p.write("a.go", fmt.Sprintf("package a\n\nconst N = %d\n", i))
		p.commit(fmt.Sprintf("n %d", i))
	}
	p.index()
	for i, c := range pastOf(t, p, "a.go") {
		// Commits go to the index by the hundred. Those that were complete keep their numbers.
		if i >= 2*feedStep {
			c = c[:strings.Index(c, " +")] + " +? -?"
		}
		want = append(want, c)
	}
	if len(want) != last {
		t.Fatalf("%d commits", len(want))
	}
	blob, err := p.repo.Run(t.Context(), "rev-parse", fmt.Sprintf("HEAD~%d:a.go", 20))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.repo.Common, "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.db); err != nil {
		t.Fatal(err)
	}
	if res := p.index(); res.Commits != last {
		t.Errorf("%d commits, not %d", res.Commits, last)
	}
	if diff := cmp.Diff(want, pastOf(t, p, "a.go")); diff != "" {
		t.Error(diff)
	}
}

// In a partial clone git would fetch every old version to count lines, so only names are read.
func TestHistoryOfPartialClone(t *testing.T) {
	p := newPlace(t, "-- a.go --\npackage a\n")
	if err := os.WriteFile(filepath.Join(p.repo.Common, "objects", "pack", "pack-1.promisor"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.write("a.go", "package a\n\nconst N = 1\n")
	p.write("b.go", "package a\n")
	p.commit("two")
	p.index()
	if diff := cmp.Diff([]string{"first +? -?", "two +? -?"}, pastOf(t, p, "a.go")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"two +? -?"}, pastOf(t, p, "b.go")); diff != "" {
		t.Error(diff)
	}
}
