package gates

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates/testout"
)

// A script is followed to the runner that it ends in. Another command after the runner, or around it, has its own say
// about the exit status.
func TestScriptEndsInRunner(t *testing.T) {
	for name, c := range map[string]struct {
		scripts map[string]string
		tool    string
		depth   int
		alone   bool
		why     string
	}{
		"plain":             {map[string]string{"test": "jest"}, "jest", 0, true, ""},
		"a script after it": {map[string]string{"test": "jest", "posttest": "eslint"}, "jest", 0, false, ""},
		"another script":    {map[string]string{"test": "npm run unit", "unit": "vitest run"}, "vitest", 1, true, ""},
		"a script after that": {map[string]string{"test": "npm run unit", "unit": "vitest run", "postunit": "x"},
			"vitest", 1, false, ""},
		"after the outer one": {map[string]string{"test": "npm run unit", "unit": "vitest run", "posttest": "x"},
			"vitest", 1, false, ""},
		"coverage":           {map[string]string{"test": "c8 --check-coverage mocha"}, "mocha", 0, false, ""},
		"coverage of nyc":    {map[string]string{"test": "nyc mocha"}, "mocha", 0, false, ""},
		"an environment":     {map[string]string{"test": "env A=1 npx --no jest --ci"}, "jest", 0, true, ""},
		"a path":             {map[string]string{"test": `"./node_modules/.bin/_mocha" x`}, "mocha", 0, true, ""},
		"tsx":                {map[string]string{"test": "tsx --test"}, "node", 0, true, ""},
		"node and an option": {map[string]string{"test": "node --import=tsx --test"}, "node", 0, true, ""},
		"bun":                {map[string]string{"test": "bun test"}, "bun", 0, true, ""},
		"bun with a script":  {map[string]string{"test": "bun run unit", "unit": "jest"}, "jest", 1, true, ""},
		"three scripts deep": {map[string]string{"test": "yarn a", "a": "yarn b", "b": "yarn c", "c": "jest"}, "jest",
			3, true, ""},
		"four scripts deep": {map[string]string{"test": "yarn a", "a": "yarn b", "b": "yarn c", "c": "yarn d",
			"d": "jest"}, "", 0, false, "the script d of package.json is empty"},
		"itself": {map[string]string{"test": "npm test"}, "", 0, false,
			"the script test of package.json is empty"},
		"arguments": {map[string]string{"test": "npm run unit -- -x", "unit": "jest"}, "", 0, false,
			"ends in a call of npm with arguments"},
		"an option": {map[string]string{"test": "npm --silent"}, "", 0, false,
			"ends in a call of npm with arguments"},
		"an unknown program": {map[string]string{"test": "tap"}, "", 0, false,
			"ends in tap, which is not a known test runner"},
		"node without a runner": {map[string]string{"test": "node test.js"}, "", 0, false, "runs node without --test"},
		"a pipe":                {map[string]string{"test": "jest | tee"}, "", 0, false, "does not end in a plain call"},
		"a substitution":        {map[string]string{"test": "jest $(x)"}, "", 0, false, "does not end in a plain call"},
		"only variables":        {map[string]string{"test": "A=1"}, "", 0, false, "does not end in a call of a test runner"},
		"nothing":               {nil, "", 0, false, "the script test of package.json is empty"},
	} {
		got := nodePackage{Scripts: c.scripts}.nodeScript("test", 0)
		if got.tool != c.tool || got.depth != c.depth || got.alone != c.alone || !strings.Contains(got.why, c.why) ||
			(got.why == "") != (c.tool != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A test script with a runner before its end, or with several, is run in parts that each end in a runner.
func TestScriptInParts(t *testing.T) {
	for name, c := range map[string]struct {
		scripts map[string]string
		want    string // the parts, each with its runner
	}{
		"types behind the tests": {map[string]string{"test": "npm run unit && npm run types", "unit": "c8 node --test", "types": "tsd"},
			"node: npm run unit; : npm run types"},
		"a build and a linter": {map[string]string{"test": "npm run build && jest --ci && eslint . && tsc", "build": "tsc"},
			"jest: npm run build && jest --ci; : eslint . && tsc"},
		"two runners":       {map[string]string{"test": "xo && mocha && vitest run"}, "mocha: xo && mocha; vitest: vitest run"},
		"in another script": {map[string]string{"test": "yarn all", "all": "mocha && tsd"}, "mocha: mocha; : tsd"},
		"before and behind": {map[string]string{"pretest": "tsc", "test": "mocha && tsd", "posttest": "xo"},
			"mocha: npm run pretest && mocha; : tsd && npm run posttest"},
		"two runners and more": {map[string]string{"test": "mocha && jest", "posttest": "xo"},
			"mocha: mocha; jest: jest; : npm run posttest"},
		"a runner at the end":     {map[string]string{"test": "xo && mocha"}, ""},
		"a script behind the end": {map[string]string{"test": "mocha", "posttest": "xo"}, ""},
		"no known runner":         {map[string]string{"test": "tap && tsd"}, ""},
		"one shell, by cd":        {map[string]string{"test": "cd web && jest && tsd"}, ""},
		"one shell, by a list":    {map[string]string{"test": "jest && (tsd; xo)"}, ""},
		"an and of a test's name": {map[string]string{"test": "mocha -g 'a && b' && tsd"}, ""},
		"nothing":                 {nil, ""},
	} {
		var got []string
		for _, part := range (nodePackage{Scripts: c.scripts}).nodeParts("npm") {
			got = append(got, part.tool+": "+part.part)
			if (part.why == "") != (part.tool != "") {
				t.Errorf("%s: %+v", name, part)
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Each runner gets a reporter that names each test, in its own way and through each package manager.
func TestReporterOfEachRunner(t *testing.T) {
	temp := regexp.MustCompile(`/\S*runplan-tests-\w+/`)
	for name, c := range map[string]struct {
		files map[string]string
		env   []string
		want  string
		set   string // variables
		exact bool
		why   string
	}{
		"node": {map[string]string{"a.test.js": "require('node:test')"}, nil,
			"node --test --test-reporter=spec --test-reporter-destination=stdout " +
				"--test-reporter=R/node.mjs --test-reporter-destination=R/node.mjs.report", "", true, ""},
		"node in a script": {map[string]string{"package.json": `{"scripts":{"test":"node --test"}}`}, nil, "npm test",
			"NODE_OPTIONS=--test-reporter=spec --test-reporter-destination=stdout --test-reporter=R/node.mjs " +
				"--test-reporter-destination=R/node.mjs.report", true, ""},
		"node with options of the environment": {map[string]string{"package.json": `{"scripts":{"test":"node --test"}}`},
			[]string{"NODE_OPTIONS=--trace"}, "npm test",
			"NODE_OPTIONS=--trace --test-reporter=spec --test-reporter-destination=stdout --test-reporter=R/node.mjs " +
				"--test-reporter-destination=R/node.mjs.report", true, ""},
		"node with options of npm": {map[string]string{"package.json": `{"scripts":{"test":"node --test"}}`,
			".npmrc": "node-options = \"--import tsx\"\n"}, nil, "npm test",
			"NPM_CONFIG_NODE_OPTIONS=--import tsx --test-reporter=spec --test-reporter-destination=stdout " +
				"--test-reporter=R/node.mjs --test-reporter-destination=R/node.mjs.report " +
				"NODE_OPTIONS=--import tsx --test-reporter=spec --test-reporter-destination=stdout --test-reporter=R/node.mjs " +
				"--test-reporter-destination=R/node.mjs.report", true, ""},
		"node with its own reporter": {map[string]string{"package.json": `{"scripts":{"test":"node --test --test-reporter=dot"}}`}, nil,
			"npm test", "", false, "sets its own reporters"},
		"node with its own options": {map[string]string{"package.json": `{"scripts":{"test":"NODE_OPTIONS=-x node --test"}}`}, nil,
			"npm test", "", false, "sets its own reporters"},
		"jest": {map[string]string{"package.json": `{"devDependencies":{"jest":"1"}}`, "a.test.js": "",
			"node_modules/.bin/jest": ""}, nil,
			"node_modules/.bin/jest --ci --json --outputFile=R/report --bail=0", "", true, ""},
		"jest with npm": {map[string]string{"package.json": `{"scripts":{"test":"jest"}}`}, nil,
			"npm test -- --json --outputFile=R/report --bail=0", "", true, ""},
		"jest with npm, in another " +
			"script": {map[string]string{"package.json": `{"scripts":{"test":"npm run x","x":"jest"}}`}, nil,
			"npm test -- -- --json --outputFile=R/report --bail=0", "", true, ""},
		"jest with pnpm": {map[string]string{"package.json": `{"scripts":{"test":"jest"}}`, "pnpm-lock.yaml": ""}, nil,
			"pnpm run test --json --outputFile=R/report --bail=0", "", true, ""},
		"jest with yarn": {map[string]string{"package.json": `{"scripts":{"test":"jest"}}`, "yarn.lock": ""}, nil,
			"yarn test --json --outputFile=R/report --bail=0", "", true, ""},
		"vitest": {map[string]string{"package.json": `{"scripts":{"test":"vitest run"}}`, "yarn.lock": ""}, nil,
			"yarn test --reporter=default --reporter=json --outputFile.json=R/report --bail=0", "", true, ""},
		"bun": {map[string]string{"package.json": `{"scripts":{"test":"bun test"}}`, "bun.lock": ""}, nil,
			"bun run test --reporter=junit --reporter-outfile=R/report", "", true, ""},
		"mocha": {map[string]string{"package.json": `{"scripts":{"test":"mocha"}}`, "yarn.lock": ""}, nil,
			"yarn test --reporter R/mocha.cjs --no-bail", "", true, ""},
		"mocha 3": {map[string]string{"package.json": `{"scripts":{"test":"mocha"}}`, "yarn.lock": "",
			"node_modules/mocha/package.json": `{"version": "3.5.3"}`}, nil, "yarn test --reporter R/mocha.cjs", "", true, ""},
		"another": {map[string]string{"package.json": `{"scripts":{"test":"tap"}}`}, nil, "npm test", "", false,
			"not a known test runner"},
		"jest before other commands": {map[string]string{"package.json": `{"scripts":{"test":"npm run unit && tsd","unit":"jest"}}`},
			nil, "sh -c npm run unit -- --json --outputFile=R/report --bail=0", "PATH=node_modules/.bin:/bin", true, ""},
		"npm in a project of yarn": {map[string]string{"package.json": `{"scripts":{"test":"npm run unit && tsd","unit":"jest"}}`,
			"yarn.lock": ""}, nil, "sh -c npm run unit -- --json --outputFile=R/report --bail=0", "PATH=node_modules/.bin:/bin", true, ""},
		"yarn before other commands": {map[string]string{"package.json": `{"scripts":{"test":"yarn unit && tsd","unit":"jest"}}`},
			nil, "sh -c yarn unit --json --outputFile=R/report --bail=0", "PATH=node_modules/.bin:/bin", true, ""},
		"mocha before other commands": {map[string]string{"package.json": `{"scripts":{"test":"mocha && tsd"}}`, "yarn.lock": ""},
			nil, "sh -c mocha --reporter R/mocha.cjs --no-bail", "PATH=node_modules/.bin:/bin", true, ""},
		"other commands with Plug'n'Play": {map[string]string{"package.json": `{"scripts":{"test":"mocha && tsd"}}`,
			"yarn.lock": "", ".pnp.cjs": ""}, nil, "yarn test", "", false, "ends in tsd"},
	} {
		dir := tree(t, c.files)
		p := Project{LangNode, ".", "package.json"}
		suite := nodeSuite(dir, p)
		if len(suite) != 1 {
			t.Fatalf("%s: %d suites", name, len(suite))
		}
		w := &Look{subject: Subject{Dir: dir, Env: append([]string{"PATH=/bin"}, c.env...)}}
		runs, err := suite[0].plan(t.Context(), w)
		if err != nil {
			t.Fatal(name, err)
		}
		r := runs[0]
		args := temp.ReplaceAllString(strings.ReplaceAll(strings.Join(r.args, " "), dir+"/", ""), "R/")
		env := temp.ReplaceAllString(strings.ReplaceAll(strings.Join(r.env, " "), dir+"/", ""), "R/")
		if args != c.want || env != c.set || r.exact != c.exact || !strings.Contains(r.why, c.why) ||
			(r.why == "") != (c.why == "") ||
			(r.plant != nil) != c.exact || (r.about == "package.json") == c.exact {
			t.Errorf("%s: %s with %q; %v %q", name, args, env, r.exact, r.why)
		}
		if r.done != nil {
			r.done()
		}
	}
}

// Packages that are not installed are the cause of a failure only if the package has any.
func TestPackagesAreNotInstalled(t *testing.T) {
	needs(t, "bash")
	for name, c := range map[string]struct {
		files  map[string]string
		says   string
		hinder bool
	}{
		"missing": {map[string]string{"package.json": `{"scripts":{"test":"tap"},"dependencies":{"tap":"1"}}`},
			"error TAP0: Cannot find module 'tap'", true},
		"no packages": {map[string]string{"package.json": `{"scripts":{"test":"tap"}}`},
			"error TAP0: Cannot find module 'tap'", false},
		"installed": {map[string]string{"package.json": `{"scripts":{"test":"tap"},"dependencies":{"tap":"1"}}`,
			"node_modules/x": ""}, "error TAP0: Cannot find module 'tap'", false},
		"a failure": {map[string]string{"package.json": `{"scripts":{"test":"tap"},"dependencies":{"tap":"1"}}`},
			"not ok 1 - a", false},
	} {
		_, err := fakes(t, "tests:node", with(c.files, map[string]string{"bin/npm!": prints(c.says, 1)}))
		if hindered := err != nil && strings.Contains(err.Error(), "the dependencies of package.json are not installed: "+
			"run npm install"); hindered != c.hinder ||
			!hindered && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Planted tests use the module system, and the assertions, of the file that they are in.
func TestPlantedTestsFitFile(t *testing.T) {
	p := Project{LangNode, ".", "package.json"}
	const call = "test('a', () => {});\n"
	for name, c := range map[string]struct {
		tool, file, text, pkg string
		has, hasNot           string
		unsure                bool
		config, script        string
	}{
		"jest": {"jest", "a.test.js", call, "{}", "test('", "import", false, "", "jest"},
		"jest with its module": {"jest", "a.test.js", "const { test } = require('@jest/globals');\n" + call, "{}",
			"require('@jest/globals')", "import", false, "", "jest"},
		"vitest": {"vitest", "a.test.ts", call, "{}", "import { test as W_test } from 'vitest'",
			"require(", false, "", "vitest"},
		"bun": {"bun", "a.test.ts", call, "{}", "from 'bun:test'", "require(", false, "", "bun test"},
		"mocha": {"mocha", "a.cjs", "it('a');\n", `{"type":"module"}`,
			"const W_equal = require('node:assert').equal", "import", false, "", "mocha"},
		"node": {"node", "a.test.js", "require('node:test');\n" + call, "{}",
			"require('node:test').test", "import", false, "", "node --test"},
		"an ES module by name": {"node", "a.test.mjs", "'node:test';\n" + call, "{}",
			"import { test as W_test } from 'node:test'", "require(", false, "", "node --test"},
		"an ES module by package": {"node", "a.test.js", "'node:test';\n" + call, `{"type":"module"}`, "import { test as",
			"require(", false, "", "node --test"},
		"an ES module by text": {"node", "a.test.js", "import test from 'node:test';\n" + call, "{}",
			"import { test as", "require(", false, "", "node --test"},
		"a CommonJS module": {"node", "a.test.cts", "'node:test';\n" + call, `{"type":"module"}`,
			"require('node:test')", "import", false, "", "node --test"},
		"only":                    {"jest", "a.test.js", "test.only('a', () => {});\n", "{}", "test('", "", true, "", "jest"},
		"a selection":             {"jest", "a.test.js", call, "{}", "test('", "", true, "", "jest -t sum"},
		"a selection in settings": {"jest", "a.test.js", call, "{}", "test('", "", true, "testNamePattern: 'x'", "jest"},
	} {
		dir := tree(t, map[string]string{"package.json": c.pkg, c.file: c.text, "helper.test.js": "exports.x = 1;\n"})
		w, b := &Look{subject: Subject{Dir: dir}}, &bed{word: "W"}
		err := plantNode(p, c.tool, []string{c.file, "helper.test.js"}, c.config, c.script, true)(w, &testRun{}, b)
		if err != nil || len(b.plants) != 1 || (b.plants[0].unsure != "") != c.unsure || b.masks ||
			b.plants[0].place != c.file ||
			!b.plants[0].like(testout.Case{Path: c.file}) || b.plants[0].like(testout.Case{Path: "b.js"}) {
			t.Fatalf("%s: %+v, %v", name, b.plants, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, c.file))
		planted, ok := strings.CutPrefix(string(text), c.text)
		if err != nil || !ok || !strings.Contains(planted, c.has) || c.hasNot != "" && strings.Contains(planted, c.hasNot) {
			t.Errorf("%s: %s", name, planted)
		}
		b.clear()
		if text, _ := os.ReadFile(filepath.Join(dir, c.file)); string(text) != c.text {
			t.Errorf("%s: left %s", name, text)
		}
	}
	dir := tree(t, map[string]string{"a.test.js": call, "a.js": ""})
	for name, c := range map[string]struct {
		files          []string
		config, script string
		alone, masks   bool
		plants         int
	}{
		"node needs its own runner": {[]string{"a.test.js"}, "", "node --test", true, false, 0},
		"a script after it":         {[]string{"a.js"}, "", "mocha", false, true, 0},
		"a limit of coverage":       {[]string{"a.js"}, "coverageThreshold", "jest", true, true, 0},
	} {
		b := &bed{word: "W"}
		err := plantNode(p, strings.Fields(c.script)[0], c.files, c.config, c.script,
			c.alone)(&Look{subject: Subject{Dir: dir}}, &testRun{}, b)
		if err != nil || b.masks != c.masks || len(b.plants) != c.plants || b.why == "" {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
	b := &bed{word: "W"}
	if err := plantNode(p, "mocha", []string{"a.test.js"}, "", "mocha", true)(&Look{subject: Subject{Dir: dir}},
		&testRun{}, b); err != nil {
		t.Fatal(err)
	}
	for exit, want := range map[int]bool{0: false, 1: true, 2: false, 3: true, 255: false} {
		if b.exits(exit, 3) != want {
			t.Errorf("mocha exits with %d for 3 failures: %v", exit, !want)
		}
	}
	if !b.exits(255, 300) {
		t.Error("mocha exits with at most 255")
	}
	b.clear()
}

// A benchmark of test runners is no suite, unless its package has a test script.
func TestBenchmarksAreNoNodeSuite(t *testing.T) {
	for root, want := range map[string]int{"bench": 0, "web/benchmarks": 0, "web": 1, "workbench": 1} {
		dir := tree(t, map[string]string{root + "/package.json": `{"devDependencies": {"jest": "29"}}`, root + "/a.test.js": "test()"})
		if got := nodeSuite(dir, Project{LangNode, root, root + "/package.json"}); len(got) != want {
			t.Errorf("%s: %d suites", root, len(got))
		}
	}
	dir := tree(t, map[string]string{"bench/package.json": `{"scripts": {"test": "node check.js"}}`})
	if got := nodeSuite(dir, Project{LangNode, "bench", "bench/package.json"}); len(got) != 1 {
		t.Errorf("a test script: %d suites", len(got))
	}
}

// The files of tests are found by their names and folders.
func TestFilesOfNodeTests(t *testing.T) {
	files := map[string]string{}
	want := []string{"__tests__/a.ts", "a.spec.jsx", "a.test.js", "a_test.mjs", "lib/test.js", "spec/b.js",
		"test-c.cjs", "test/d.cts", "tests/e.mts"}
	for _, f := range append(slices.Clone(want), "a.js", "lib/latest.js", "test/x.d.ts", "test/y.json",
		"node_modules/z.test.js", "testing.js") {
		files[f] = ""
	}
	if d := cmp.Diff(want, nodeTestFiles(tree(t, files), Project{LangNode, ".", "package.json"})); d != "" {
		t.Error(d)
	}
	for name, c := range map[string]struct {
		file, text string
		want       bool
	}{
		"its name": {"a.test.js", "require('node:test')", true}, "a folder": {"test/a.mjs", `from "node:assert/strict"`,
			true},
		"the name test": {"test.cjs", "require('assert')", true}, "a prefix": {"test-a.js", "require('test')", true},
		"a dash": {"a-test.js", "'node:test'", true}, "an underscore": {"a_test.js", "'node:test'", true},
		"no runner": {"a.test.js", "x", false}, "TypeScript": {"a.test.ts", "'node:test'", false}, "no test": {"a.js",
			"'node:test'", false},
	} {
		if got := nodeTests(tree(t, map[string]string{c.file: c.text}), Project{LangNode, ".",
			"package.json"}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
