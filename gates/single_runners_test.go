package gates

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// A coverage threshold applies to the whole suite; a run of one test file ignores it.
func TestSingleFileIgnoresCoverageThreshold(t *testing.T) {
	for tool, files := range map[string]map[string]string{
		"jest": {
			"package.json": `{"name":"x","version":"1.0.0","devDependencies":{"jest":"29"},"jest":{"collectCoverage":true,` +
				`"coverageThreshold":{"global":{"lines":100}}}}`,
			"calc.js":           "exports.add = (a, b) => a + b;\nexports.sub = (a, b) => {\n  return a - b;\n};\n",
			"test/calc.test.js": "test('adds', () => { expect(require('../calc.js').add(1, 2)).toBe(3); });\n",
		},
		"vitest": {
			"package.json": `{"name":"x","version":"1.0.0","type":"module","devDependencies":{"vitest":"3"}}`,
			"vitest.config.js": "export default { test: { coverage: { enabled: true, provider: 'v8', thresholds: { lines: 100 " +
				"} } } };\n",
			"test/calc.test.js": "import { expect, test } from 'vitest';\n" +
				"test('adds', () => { expect(1 + 2).toBe(3); });\n",
		},
	} {
		t.Run(tool, func(t *testing.T) {
			dir := nodeTree(t, nodeCase{module: tool, files: files}, nil)
			var got SingleRun
			g := New(Info{Name: "one"}, func(ctx context.Context, l *Look) error {
				return l.Single(ctx, Single{Path: "test/calc.test.js"}, 1,
					func(one SingleRun) bool { got = one; return false })
			})
			s := Subject{Dir: dir, Env: os.Environ(), Timeout: time.Minute}
			if _, err := g.Check(t.Context(), s); err != nil || got.Outcome != RunPassed {
				t.Errorf("%v, %v: %s", got.Outcome, err, got.Text)
			}
		})
	}
}

// A file of Ruby, and an integration test of Rust, runs by a command. One test of it does not.
func TestSingleByCommand(t *testing.T) {
	for file, want := range map[string]string{
		"tests/add.rs": "cargo test --offline --quiet --test add", "src/add.rs": "",
		"spec/add_spec.rb": "rspec spec/add_spec.rb",
		"test/add_test.rb": "ruby -Ilib -Itest test/add_test.rb", "a.txt": "",
	} {
		if got := strings.Join(Single{Path: file}.command(), " "); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// One test file of Node is loaded as the test script of the project loads it.
func TestSingleNodeFileKeepsModuleHooks(t *testing.T) {
	for script, want := range map[string]string{
		"tape -r esm test/*.js | tap-spec":                        "-r esm",
		"node --require=./hook.js --test":                         "--require ./hook.js",
		"node --loader ts-node/esm --experimental-vm-modules x":   "--loader ts-node/esm --experimental-vm-modules",
		"c8 node --import @swc-node/register --test 'a/*.ts'":     "--import @swc-node/register",
		"tsx --test test/*.ts":                                    "--import tsx",
		"cross-env NODE_ENV=test ts-node test/all.ts":             "--require ts-node/register",
		"uvu tests --reporter=dot":                                "",
		"node --test test/*.js --test-reporter=spec && npm run x": "",
	} {
		if got := strings.Join(moduleHooks(script), " "); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	dir := nodeTree(t, nodeCase{files: map[string]string{
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"node -r ./hook.js --test test"}}`,
		"hook.js":      "globalThis.unit = 1;\n",
		"test/a.js":    "require('node:test')('unit', () => { require('node:assert').equal(unit, 1); });\n",
	}}, nil)
	var got SingleRun
	g := New(Info{Name: "one"}, func(ctx context.Context, l *Look) error {
		return l.Single(ctx, Single{Path: "test/a.js"}, 1, func(one SingleRun) bool { got = one; return false })
	})
	if _, err := g.Check(t.Context(), Subject{Dir: dir, Env: os.Environ(), Timeout: time.Minute}); err != nil ||
		got.Outcome != RunPassed {
		t.Errorf("%v, %v: %s", got.Outcome, err, got.Text)
	}
}
