package patterns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/tools/tooltest"
)

// program returns the ast-grep for the tests: $RUNPLAN_AST_GREP, the one in PATH, or the one in bin/tools of the
// repository.
func program(t testing.TB) Program {
	t.Helper()
	env := tooltest.Environ(t)
	p, err := Find(t.Context(), env, "")
	if err != nil {
		tooltest.Missing(t, err, tooltest.AstGrep)
	}
	p.Env = env
	return p
}

// tree writes the files of a txtar archive to a temporary folder and returns the folder and the file names.
func tree(t testing.TB, archive []byte) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range txtar.Parse(archive).Files {
		write(t, dir, f.Name, string(f.Data))
		files = append(files, f.Name)
	}
	return dir, files
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func builtin(t testing.TB) []Rule {
	t.Helper()
	rules, err := Load(Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// places returns the hits as lines of text.
func places(hits []Hit) string {
	var b strings.Builder
	for _, h := range hits {
		b.WriteString(h.String() + "\n")
	}
	return b.String()
}
