// Package tooltest finds the optional programs that tests use, and reports missing ones: a test that did not run has
// not passed.
package tooltest

import (
	"os"
	"path/filepath"
	"testing"
)

// Environ returns the environment of this process with bin/tools of the repository at the end of PATH.
func Environ(t testing.TB) []string {
	t.Helper()
	return append(os.Environ(), "PATH="+
		os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Join(root(t), "bin", "tools"))
}

// root returns the folder of the module around the test.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("the test is not in a module")
		}
		dir = up
	}
}

// Missing ends a test whose program is missing: it skips with a message, and fails with RUNPLAN_TEST_ALL=1. how
// describes how to install the program.
func Missing(t testing.TB, err error, how string) {
	t.Helper()
	if os.Getenv("RUNPLAN_TEST_ALL") == "1" {
		t.Fatalf("%v\n%s", err, how)
	}
	t.Skipf("NOT TESTED: %v; %s", err, how)
}

// AstGrep describes how to install ast-grep.
const AstGrep = "install it into bin/tools: make tools"

// NodeModules returns the folder in bin/tools of the repository with the Node.js package of that name.
func NodeModules(t testing.TB, name string) string {
	t.Helper()
	at := filepath.Join(root(t), "bin", "tools", "js", "node_modules")
	if _, err := os.Stat(filepath.Join(at, name)); err != nil {
		Missing(t, err, "install it into bin/tools/js: make tools")
	}
	return at
}
