package draft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
)

func program(t testing.TB) patterns.Program {
	t.Helper()
	env := tooltest.Environ(t)
	p, err := patterns.Find(t.Context(), env, "")
	if err != nil {
		tooltest.Missing(t, err, tooltest.AstGrep)
	}
	p.Env = env
	return p
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

func builtin(t testing.TB) []patterns.Rule {
	t.Helper()
	rules, err := patterns.Load(patterns.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func places(hits []patterns.Hit) string {
	var b strings.Builder
	for _, h := range hits {
		b.WriteString(h.String() + "\n")
	}
	return b.String()
}
