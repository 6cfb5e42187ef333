//go:build unix

package plugin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/tools/gatetest"
	"github.com/runplan/runplan/tools/tooltest"
)

// example is a plugin of examples/ with one tree that passes and one that fails.
type example struct {
	name        string
	config      func(testing.TB) Config
	clean, dirt string // content of a.js
	rule        string
}

func examples() []example {
	return []example{
		{"go", goExample, "let a // TODO(ada): more\n", "let a\n// TODO: more\n", "todo-owner"},
		{"node", nodeExample, "let a\n", "let a\n  debugger\n", "no-debugger"},
	}
}

func TestExamples(t *testing.T) {
	tooltest.Slow(t)
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			config := e.config(t)
			p := open(t, config)
			rep, err := look(t, p, gates.Subject{Dir: treeOf(t, e.clean)})
			if err != nil || rep.Status != gates.Pass || len(rep.Findings) > 0 {
				t.Errorf("a clean tree: %+v, %v", rep, err)
			}
			rep, err = look(t, p, gates.Subject{Dir: treeOf(t, e.dirt)})
			if err != nil || rep.Status != gates.Fail || len(rep.Findings) != 1 {
				t.Fatalf("a dirty tree: %+v, %v", rep, err)
			}
			if f := rep.Findings[0]; f.Rule != e.rule || f.Path != "a.js" || f.Line != 2 {
				t.Errorf("finding is %+v", f)
			}
			// Only changed files are checked, and a deleted file does no harm.
			rep, err = look(t, p, gates.Subject{Dir: treeOf(t, e.dirt), Changed: []string{"gone.js"}})
			if err != nil || rep.Status != gates.Pass {
				t.Errorf("a clean change: %+v, %v", rep, err)
			}
			config.Settings = map[string]any{"typo": 1}
			_, err = Open(t.Context(), config)
			blames(t, err, config.Name, nil, "typo")
		})
	}
}

func TestExamplesConform(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			p := open(t, e.config(t))
			for what, text := range map[string]string{"clean": e.clean, "dirty": e.dirt} {
				t.Run(what, func(t *testing.T) {
					gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
						return p, gates.Subject{Dir: treeOf(t, text)}
					})
				})
			}
		})
	}
}

// A plugin ends when its standard input is closed, even if the host dies without notice.
func TestPluginEndsWithStdin(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			p := open(t, e.config(t))
			_ = p.now.proc.stdin.Close() // as the system does when the host dies
			if !p.now.proc.ended(5 * time.Second) {
				t.Error("the plugin runs after its input was closed")
			}
		})
	}
}

// The two copies of the protocol are identical.
func TestProtocolCopy(t *testing.T) {
	ours, err := os.ReadFile("gatev1/gate.proto")
	if err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile("../../examples/gate-plugin-node/gate.proto")
	if err != nil {
		t.Fatal(err)
	}
	if string(ours) != string(copied) {
		t.Error("examples/gate-plugin-node/gate.proto is not gates/plugin/gatev1/gate.proto; copy it")
	}
}

// BenchmarkStart measures the cost of a plugin before its first report: start, handshake, Info, a first call, and its
// end.
func BenchmarkStart(b *testing.B) {
	for _, e := range examples() {
		b.Run(e.name, func(b *testing.B) {
			config := e.config(b)
			s := gates.Subject{Dir: treeOf(b, e.clean)}
			var up, end time.Duration
			for b.Loop() {
				began := time.Now()
				p := open(b, config)
				up += time.Since(began)
				if _, err := p.Check(b.Context(), s); err != nil {
					b.Fatal(err)
				}
				began = time.Now()
				_ = p.Close()
				end += time.Since(began)
			}
			b.ReportMetric(float64(up.Milliseconds())/float64(b.N), "ms/open")
			b.ReportMetric(float64(end.Milliseconds())/float64(b.N), "ms/close")
		})
	}
}

// BenchmarkCheck measures a call to a running plugin.
func BenchmarkCheck(b *testing.B) {
	for _, e := range examples() {
		b.Run(e.name, func(b *testing.B) {
			p, s := open(b, e.config(b)), gates.Subject{Dir: treeOf(b, e.clean)}
			for b.Loop() {
				if _, err := p.Check(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func treeOf(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.js"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// goExample builds examples/gate-plugin-go.
func goExample(t testing.TB) Config {
	t.Helper()
	c := stage(t, "")
	c.Name, c.Path, c.Command = "todo-owner", goExamples.program(t, "../../examples/gate-plugin-go"), nil
	return c
}

// nodeExample installs examples/gate-plugin-node.
func nodeExample(t testing.TB) Config {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		tooltest.Missing(t, err, "install Node.js: the example of a plugin in JavaScript runs in it")
	}
	node.once.Do(func() { node.dir, node.err = install() })
	if node.err != nil {
		tooltest.Missing(t, node.err, "its packages come from npm's registry")
	}
	c := stage(t, "")
	c.Name, c.Path = "left-behind", filepath.Join(node.dir, "gate.js")
	c.Command = []string{program, c.Path}
	c.SHA256 = sumOf(c.Path)
	return c
}

// install copies the plugin and installs its dependencies in the versions of its lock file.
func install() (string, error) {
	dir, err := os.MkdirTemp("", "gate-plugin-node-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"gate.js", "serve.js", "gate.proto", "package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("../../examples/gate-plugin-node", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			return dir, err
		}
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("npm ci for examples/gate-plugin-node, which its tests need: %w\n%s", err, out)
	}
	return dir, nil
}
