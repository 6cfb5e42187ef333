package git

import (
	"os"
	"testing"
)

// EditTree uses its own index: the checkout and its index do not change.
func TestEditTree(t *testing.T) {
	dir := made(t, map[string]string{"a": "1", "b/c": "2"})
	r := opened(t, dir, os.Getenv("PATH"))
	tree := run(t, dir, "rev-parse", "HEAD^{tree}")
	blob, err := r.WriteBlob(t.Context(), []byte("3"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.EditTree(t.Context(), tree, map[string]TreeFile{"b/d": {"100644", blob}}, []string{"a", "not-there"})
	if err != nil {
		t.Fatal(err)
	}
	if names := run(t, dir, "ls-tree", "-r", "--name-only", got); names != "b/c\nb/d" {
		t.Errorf("the tree holds %q", names)
	}
	if status := run(t, dir, "status", "--porcelain"); status != "" {
		t.Errorf("the checkout changed: %q", status)
	}
	for _, path := range []string{"b/c", "nowhere"} {
		if same, err := r.IsAsIn(t.Context(), "HEAD", got, []string{path}); err != nil || !same {
			t.Errorf("%s differs: %v", path, err)
		}
	}
	if same, err := r.IsAsIn(t.Context(), "HEAD", got, []string{"a"}); err != nil || same {
		t.Errorf("a dropped file must differ: %v", err)
	}
}
