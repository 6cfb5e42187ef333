package language_test

import (
	"testing"

	"github.com/runplan/runplan/internal/language"
)

func TestOfTest(t *testing.T) {
	for path, want := range map[string]string{
		"calc_test.go": language.Go, "tests/calc.py": language.Python, "src/__tests__/calc.ts": language.Node,
		"test_calc.py":  language.Python,
		"calc.test.tsx": language.Node, "run.bats": language.Bats, "tests/run.sh": language.Shell,
		"a/b.txtar":         language.Script,
		"spec/calc_spec.rb": language.Other, "src/test/java/CalcIT.java": language.Java, "tests/all.rs": language.Rust,
		// Words that only contain "test" or "spec".
		"latest/x.go": "", "contest/a.py": "", "attest.go": "", "special.ts": "", "inspect.py": "", "greatest.sh": "",
		// Folders in which no runner looks for tests.
		"_old/calc_test.go": "", "vendor/x/calc_test.go": "", "node_modules/x/calc.test.js": "", "testdata/calc_test.go": "",
		"test.md": "", "": "",
	} {
		if got := language.OfTest(path); got != want {
			t.Errorf("OfTest(%q) = %q, want %q", path, got, want)
		}
		if got := language.IsTest(path); got != (want != "") {
			t.Errorf("IsTest(%q) = %v", path, got)
		}
	}
}

func FuzzOfTest(f *testing.F) {
	f.Add("a/b_test.go")
	f.Add("../..//.py")
	f.Fuzz(func(t *testing.T, path string) {
		if language.IsTest(path) && language.IsTest("vendor/"+path) {
			t.Errorf("%q is a test in vendor/", path)
		}
	})
}

func TestIsCode(t *testing.T) {
	for name, want := range map[string]bool{
		"a/b.go": true, "web/App.TSX": true, "db/schema.sql": true, "Makefile": false, "README.md": false,
		"testdata/run.want": false, "data.json": false, "dist/app.min.js": false, "app.js": true,
	} {
		if language.IsCode(name) != want {
			t.Errorf("IsCode(%q) = %v", name, !want)
		}
	}
}

func TestBuilt(t *testing.T) {
	for p, want := range map[string]bool{"dist/axios.js": true, "packages/a/dist/x/b.js": true, "dist": false,
		"src/dist.js": false, "src/distance/a.js": false} {
		if language.Built(p) != want {
			t.Errorf("%s: %v", p, !want)
		}
	}
}
