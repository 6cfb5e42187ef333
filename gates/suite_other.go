package gates

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// shellSuite runs the scripts that [shellScripts] finds, each from the root of the tree (GATE-03).
func shellSuite(dir string, p Project) []suite {
	var scripts []string
	for root, files := range walk(dir, maxDepth) {
		scripts = append(scripts, shellScripts(root, files)...)
	}
	if len(scripts) == 0 {
		return nil
	}
	plan := func(_ context.Context, w *Look) ([]testRun, error) {
		return lists.Map(scripts, func(s string) testRun {
			return testRun{program: program{args: scriptArgs(w.subject.Dir, s)}, about: s,
				why: "a shell script runs its tests itself"}
		}), nil
	}
	shown := phrase.Join(scripts, " && ", func(s string) string { return commandLine("", scriptArgs(dir, s)) })
	tools := []Tool{{Name: "bash", Program: "bash", Install: "install bash"}}
	if slices.ContainsFunc(scripts, func(s string) bool { return strings.HasSuffix(s, ".bats") }) {
		tools = append(tools, Tool{
			Name: "bats", Program: "bats", Version: []string{"--version"}, Own: []string{"node_modules/.bin/bats"}, Root: p.Root,
			Install: "apt install bats, or npm install --save-dev bats",
		})
	}
	return []suite{{project: p, command: shown, tools: tools, plan: plan}}
}

// scriptArgs uses the script's first line if the script is executable.
func scriptArgs(dir, script string) []string {
	if strings.HasSuffix(script, ".bats") {
		if bin, ok := upwards(dir, path.Dir(script), "node_modules/.bin/bats"); ok {
			return []string{"./" + bin, "--tap", script}
		}
		return []string{"bats", "--tap", script}
	}
	if fi, err := os.Stat(filepath.Join(dir, filepath.FromSlash(script))); err == nil && fi.Mode()&0o111 != 0 {
		if head := readText(dir, ".", script); strings.HasPrefix(head, "#!") {
			return []string{"./" + script}
		}
	}
	return []string{"bash", "./" + script}
}

// makeSuite adds `make test`, unless a better runner is found at the same root. A shell suite is better only if the
// target does nothing but call it; otherwise one of them would never run.
func makeSuite(dir string, p Project, found []suite) []suite {
	recipe, ok := makeTarget(readMakefile(dir, p.Root, path.Base(p.Marker)), "test")
	if !ok {
		return found
	}
	for _, s := range found {
		if s.project.Root != p.Root {
			continue
		}
		if s.project.Language != LangShell || strings.Contains(recipe, "run-all-tests.sh") ||
			strings.Contains(recipe, "test-") ||
			strings.Contains(recipe, "bats") {
			return found
		}
	}
	return append(found, called(p, []string{"make", "test"}, onPathTool("make", "", "install make"),
		testRun{about: p.Marker, why: "make runs the tests itself"}))
}

func cargoSuite(dir string, p Project) suite {
	args := []string{"cargo", "test"}
	if exists(dir, p.Root, "Cargo.lock") {
		args = append(args, "--locked") // otherwise cargo may rewrite the file
	}
	return called(p, args, onPathTool("cargo", "", "https://rustup.rs"), testRun{plant: plantCargo(p)})
}

// plantCargo plants an integration test in each crate that `cargo test` covers.
func plantCargo(p Project) recipe {
	return func(w *Look, r *testRun, b *bed) error {
		roots := []string{p.Root}
		if !cargoPackage.MatchString(readText(w.subject.Dir, p.Root, "Cargo.toml")) { // without the members of a workspace
			roots = nil
			for rel, name := range filesOf(w.subject.Dir, p, nil) {
				if at := path.Join(p.Root, rel); name == "Cargo.toml" && at != p.Root {
					roots = append(roots, at)
				}
			}
		}
		r.shown = slices.Clone(r.args)
		r.args = append(r.args, "--no-fail-fast") // a target that fails would keep others from running
		b.exits = func(exit, _ int) bool { return exit == 101 }
		for _, root := range roots {
			if text := readText(w.subject.Dir, root, "Cargo.toml"); !cargoPackage.MatchString(text) ||
				strings.Contains(text, "autotests") {
				continue
			}
			fail, pass := b.pair("")
			b.plants = append(b.plants, plant{
				place: path.Join(root, "tests"), fail: fail, pass: pass,
				like: func(c testout.Case) bool { return len(roots) == 1 || strings.HasPrefix(c.Group, "tests/") },
			})
			dir := filepath.Join(w.subject.Dir, filepath.FromSlash(root), "tests")
			if _, err := os.Lstat(dir); os.IsNotExist(err) {
				if err := os.Mkdir(dir, 0o755); err != nil {
					return fmt.Errorf("plant a test: %w", err)
				}
				b.undo = append(b.undo, func() { _ = os.Remove(dir) })
			}
			text := fmt.Sprintf(
				"#[test]\nfn %s() {\n    assert_eq!(1, 2, %q);\n}\n\n#[test]\nfn %s() {\n    assert_eq!(1, 1);\n}\n", fail, b.word,
				pass)
			if err := b.sow(w, path.Join(root, "tests", b.word+".rs"), text); err != nil {
				return err
			}
		}
		return nil
	}
}

var cargoPackage = lazyre.New(`(?m)^\s*\[package\]`)
