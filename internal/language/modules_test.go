package language

import (
	"slices"
	"testing"
)

func TestScriptFilesFindSourcesAndIndexes(t *testing.T) {
	for imported, want := range map[string][]string{
		"lib/a":     {"lib/a", "lib/a.ts", "lib/a.js", "lib/a/index.ts", "lib/a/index.js"},
		"lib/a.js":  {"lib/a.js", "lib/a.ts", "lib/a.tsx", "lib/a.js.ts"},
		"lib/a.mjs": {"lib/a.mjs", "lib/a.mts"},
	} {
		got := slices.Collect(ScriptFiles(imported))
		at := -1
		for _, w := range want {
			next := slices.Index(got, w)
			if next <= at {
				t.Errorf("%s: %s is at %d of %q, the file before it at %d", imported, w, next, got, at)
			}
			at = next
		}
	}
	if got := slices.Collect(ScriptFiles("lib/a.mjs")); slices.Contains(got, "lib/a.ts") {
		t.Errorf("lib/a.mjs is not compiled from lib/a.ts: %q", got)
	}
}

func TestPackageIsFoundBeforeModuleOfItsName(t *testing.T) {
	want := []string{"a/b/__init__.py", "a/b.py", "a/b/__init__.pyi", "a/b.pyi"}
	if got := PythonFiles("a/b"); !slices.Equal(got, want) {
		t.Errorf("PythonFiles = %q, want %q", got, want)
	}
}
