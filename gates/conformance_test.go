package gates_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/tools/gatetest"
)

// Each gate for these trees keeps the contract of gates, whether it passes, fails or skips.
func TestConformance(t *testing.T) {
	trees := map[string]map[string]string{
		"empty": {"README.md": "x\n"},
		"go": {"go.mod": "module x\n\ngo 1.21\n", "a.go": "package x\n",
			"a_test.go": "package x\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Error(\"\\x1b[31mno\") }\n"},
		"python": {"tests/test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): " +
			"self.fail('\\x1b[31mno')\n"},
		"node": {"package.json": `{"name":"x","scripts":{"test":"node --test"}}`,
			"a.test.mjs": "import test from 'node:test';\ntest('a', () => { throw new Error('no') });\n"},
		"shell": {"tests/test-a.sh": "printf '\\033[31mFAIL: a\\n\\xff\\n'; exit 1\n", "tests/test-b.sh": "echo 3 passed\n"},
		"make":  {"Makefile": "test:\n\t@echo 2 passed, 0 failed\n"},
	}
	if testing.Short() { // starting the runners of a language takes seconds
		for _, name := range []string{"go", "python", "node"} {
			delete(trees, name)
		}
	}
	settings := gates.Settings{Detect: true}
	settings.Commands = []gates.CommandGate{
		{Name: "fine", Command: []string{"true"}},
		{Name: "bad", Shell: `printf '\033]0;title\007 error: \033[1mbad\n'; exit 1`},
	}
	for name, files := range trees {
		make := func(t *testing.T) (string, []gates.Gate) {
			dir := t.TempDir()
			for f, text := range files {
				p := filepath.Join(dir, f)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return dir, gates.Builtin(dir, settings)
		}
		_, all := make(t)
		for i, g := range all {
			if tool := g.Info().Name; (tool == "tests:node" && !installed("node")) ||
				(tool == "tests:make" && !installed("make")) ||
				(tool == "tests:python" && !installed("python3")) {
				continue
			}
			t.Run(name+" "+g.Info().Name, func(t *testing.T) {
				gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
					dir, all := make(t)
					return all[i], gates.Subject{Dir: dir}
				})
			})
		}
	}
}

func installed(program string) bool {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return true
		}
	}
	return false
}
