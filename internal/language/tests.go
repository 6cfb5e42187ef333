package language

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// IsTest reports whether a file contains tests, or code that only tests use.
func IsTest(p string) bool { return OfTest(p) != "" }

// ServesTests reports whether a file is a test, or in a folder that has only tests and their data.
func ServesTests(p string) bool {
	return IsTest(p) || TestData(p) || inFolder(strings.ToLower(p), []string{"tests", "test", "__tests__"})
}

// data are the folders of data of tests.
var data = []string{"testdata", "fixtures", "__fixtures__"}

func inFolder(p string, names []string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(d string) bool { return slices.Contains(names, d) })
}

// GoTest reports whether a Go file has the name of a test, wherever it is.
func GoTest(p string) bool { return strings.HasSuffix(p, "_test.go") }

// PythonTest reports whether a file has a name by which pytest finds tests, wherever it is.
func PythonTest(p string) bool {
	name := path.Base(p)
	return strings.HasSuffix(name, ".py") && (strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test.py"))
}

// Subject returns the name, in lower case, that a test file shares with the file that it tests: parser for parser.py,
// test_parser.py, parser.test.ts and ParserTest.java.
func Subject(p string) string {
	name, _, _ := strings.Cut(strings.ToLower(path.Base(p)), ".")
	name = strings.TrimPrefix(strings.TrimPrefix(strings.ReplaceAll(name, "-", "_"), "test_"), "tests_")
	for _, mark := range []string{"_test", "_tests", "_spec", "tests", "test"} {
		name = strings.TrimSuffix(name, mark)
	}
	return name
}

// The languages of test files. Files of the language "other" are test files that are not parsed.
const (
	Go     = "go"
	Python = "python"
	Node   = "node"
	Bats   = "bats"
	Shell  = "shell"
	Script = "testscript"
	Rust   = "rust"
	Java   = "java"
	Other  = "other"
)

// OfTest returns the language of a test file, by its path with slashes, and "" for any other file. A file in a folder
// that the runner of its language does not search is not a test file: moving a test there counts as deleting it.
func OfTest(p string) string {
	base, ext := path.Base(p), path.Ext(p)
	switch {
	case ThirdParty(p):
		return ""
	case ext == ".txtar":
		return Script
	case TestData(p):
		return ""
	}
	inTests := inFolder(p, []string{"tests", "test", "__tests__", "spec", "specs", "e2e", "testing"})
	stem := strings.TrimSuffix(base, ext)
	switch ext {
	case ".go":
		for d := range strings.SplitSeq(path.Dir(p), "/") {
			if strings.HasPrefix(d, "_") || strings.HasPrefix(d, ".") && d != "." {
				return ""
			}
		}
		if strings.HasSuffix(stem, "_test") && !strings.HasPrefix(base, "_") && !strings.HasPrefix(base, ".") {
			return Go
		}
	case ".py":
		if strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "conftest" || stem == "tests" ||
			stem == "sitecustomize" || stem == "usercustomize" || inTests || p == "test.py" {
			return Python
		}
	case ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		if hasAny(stem, ".test", ".spec", "-test", "_test", ".cy", ".e2e") || strings.HasPrefix(stem, "test-") ||
			stem == "test" || inTests {
			return Node
		}
	case ".bats":
		return Bats
	case ".sh", ".bash":
		if strings.HasPrefix(stem, "test-") || strings.HasPrefix(stem, "test_") || hasAny(stem, "-test", "_test") ||
			stem == "run-all-tests" || inTests {
			return Shell
		}
	case ".rs":
		if inTests || strings.HasSuffix(stem, "_test") || stem == "tests" {
			return Rust
		}
	case ".java", ".kt":
		if inTests || strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "IT") {
			return Java
		}
	case ".rb", ".php", ".cs", ".swift", ".c", ".cc", ".cpp", ".ex", ".exs", ".scala":
		if inTests || hasAny(stem, "_test", "_spec", "Test", "Tests", "Spec") {
			return Other
		}
	}
	return ""
}

// definesTests matches the beginning of tests in languages whose tests are not parsed one by one.
var definesTests = lazyre.New(`(?m)^\s*(?:(?:(?:public|internal|private|final|static|override)\s+)*func(?:tion)?\s+test\w*\s*\(|def\s+test|(?:it|test|specify|scenario|should|property)[\s(]+["']` +
	`|@Test\b|\[(?:Fact|Theory|Test|TestCase|TestMethod)\b|#\[Test|TEST(?:_F|_P|_CASE)?\s*\(|\*\s*@test\b)|"[^"\n]*"\s+(?:should|in)\b`)

// DefinesTests reports whether a test file in a language without a parser seems to contain tests, and is not only a
// helper.
func DefinesTests(text string) bool { return definesTests.MatchString(text) }

// Begins reports whether a text begins with one of the words.
func Begins(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(text, w) })
}

func hasAny(s string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(s, e) })
}
