package testcode

import (
	"path"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// IsTest reports whether a file is one of the tests: of their code, or what they are made of.
func IsTest(p string) bool { return Language(p) != "" }

// The languages that tests are read in. "other" are files of tests that nobody here can read.
const (
	LangGo     = "go"
	LangPython = "python"
	LangNode   = "node"
	LangBats   = "bats"
	LangShell  = "shell"
	LangScript = "testscript"
	LangRust   = "rust"
	LangJava   = "java"
	LangOther  = "other"
)

// Language says which tests a file holds; "" if it is no file of tests. Where a runner does not look, there are none:
// a test that is moved there is gone.
func Language(p string) string {
	base, ext := path.Base(p), path.Ext(p)
	dirs := strings.Split(path.Dir(p), "/")
	inTests, inData := false, false
	for _, d := range dirs {
		switch d {
		case "tests", "test", "__tests__", "spec", "specs", "e2e", "testing":
			inTests = true
		case "testdata", "fixtures", "__fixtures__":
			inData = true
		case "node_modules", "vendor", "site-packages":
			return ""
		}
	}
	if ext == ".txtar" {
		return LangScript
	}
	if inData {
		return ""
	}
	stem := strings.TrimSuffix(base, ext)
	switch ext {
	case ".go":
		for _, d := range dirs {
			if strings.HasPrefix(d, "_") || strings.HasPrefix(d, ".") && d != "." {
				return ""
			}
		}
		if strings.HasSuffix(stem, "_test") && !strings.HasPrefix(base, "_") && !strings.HasPrefix(base, ".") {
			return LangGo
		}
	case ".py":
		if strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "conftest" || stem == "tests" ||
			stem == "sitecustomize" || stem == "usercustomize" || inTests {
			return LangPython
		}
	case ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		if hasAny(stem, ".test", ".spec", "-test", "_test", ".cy", ".e2e") || strings.HasPrefix(stem, "test-") || stem == "test" || inTests {
			return LangNode
		}
	case ".bats":
		return LangBats
	case ".sh", ".bash":
		if strings.HasPrefix(stem, "test-") || strings.HasPrefix(stem, "test_") || hasAny(stem, "-test", "_test") || stem == "run-all-tests" || inTests {
			return LangShell
		}
	case ".rs":
		if inTests || strings.HasSuffix(stem, "_test") || stem == "tests" {
			return LangRust
		}
	case ".java", ".kt":
		if inTests || strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "IT") {
			return LangJava
		}
	case ".rb", ".php", ".cs", ".swift", ".c", ".cc", ".cpp", ".ex", ".exs", ".scala":
		if inTests || hasAny(stem, "_test", "_spec", "Test", "Tests", "Spec") {
			return LangOther
		}
	}
	return ""
}

// definesTests is how tests begin in the languages whose tests are not read one by one.
var definesTests = lazyre.New(`(?m)^\s*(?:(?:(?:public|internal|private|final|static|override)\s+)*func(?:tion)?\s+test\w*\s*\(|def\s+test|(?:it|test|specify|scenario|should|property)[\s(]+["']` +
	`|@Test\b|\[(?:Fact|Theory|Test|TestCase|TestMethod)\b|#\[Test|TEST(?:_F|_P|_CASE)?\s*\(|\*\s*@test\b)|"[^"\n]*"\s+(?:should|in)\b`)

// DefinesTests reports whether a file of tests that cannot be read seems to have tests, and is no helper of others.
func DefinesTests(text string) bool { return definesTests.MatchString(text) }

func hasAny(s string, ends ...string) bool {
	for _, e := range ends {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	return false
}
