package gates

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/tools/tooltest"
)

// nodeCase is a project of one runner with its own `add`.
type nodeCase struct {
	files  map[string]string
	module string // that has to be installed
	name   string // of a test that passes
}

func nodeCases() map[string]nodeCase {
	pkg := func(script, more string) string {
		return `{"name":"x","version":"1.0.0","scripts":{"test":"` + script + `"` + more + `}}`
	}
	const calc = "exports.add = (a, b) => a + b;\n"
	const globals = "const { add } = require('../calc.js');\n\ndescribe('sum', () => {\n  test('adds', () => { " +
		"expect(add(1, 2)).toBe(3); });\n  test.skip('later', () => {});\n});\n"
	const other = "test('other', () => { expect(1).toBe(1); });\n"
	return map[string]nodeCase{
		"node": {name: "sum > adds", files: map[string]string{
			"package.json": pkg("node --test", ""), "calc.js": calc,
			"test/calc.test.js": "const { describe, it } = require('node:test');\nconst assert = " +
				"require('node:assert');\nconst { add } = require('../calc.js');\n\ndescribe('sum', () => {\n  it('adds', () => " +
				"{ assert.equal(add(1, 2), 3); });\n  it.skip('later', () => {});\n});\n",
			"test/other.test.mjs": "import test from 'node:test';\ntest('other', () => {});\n",
		}},
		"node without a script": {name: "sum > adds", files: map[string]string{
			"package.json": `{"name":"x"}`, "calc.js": calc,
			"test/calc.test.js": "const { describe, it } = require('node:test');\nconst assert = " +
				"require('node:assert');\nconst { add } = require('../calc.js');\n\ndescribe('sum', () => {\n  it('adds', () => " +
				"{ assert.equal(add(1, 2), 3); });\n  it.skip('later', () => {});\n});\n",
			"test/other.test.mjs": "import test from 'node:test';\ntest('other', () => {});\n",
		}},
		"jest": {module: "jest", name: "sum › adds", files: map[string]string{
			"package.json": pkg("jest", `,"lint":"true"},"jest":{"bail":1`), "calc.js": calc,
			"test/calc.test.js": globals, "test/other.test.js": other,
		}},
		"jest behind another script": {module: "jest", name: "sum › adds", files: map[string]string{
			"package.json": pkg("true && npm run unit", `,"unit":"jest --ci"`), "calc.js": calc,
			"test/calc.test.js": globals, "test/other.test.js": other,
		}},
		"vitest": {module: "vitest", name: "sum > adds", files: map[string]string{
			"package.json": pkg("vitest run", `},"type":"module","x":{"y":1`),
			"calc.js":      "export const add = (a, b) => a + b;\n",
			"test/calc.test.ts": "import { describe, expect, it } from 'vitest';\nimport { add } from " +
				"'../calc.js';\n\ndescribe('sum', () => {\n  it('adds', () => { expect(add(1, 2)).toBe(3); });\n  " +
				"it.skip('later', () => {});\n});\n",
			"test/other.test.js": "import { expect, test } from 'vitest';\ntest('other', () => { expect(1).toBe(1); });\n",
		}},
		"mocha": {module: "mocha", name: "sum adds", files: map[string]string{
			"package.json": pkg("mocha", ""), "calc.js": calc, ".mocharc.json": `{"bail":true,"reporter":"dot"}`,
			"test/calc.js": "const assert = require('assert');\nconst { add } = require('../calc.js');\n\ndescribe('sum', () " +
				"=> {\n  it('adds', () => { assert.equal(add(1, 2), 3); });\n  it.skip('later', () => {});\n});\n",
			"test/other.js": "it('other', () => {});\n",
		}},
	}
}

func nodeTree(t *testing.T, c nodeCase, more map[string]string) string {
	t.Helper()
	tooltest.Slow(t)
	needs(t, "node")
	needs(t, "npm")
	dir := tree(t, with(c.files, more))
	if c.module != "" {
		if err := os.Symlink(tooltest.NodeModules(t, c.module), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCalibratesNode(t *testing.T) {
	for name, c := range nodeCases() {
		t.Run(name, func(t *testing.T) {
			rep := sealed(t, nodeTree(t, c, nil), "tests:node")
			honest(t, rep, TestCount{Passed: 2, Skipped: 1})
			if status(rep, c.name) != testout.Passed || rep.Cases[0].Path == "" {
				t.Errorf("%+v", rep.Cases)
			}
			calc := "exports.add = (a, b) => a - b;\n"
			if name == "vitest" {
				calc = "export const add = (a, b) => a - b;\n"
			}
			rep = sealed(t, nodeTree(t, c, map[string]string{"calc.js": calc}), "tests:node")
			honest(t, rep, TestCount{Passed: 1, Failed: 1, Skipped: 1})
			if status(rep, c.name) != testout.Failed || len(rep.Findings) != 1 || rep.Findings[0].Line == 0 ||
				rep.Findings[0].Path == "" {
				t.Errorf("%+v %+v", rep.Cases, rep.Findings)
			}
		})
	}
}

func TestCalibrationCatchesNode(t *testing.T) {
	all := nodeCases()
	for name, c := range map[string]struct{ runner, file, text, part string }{
		"node: a file that ends": {"node", "test/calc.test.js",
			"const test = require('node:test');\nprocess.exit(0);\ntest('a', () => {});\n", "not run"},
		"node: product code that ends": {"node", "calc.js", "process.exit(0);\n", "not run"},
		"node: a test that ends":       {"node", "calc.js", "exports.add = () => process.exit(0);\n", "not run"},
		"node: assertions without effect": {"node", "calc.js",
			"require('assert').equal = () => {};\nexports.add = () => 0;\n", "was reported as passed"},
		"node: options of npm": {"node", ".npmrc", "node-options=--require ./zz.cjs\n",
			"was reported as passed"},
		"node: another shell": {"node", ".npmrc", "script-shell=./sh.sh\n", "without a report"},
		"jest: a test that ends": {"jest", "calc.js", "exports.add = () => process.exit(0);\n",
			"without a report"},
		"jest: a processor of results": {"jest", "jest.config.js",
			"module.exports = { testResultsProcessor: './zz.cjs' };\n", "was reported as passed"},
		"jest: expectations without effect": {"jest", "calc.js",
			"global.expect = () => new Proxy({}, { get: () => () => {} });\nexports.add = () => 0;\n", "was reported as passed"},
		"mocha: a required file":        {"mocha", ".mocharc.json", `{"require":["./zz.cjs"]}`, "was reported as passed"},
		"mocha: product code that ends": {"mocha", "calc.js", "process.exit(0);\n", "without a report"},
		"mocha: an exit after all": {"mocha", "calc.js",
			"process.on('exit', () => { process.exitCode = 0; process.reallyExit(0); });\nexports.add = () => 0;\n",
			"exited with status 0"},
		"vitest: expectations turned": {"vitest", "calc.js",
			"import { chai } from 'vitest';\nchai.Assertion.prototype.assert = () => {};\nexport const add = () => 0;\n",
			"was reported as passed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			helper := map[string]string{
				"node": "const t = require('node:test');\nconst m = require('module');\nconst load = m._load;\nconst fake = " +
					"(name, f) => t(name, () => {});\nm._load = function (n, ...r) { return n === 'node:test' ? Object.assign(fake, " +
					"{ test: fake, it: fake, describe: (n, f) => f() , skip() {} }) : load.call(this, n, ...r); };\nfake.skip = () " +
					"=> {};\n",
				"jest": "module.exports = (r) => { for (const s of r.testResults) { s.numFailingTests = 0; for (const t of " +
					"s.testResults) t.status = 'passed'; } r.numFailedTests = 0; r.numFailedTestSuites = 0; r.success = true; " +
					"return r; };\n",
				"mocha":  "const { Runnable } = require('mocha');\nRunnable.prototype.run = function (done) { done(); };\n",
				"vitest": "",
			}[c.runner]
			more := map[string]string{"sh.sh!": "#!/bin/sh\necho '# pass 2'\necho '# fail 0'\nexit 0\n", "zz.cjs": helper}
			more[c.file] = c.text
			if c.file == "jest.config.js" {
				more["package.json"] = `{"name":"x","version":"1.0.0","scripts":{"test":"jest"}}`
			}
			lying(t, sealed(t, nodeTree(t, all[c.runner], more), "tests:node"), c.part)
		})
	}
}

func TestNodeScript(t *testing.T) {
	for script, want := range map[string]string{
		"jest": "jest", "cross-env CI=1 jest --ci": "jest", "NODE_ENV=test mocha 'test/**/*.js'": "mocha",
		"npx vitest run": "vitest", "tsc && node --test": "node",
		"node --import tsx --test": "node", "node --experimental-vm-modules node_modules/jest/bin/jest.js": "jest",
		"c8 mocha": "mocha", "react-scripts test": "jest",
		"jest && eslint .": "", "jest | tee log": "", "tap test/*.js": "", "node test.js": "", "bash test.sh": "",
		"npm run unit": "vitest", "yarn unit": "vitest", "npm test": "",
	} {
		p := nodePackage{Scripts: map[string]string{"test": script, "unit": "vitest run"}}
		if got := p.nodeScript("test", 0); got.tool != want || want == "" && got.why == "" {
			t.Errorf("%q: %+v, want %q", script, got, want)
		}
	}
}

// Tests before other commands of the script have their names, and the other commands decide too.
func TestTestsBeforeOtherCommands(t *testing.T) {
	all := nodeCases()
	for name, script := range map[string]string{"node": `npm run unit && npm run types","unit":"node --test`,
		"mocha": "mocha && npm run types", "jest": `npm run unit && npm run types","unit":"jest`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := all[name]
			c.files = with(c.files, map[string]string{"types.js": "", "package.json": `{"name":"x","scripts":{"test":"` +
				script +
				`","types":"node types.js"}}`})
			rep := sealed(t, nodeTree(t, c, nil), "tests:node")
			rep.Cases = slices.DeleteFunc(rep.Cases, func(c testout.Case) bool { return c.Name == "package.json" })
			honest(t, rep, TestCount{Passed: 2, Skipped: 1})
			if status(rep, c.name) != testout.Passed {
				t.Errorf("%+v", rep.Cases)
			}
			rep = sealed(t, nodeTree(t, c, map[string]string{"calc.js": "exports.add = (a, b) => a - b;\n"}), "tests:node")
			if status(rep, c.name) != testout.Failed || status(rep, "package.json") != testout.Passed || rep.Status != Fail {
				t.Errorf("a failed test: %s %+v", rep.Status, rep.Cases)
			}
			rep = sealed(t, nodeTree(t, c, map[string]string{"types.js": "process.exit(1);\n"}), "tests:node")
			if status(rep, c.name) != testout.Passed || status(rep, "package.json") != testout.Failed || rep.Status != Fail {
				t.Errorf("a failed command: %s %+v", rep.Status, rep.Cases)
			}
			if name != "node" {
				return // the rest does not depend on the runner
			}
			lying(t, sealed(t, nodeTree(t, c, map[string]string{"calc.js": "require('assert').equal = () => {};\n" +
				"exports.add = () => 0;\n"}), "tests:node"), "was reported as passed")
			rep = sealed(t, nodeTree(t, c, map[string]string{"types.js": "console.log('4 passed, 0 failed');\n"}), "tests:node")
			if rep.Status != Pass || rep.Proof.Calibration != Uncalibrated {
				t.Errorf("other tests: %s %+v", rep.Status, rep.Proof)
			}
		})
	}
}

// A script that only runs the tests of each workspace is as many calls: each names its tests, and each is calibrated.
func TestCalibratesWorkspaces(t *testing.T) {
	tooltest.Slow(t)
	member := func(name, code string) map[string]string {
		at := "packages/" + name + "/"
		return map[string]string{
			at + "package.json": `{"name":"` + name + `","version":"1.0.0","scripts":{"test":"node --test"}}`,
			at + "index.js":     code,
			at + "a.test.js": "const test = require('node:test');\nconst { add } = require('./index.js');\n" +
				"test('adds', () => { require('node:assert').equal(add(1, 2), 3); });\n",
		}
	}
	const good, wrong, ends = "exports.add = (a, b) => a + b;\n", "exports.add = (a, b) => a - b;\n", "process.exit(0);\n"
	for script, at := range map[string]map[string]string{
		"npm test --workspaces --if-present": {"package.json": `"workspaces":["packages/*","!packages/c"]`},
		"pnpm -r test":                       {"package.json": `"private":true`, "pnpm-workspace.yaml": "packages:\n  - 'packages/[ab]'\n"},
	} {
		t.Run(script, func(t *testing.T) {
			look := func(b string) Report {
				files := with(with(with(at, member("a", good)), member("b", b)), member("c", wrong))
				files["package.json"] = `{"name":"x",` + at["package.json"] + `,"scripts":{"test":"` + script + `"}}`
				files["packages/d/package.json"] = `{"name":"d","version":"1.0.0"}`
				return sealed(t, tree(t, files), "tests:node")
			}
			rep := look(good)
			honest(t, rep, TestCount{Passed: 2})
			for i, want := range []string{"packages/a/a.test.js", "packages/b/a.test.js"} {
				if c := rep.Cases[i]; c.Path != want || c.Name != "adds" || !strings.HasPrefix(c.Group, path.Dir(want)) {
					t.Errorf("%+v, want a test of %s", c, want)
				}
			}
			if rep := look(wrong); !hasFinding(rep, "test", "packages/b/a.test.js", 3, "adds") {
				t.Errorf("%+v", rep.Findings)
			}
			lying(t, look(ends), "not run")
		})
	}
}

// A linter that runs before the tests rejects the planted ones: the suite then runs without them.
func TestLinterBeforeTestsRejectsPlantedOnes(t *testing.T) {
	tooltest.Slow(t)
	lint := "if (require('fs').readFileSync('a.test.js', 'utf8').split('\\n').length > 5) {\n" +
		"  console.log('FAIL: a.test.js breaks 2 rules');\n  process.exit(1);\n}\n"
	for add, want := range map[string]Status{"a + b": Pass, "a - b": Fail} {
		dir := tree(t, map[string]string{
			"package.json": `{"name":"x","scripts":{"test":"node lint.js && node --test"}}`, "lint.js": lint,
			"calc.js": "exports.add = (a, b) => " + add + ";\n",
			"a.test.js": "const test = require('node:test');\nconst { add } = require('./calc.js');\n" +
				"test('adds', () => { require('node:assert').equal(add(1, 2), 3); });\n"})
		rep := sealed(t, dir, "tests:node")
		if rep.Status != want || rep.Proof == nil || rep.Proof.Calibration != Uncalibrated || rep.Tests.Total() != 1 {
			t.Errorf("%s: %s %+v %+v\n%s", add, rep.Status, rep.Tests, rep.Proof, rep.Output)
		}
	}
}
