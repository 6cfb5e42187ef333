package gates

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/planted"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
)

// maxPlanted limits how many test files of a package get planted tests. They are chosen at random.
const maxPlanted = 64

var (
	nodeName   = lazyre.New(`[.\-_](?:test|spec)\.[cm]?[jt]sx?$`)
	nodeCallIn = lazyre.New(`\b(?:it|test)\b[.\w]*\s*\(`)
	nodeModule = lazyre.New(`(?m)^\s*(?:import\s*[\w{*'"]|export\s+[\w{*])`)
	nodeOnly   = lazyre.New(`\b(?:describe|it|test|suite)\.only\b|\bonly:\s*true`)
	nodePicks  = lazyre.New(`(?:^|\s)(?:-t|-g|-f|--testNamePattern|--test-name-pattern|--grep|--fgrep)\b|testNamePattern|"?(?:grep|fgrep)"?\s*:`)
	nodeLimits = lazyre.New(`[tT]hreshold|check-coverage|failOnOpen|--detectLeaks|--detectOpenHandles`)
)

// plantNode appends a pair of tests to test files of the package, so they share module, process, settings and product
// code with the existing tests.
func plantNode(p Project, tool string, files []string, config, script string, alone bool) recipe {
	return func(w *Look, r *testRun, b *bed) error {
		unsure := ""
		if nodePicks.MatchString(script + "\n" + config) {
			unsure = "the test script selects tests by name and omits the planted ones"
		}
		b.masks = !alone || nodeLimits.MatchString(script+"\n"+config)
		if tool == "mocha" {
			b.exits = func(exit, failed int) bool { return exit == min(failed, 255) || exit == 1 }
		}
		b.why = "no test file calls the test runner by a known name"
		return b.sowInto(w, p, files, func(file, text string) (string, plant) {
			if !nodeCallIn.MatchString(text) || tool == "node" && !strings.Contains(text, "node:test") {
				return "", plant{}
			}
			pair := plant{unsure: unsure}
			if unsure == "" && nodeOnly.MatchString(text) {
				pair.unsure = "its tests are selected by only, which omits the planted ones"
			}
			pair.fail, pair.pass = b.pair("")
			return nodePair(tool, text, w.module(p, file, text), pair.fail, pair.pass, b.word), pair
		})
	}
}

// sowInto appends tests to some of the files of a project. of returns the tests for a file and its text, and their
// names; "" skips the file.
func (b *bed) sowInto(w *Look, p Project, files []string, of func(file, text string) (string, plant)) error {
	for _, i := range rand.Perm(len(files)) {
		if len(b.plants) == maxPlanted {
			break
		}
		file := files[i]
		text := readText(w.subject.Dir, p.Root, file)
		planted, pair := of(file, text)
		if planted == "" || len(text) == maxConfig {
			continue
		}
		pair.place, pair.like = path.Join(p.Root, file), func(c testout.Case) bool { return c.Path == file }
		if err := b.sow(w, pair.place, planted); err != nil {
			return err
		}
		b.plants = append(b.plants, pair)
	}
	return nil
}

// module distinguishes an ES module from a CommonJS one.
func (w *Look) module(p Project, file, text string) bool {
	switch path.Ext(file) {
	case ".mjs", ".mts":
		return true
	case ".cjs", ".cts":
		return false
	}
	if at, ok := upwards(w.subject.Dir, path.Join(p.Root, path.Dir(file)), "package.json"); ok {
		if readPackage(w.subject.Dir, path.Dir(at)).Type == "module" {
			return true
		}
	}
	return nodeModule.MatchString(text)
}

// nodePair returns the text of the planted tests. The failing one passes if an assertion that must fail does not, so it
// also reveals assertions without effect.
func nodePair(tool, text string, module bool, fail, pass, word string) string {
	load := func(what, from string) string {
		if module {
			return fmt.Sprintf("import { %s as %s_%s } from '%s';\n", what, word, what, from)
		}
		return fmt.Sprintf("const %s_%s = require('%s').%s;\n", word, what, from, what)
	}
	from := map[string]string{"vitest": "vitest", "bun": "bun:test"}[tool]
	module = module || from != ""
	if tool == "jest" && strings.Contains(text, "@jest/globals") {
		from = "@jest/globals"
	}
	head, test, expect := "", word+"_test", word+"_expect"
	switch {
	case from != "":
		head = load("test", from) + load("expect", from)
	case tool == "jest":
		test, expect = "test", "expect"
	case tool == "node":
		head = load("test", "node:test")
	default:
		test = "(typeof it === 'function' ? it : test)"
	}
	checks, fine := "", ""
	if tool == "node" || tool == "mocha" {
		names := []string{"equal", "strictEqual", "deepEqual", "deepStrictEqual", "notStrictEqual", "ok", "throws"}
		for _, n := range names {
			head += load(n, "node:assert")
		}
		checks = fmt.Sprintf(
			"() => %[1]sequal(1, 2), () => %[1]sstrictEqual(1, 2), () => %[1]sdeepEqual({ a: 1 }, { a: 2 }), "+
				"() => %[1]sdeepStrictEqual([1], [2]), () => %[1]snotStrictEqual(1, 1), () => %[1]sok(false), "+
				"() => %[1]sthrows(() => {})", word+"_")
	} else {
		fine = expect + "(1).toBe(1);"
		checks = fmt.Sprintf(
			"() => %[1]s(1).toBe(2), () => %[1]s({ a: 1 }).toEqual({ a: 2 }), () => %[1]s([1]).toStrictEqual([2]), "+
				"() => %[1]s(false).toBeTruthy(), () => %[1]s([]).toContain(1), () => %[1]s(() => {}).toThrow()", expect)
	}
	return "\n" + planted.Text("node.js", "HEAD\n", head, "TEST", test, "PASS", pass, "FINE", fine, "FAIL", fail,
		"CHECKS", checks, "WORD", word)
}

// nodeTestFiles returns the files of a package in which its runner may find tests. It differs from
// [language.OfTest], which also knows files that only other tools read: this takes each name of any runner of Node.
func nodeTestFiles(dir string, p Project) []string {
	var out []string
	for rel, name := range filesOf(dir, p, nil) {
		ext := path.Ext(name)
		if !slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"}, ext) ||
			strings.HasSuffix(name, ".d.ts") {
			continue
		}
		in := strings.Split(rel, "/")
		if nodeName.MatchString(name) || strings.HasPrefix(name, "test-") || strings.TrimSuffix(name, ext) == "test" ||
			slices.Contains(in, "__tests__") || slices.Contains(in, "test") || slices.Contains(in, "tests") ||
			slices.Contains(in, "spec") {
			out = append(out, path.Join(rel, name))
		}
	}
	slices.Sort(out)
	return out
}
