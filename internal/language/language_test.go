package language_test

import (
	"testing"

	"github.com/runplan/runplan/internal/language"
)

func TestOfTest(t *testing.T) {
	for path, want := range map[string]string{
		"calc_test.go": language.Go, "test.py": language.Python, "calc/test.py": "", "tests/calc.py": language.Python,
		"src/__tests__/calc.ts": language.Node,
		"test_calc.py":          language.Python, "shop/tests.py": language.Python,
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

func TestServesTests(t *testing.T) {
	for p, want := range map[string]bool{
		"calc_test.go": true, "testdata/a.json": true, "x/fixtures/y/a.sql": true, "Tests/a.json": true,
		"test/helper.lua": true, "src/__tests__/a.snap": true, "vendor/x/calc_test.go": false,
		"testimonials/a.go": false, "testing/a.go": false, "contests/a.json": false, "a.go": false, "tests": false, "": false,
	} {
		if language.ServesTests(p) != want {
			t.Errorf("%s: %v", p, !want)
		}
	}
}

// What an agent could name itself is not taken for third-party code by gates that look for what it hides.
func TestCopied(t *testing.T) {
	for p, want := range map[string]bool{"vendor/a.go": true, "web/node_modules/x/a.js": true, "third_party/a.c": false,
		"venv/a.py": false, "vendor": false} {
		if language.Copied(p) != want {
			t.Errorf("%s: %v", p, !want)
		}
	}
}

func TestForeign(t *testing.T) {
	for p, want := range map[string][2]bool{ // third party, foreign
		"vendor/a.go": {true, true}, "web/node_modules/x/a.js": {true, true}, "third_party/a.c": {true, true},
		"testdata/a.go": {false, true}, "a/__fixtures__/b.js": {false, true},
		"vendors/a.go": {}, "src/vendor.go": {}, "vendor": {}, "": {},
	} {
		if got := [2]bool{language.ThirdParty(p), language.Foreign(p)}; got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
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

// Prose is known by its end, in any case, or by a name in capitals. Programs, settings and data are not prose.
func TestIsProse(t *testing.T) {
	for name, want := range map[string]bool{
		"docs/a.md": true, "NOTES.TXT": true, "sub/CHANGES": true, "LICENSE-MIT": true, "Makefile": false, "build": false,
		"CI": false, "a.json": false, "a.py": false, "docs/a.svg": false,
	} {
		if language.IsProse(name) != want {
			t.Errorf("IsProse(%q) = %v", name, !want)
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

func TestOutermost(t *testing.T) {
	for p, want := range map[string]string{
		"vendor/a/vendor/b.go": "vendor", "a/node_modules/b/c.js": "a/node_modules", "/vendor/a.go": "/vendor",
		"vendor": "", "a/vendored/b.go": "", "": "",
	} {
		if got := language.Outermost(p, language.Vendored); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}

func TestNoCode(t *testing.T) {
	for folder, want := range map[string]string{"node_modules": "dependencies", ".git": "version control",
		".cache": "cache", "src": "", "": ""} {
		if got := language.NoCode(folder); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}
