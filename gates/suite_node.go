package gates

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// nodeSuite runs the project's test script. Without one, it runs the runner that the package depends on, or node's
// own.
func nodeSuite(dir string, p Project) []suite {
	pkg := readPackage(dir, p.Root)
	var args []string
	switch {
	case pkg.testScript() != "":
		args = []string{packageManager(dir, p.Root), "test"}
		if args[0] == "bun" {
			args = []string{"bun", "run", "test"} // because bun test is bun's own runner
		}
	case p.Root != "." && measures.MatchString(p.Root): // a benchmark of runners has their files, and no tests
		return nil
	case pkg.depends("vitest") && (p.Root == "." || namedNodeTests(dir, p)):
		args = []string{"vitest", "run"}
	case pkg.depends("jest") && (p.Root == "." || namedNodeTests(dir, p)):
		args = []string{"jest", "--ci"}
	case nodeTests(dir, p):
		args = []string{"node", "--test"}
	default:
		return nil
	}
	plan := func(_ context.Context, w *Look) ([]testRun, error) {
		members := workspaces(w.subject.Dir, p, pkg)
		if members == nil {
			return nodeRuns(w, p, pkg, args)
		}
		var out []testRun
		for _, m := range members {
			runs, err := nodeRuns(w, m, readPackage(w.subject.Dir, m.Root), []string{args[0], "test"})
			if err != nil {
				return nil, err
			}
			for _, r := range runs {
				r.member = way(p.Root, m.Root)
				out = append(out, r)
			}
		}
		return out, nil
	}
	return []suite{{project: p, command: commandLine(p.Root, args), tools: nodeTools(dir, p, pkg, args), plan: plan}}
}

// nodeRuns returns the calls of a package's test script, or the one call of a runner.
func nodeRuns(w *Look, p Project, pkg nodePackage, args []string) ([]testRun, error) {
	calls := []nodeCall{{tool: args[0], script: strings.Join(args, " "), alone: true}}
	run := slices.Clone(args)
	switch run[0] {
	case "vitest", "jest":
		bin, err := w.nodeBin(p.Root, run[0], p.Marker)
		if err != nil {
			return nil, err
		}
		run[0] = bin
	case "node":
	default:
		calls = pkg.nodeParts(args[0])
		if _, pnp := upwards(w.subject.Dir, p.Root, ".pnp.cjs"); pnp || len(calls) == 0 {
			calls = []nodeCall{pkg.nodeScript("test", 0)}
		}
	}
	cause := func(r ran) error {
		_, have := upwards(w.subject.Dir, p.Root, "node_modules")
		if !have && len(pkg.Deps)+len(pkg.DevDeps) > 0 && notInstalled.MatchString(r.text) {
			return notReady{errors.New("the dependencies of " + p.Marker + " are not installed: run " +
				installs(w.subject.Dir, p.Root) + ", or add it to the set-up of workspaces")}
		}
		return nil
	}
	var out []testRun
	for _, call := range calls {
		if call.part != "" {
			run = shell(call.part)
		}
		r, err := nodeReported(w, p, call, run)
		if err != nil {
			return nil, err
		}
		r.cause = cause
		out = append(out, r)
	}
	return out, nil
}

// measures matches folders of benchmarks.
var measures = lazyre.New(`(?:^|/)bench(?:es|marks?)?(?:/|$)`)

// nodeTools returns the programs that the tests of a package need: node, the package manager, and the runner that the
// script calls.
func nodeTools(dir string, p Project, pkg nodePackage, args []string) []Tool {
	node := onPathTool("node", "", "https://nodejs.org")
	if args[0] == "node" {
		return []Tool{node}
	}
	out := []Tool{}
	runner := args[0]
	if args[len(args)-1] == "test" {
		runner = ""
		_, lock := managerOf(dir, p.Root)
		out = append(out, managerTool(args[0], lock))
		if c := pkg.nodeScript("test", 0); c.tool != "node" && c.tool != "bun" {
			runner = c.tool
		}
	}
	if args[0] != "bun" {
		out = append([]Tool{node}, out...)
	}
	switch {
	case runner != "":
		return append(out, NodeTool(dir, p.Root, runner, runner, p.Marker))
	case len(pkg.Deps)+len(pkg.DevDeps) > 0:
		out = append(out, Tool{Name: "the packages of " + p.Marker, Own: []string{"node_modules", ".pnp.cjs"}, Root: p.Root,
			Install: installs(dir, p.Root)})
	}
	return out
}

// managerTool returns a package manager of Node.
func managerTool(name, config string) Tool {
	how := map[string]string{
		"npm": "it comes with https://nodejs.org", "pnpm": "npm install --global pnpm, or corepack enable",
		"yarn": "npm install --global yarn, or corepack enable", "bun": "npm install --global bun",
	}
	return onPathTool(name, config, how[name])
}

var notInstalled = lazyre.New(`(?i)command not found|: not found|Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND|is not recognized as`)

func (p nodePackage) depends(name string) bool { return p.Deps[name] != "" || p.DevDeps[name] != "" }

func packageManager(dir, root string) string {
	tool, _ := managerOf(dir, root)
	return tool
}

// managerOf chooses the package manager by the lock file, in this folder or one above. lock is that file, "" for npm.
func managerOf(dir, root string) (tool, lock string) {
	for _, m := range []struct{ lock, tool string }{
		{"pnpm-lock.yaml", "pnpm"},
		{"yarn.lock", "yarn"},
		{"bun.lock", "bun"},
		{"bun.lockb", "bun"},
	} {
		if at, ok := upwards(dir, root, m.lock); ok {
			return m.tool, at
		}
	}
	return "npm", ""
}

// nodeBin returns the path of an installed program of a package's dependencies. of names the package in the error.
func (w *Look) nodeBin(root, tool, of string) (string, error) {
	if bin := w.Tool(root, "node_modules/.bin/"+tool, ""); bin != "" {
		return bin, nil
	}
	return "", notReady{fmt.Errorf("%s depends on %s, which is not installed: run %s, or let the workspace's set-up do it",
		of, tool, installs(w.subject.Dir, root))}
}

// installs returns the command that installs a package's dependencies: exactly those of its lock file, if it has one.
func installs(dir, root string) string {
	tool := packageManager(dir, root)
	if tool != "npm" {
		return tool + " install"
	}
	for _, lock := range []string{"package-lock.json", "npm-shrinkwrap.json"} {
		if _, ok := upwards(dir, root, lock); ok {
			return "npm ci"
		}
	}
	return "npm install"
}

// assertsInNode matches the imports of a test file for node's own runner. Other files with such names are often test
// data of programs that read JavaScript.
var assertsInNode = lazyre.New(`["'](?:node:)?(?:test|assert)(?:/\w+)?["']`)

// namedNodeTests reports whether a file has a name by which Node runners find tests. A package that only depends on a
// runner may have no tests.
func namedNodeTests(dir string, p Project) bool {
	return anyFile(dir, p, nil, func(rel, name string) bool {
		return language.OfTest(path.Join(rel, name)) == language.Node
	})
}

// nodeTests reports whether `node --test` would find something.
func nodeTests(dir string, p Project) bool {
	return anyFile(dir, p, nil, func(rel, name string) bool {
		ext := filepath.Ext(name)
		if ext != ".js" && ext != ".mjs" && ext != ".cjs" {
			return false
		}
		base := strings.TrimSuffix(name, ext)
		named := strings.HasSuffix(base, ".test") || strings.HasSuffix(base, "-test") || strings.HasSuffix(base, "_test") ||
			strings.HasPrefix(base, "test-") || base == "test" || slices.Contains(strings.Split(rel, "/"), "test")
		return named && assertsInNode.MatchString(readText(dir, path.Join(p.Root, rel), name))
	})
}
