package patterns

import (
	"os"
	"path/filepath"
	"testing"
)

// The prose files that runplan does not pass to ast-grep are files that ast-grep itself ignores.
func TestAstGrepIgnoresProseFiles(t *testing.T) {
	p, dir := program(t), t.TempDir()
	var files []source
	for _, name := range []string{"a.txt", "a.log", "a.csv", "a.tsv", "a.rst", "a.adoc", "a.toml", "a.ini", "a.cfg",
		"a.sum", "a.mod", "a.lock", "a.golden", "a.png", "a.jpg", "a.gif", "a.ico", "a.pdf"} {
		if !isProse(name) {
			t.Errorf("%s is not skipped as prose", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("eval(x)\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, source{path: name})
	}
	rules, err := Load(Builtin())
	if err != nil {
		t.Fatal(err)
	}
	saw, err := p.run(t.Context(), dir, files, text(rules)+ownRules(nil, newSieve(rules).docs))
	if err != nil || len(saw.files) > 0 {
		t.Errorf("the program read %v (%v)", saw.files, err)
	}

	// A script without a file name extension is still scanned.
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/bash\necho x\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	look, _, other, err := sources(dir, []string{"a.txt", "run"}, func(string) bool { return true }, nil)
	if err != nil || len(look) != 1 || len(other) != 1 || other[0] != "a.txt" {
		t.Errorf("looks at %v, not at %v (%v)", look, other, err)
	}
}
