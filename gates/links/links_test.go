package links

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/tools/gatetest"
)

// A new link out of the tree is an error. It is a remark if a link of the base had the same target.
func TestLinkOutsideIsNewOrKnown(t *testing.T) {
	s := gatetest.Change(t, map[string]string{"old": "-> /elsewhere", "same": "-> /else"}, map[string]string{
		"old": "-", "moved": "-> /elsewhere", "new": "-> ../out", "in": "-> moved/x.md", "fine": "-> a.md", "a.md": "x\n"})
	_, got := gatetest.Look(t, New(), s)
	slices.Sort(got)
	want := []string{"error link-outside in", "error link-outside new", "info link-outside moved"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConformance(t *testing.T) {
	gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
		return New(), gatetest.Change(t, nil, map[string]string{"a": "-> /\x1b[31m", "b": "-> a/../x"})
	})
}

func TestJudgeRejectsLinksOutsideTree(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a/b", "node_modules"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"a/b/up": "../..", "node_modules/x": "/elsewhere", "away": "/elsewhere", "loop": "loop",
		"in": "a/b", "dangling": "none", "abs": "/etc/passwd", "out": "../x", "a/out": "../../x", "a/in": "../in",
		"through": "a/b/up/../secret", "chain": "away/x", "module": "node_modules/x", "deep": "a/b/up/in",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for link, bad := range map[string]bool{
		"in": false, "dangling": false, "a/in": false, "module": false, "deep": false, "loop": false, "a/b/up": false,
		"abs": true, "out": true, "a/out": true, "through": true, "chain": true,
	} {
		to, err := os.Readlink(filepath.Join(dir, link))
		if err != nil {
			t.Fatal(err)
		}
		if why := judge(dir, link, to); (why != "") != bad {
			t.Errorf("%s -> %s: %q, want a finding: %v", link, to, why, bad)
		}
	}
}

func TestWindowsPathsAreAbsolute(t *testing.T) {
	for _, to := range []string{`C:\x`, `\\host\x`, "c:/x"} {
		if judge(t.TempDir(), "l", to) == "" {
			t.Errorf("%s is no finding", to)
		}
	}
}
