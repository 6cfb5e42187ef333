package tamper_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/tamper"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

const (
	goTest = `package a

import "testing"

func TestOne(t *testing.T) {
	if One() != 1 {
		t.Fatal("one is not 1")
	}
	if One() == 2 {
		t.Error("one is 2")
	}
}

func TestTwo(t *testing.T) {
	checkTwo(t, Two())
}
`
	pyTest = `import pytest


class TestSum:
    def test_small(self):
        assert add(1, 2) == 3
        assert add(0, 0) == 0

    def test_none(self):
        with pytest.raises(TypeError):
            add(None, 1)


def test_text():
    """It says "assert"."""
    assert add("a", "b") == "ab"
`
	jsTest = `import { add } from './add.js';

describe('add', () => {
  it('adds', () => {
    expect(add(1, 2)).toBe(3);
    expect(add(0, 0)).toBe(0);
  });

  it("takes 'text'", async () => {
    expect(await add('a', 'b')).toEqual('ab'); // it('x', () => {})
  });
});

test('alone', () => { expect(1 / 2).toBe(0.5); });
`
	bats = `@test "adds" {
  run add 1 2
  [ "$status" -eq 0 ]
  [ "$output" = 3 ]
}

@test "refuses text" {
  run add a b
  [ "$status" -ne 0 ]
}
`
	shell = `#!/bin/sh
set -eu
out=$(./add 1 2)
[ "$out" = 3 ] || exit 1
./add a b && exit 1
echo ok
`
	rust = `#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
        assert!(add(0, 0) == 0);
    }

    #[test]
    #[should_panic]
    fn refuses<'a>() { add_text('a', "}"); }
}
`
	java = `class SumTest {
  @Test
  void adds() {
    assertEquals(3, add(1, 2));
  }

  @Test
  public void refuses() {
    assertThrows(E.class, () -> add(null, 1));
  }
}
`
)

func edit(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic("the text does not have " + pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestTamper(t *testing.T) {
	one := func(name, text string) map[string]string { return map[string]string{name: text} }
	cases := map[string]struct {
		before, after map[string]string
		files         planparse.Files
		text          string
		literal       bool
		want          []string
	}{
		"nothing changed in the tests": {before: one("a_test.go", goTest), after: one("a.go", "package a\n")},
		"a go test is removed": {
			before: one("a/a_test.go", goTest),
			after:  one("a/a_test.go", edit(goTest, "func TestTwo(t *testing.T) {\n\tcheckTwo(t, Two())\n}\n", "")),
			want:   []string{"error tamper/test-removed a/a_test.go"},
		},
		"a go test is removed, and the batch names the file": {
			before: one("a/a_test.go", goTest),
			after:  one("a/a_test.go", edit(goTest, "func TestTwo(t *testing.T) {\n\tcheckTwo(t, Two())\n}\n", "")),
			files:  planparse.Files{Modify: []string{"a/a_test.go"}},
			want:   []string{"warning tamper/test-removed a/a_test.go"},
		},
		"a go test is removed, and the batch asks to remove tests": {
			before: one("a/a_test.go", goTest),
			after:  one("a/a_test.go", edit(goTest, "func TestTwo(t *testing.T) {\n\tcheckTwo(t, Two())\n}\n", "")),
			text:   "Remove redundant tests.",
			want:   []string{"warning tamper/test-removed a/a_test.go"},
		},
		"a go test is removed, and the batch asks to remove what tests use": {
			before: one("a/a_test.go", goTest),
			after:  one("a/a_test.go", edit(goTest, "func TestTwo(t *testing.T) {\n\tcheckTwo(t, Two())\n}\n", "")),
			text:   "Remove the flag that tests use. Do not remove tests/data.",
			want:   []string{"error tamper/test-removed a/a_test.go"},
		},
		"the test script runs one more program": {
			before: one("package.json", `{"scripts": {"test": "xo && ava"}}`),
			after:  one("package.json", `{"scripts": {"test": "xo && ava && tsd"}}`),
			want:   []string{"info tamper/config package.json:1"},
		},
		"the test script runs one more program that hides a failure": {
			before: one("package.json", `{"scripts": {"test": "xo && ava"}}`),
			after:  one("package.json", `{"scripts": {"test": "xo && ava && tsd || true"}}`),
			want:   []string{"error tamper/config package.json:1"},
		},
		"the test script runs another program first": {
			before: one("package.json", `{"scripts": {"test": "ava"}}`),
			after:  one("package.json", `{"scripts": {"test": "rm -r test && ava"}}`),
			want:   []string{"error tamper/config package.json:1"},
		},
		"tox runs one more command": {
			before: one("tox.ini", "[testenv]\ncommands = pytest a\n"),
			after:  one("tox.ini", "[testenv]\ncommands =\n    pytest a\n    pytest b\n"),
			want:   []string{"info tamper/config tox.ini:1"},
		},
		"tox runs one more file between the others": {
			before: one("tox.ini", "[testenv]\ncommands =\n    python a.py\n    python c.py\n"),
			after:  one("tox.ini", "[testenv]\ncommands =\n    python a.py\n    python b.py\n    python c.py\n"),
			want:   []string{"info tamper/config tox.ini:1"},
		},
		"tox runs another program between the others": {
			before: one("tox.ini", "[testenv]\ncommands =\n    python a.py\n    python c.py\n"),
			after:  one("tox.ini", "[testenv]\ncommands =\n    python a.py\n    rm c.py\n    python c.py\n"),
			want:   []string{"error tamper/config tox.ini:1"},
		},
		"tox runs a file no more": {
			before: one("tox.ini", "[testenv]\ncommands =\n    python a.py\n    python c.py\n"),
			after:  one("tox.ini", "[testenv]\ncommands =\n    python a.py\n    python b.py\n"),
			want:   []string{"error tamper/config tox.ini:1"},
		},
		"tox uses another Python": {
			before: one("tox.ini", "[testenv]\ndeps =\n    pytest\n    six\ncommands = pytest a\n"),
			after:  one("tox.ini", "[testenv]\nbasepython = python3\ndeps =\n    pytest\ncommands = pytest a\n"),
		},
		"tox ignores errors": {
			before: one("tox.ini", "[testenv]\ncommands = pytest a\n"),
			after:  one("tox.ini", "[testenv]\ncommands =\n    pytest a\n    pytest b\nignore_errors = true\n"),
			want:   []string{"error tamper/config tox.ini:1"},
		},
		"a go test moved to another file": {
			before: one("a/a_test.go", goTest),
			after: map[string]string{
				"a/a_test.go": edit(goTest, "func TestTwo(t *testing.T) {\n\tcheckTwo(t, Two())\n}\n", ""),
				"a/b_test.go": "package a\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tcheckTwo(t, Two())\n}\n",
			},
		},
		"a go test moved to another file and lost its assertion on the way": {
			before: one("a/a_test.go", goTest),
			after: map[string]string{
				"a/a_test.go": edit(goTest, "func TestTwo(t *testing.T) {\n\tcheckTwo(t, Two())\n}\n", ""),
				"a/b_test.go": "package a\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tTwo()\n}\n",
			},
			want: []string{"error tamper/fewer-assertions a/b_test.go:5"},
		},
		"a go test file is moved to a folder that no runner searches": {
			before: one("a/a_test.go", goTest), after: map[string]string{"a/a_test.go": "-", "a/testdata/a_test.go": goTest},
			want: []string{"error tamper/test-file-deleted a/a_test.go"},
		},
		"a go test file moved to another folder": {
			before: one("a/a_test.go", goTest), after: map[string]string{"a/a_test.go": "-", "b/a_test.go": goTest},
		},
		"a go test is renamed": {
			before: one("a_test.go", goTest), after: one("a_test.go", edit(goTest, "TestOne", "TestUno")),
			want: []string{"info tamper/test-renamed a_test.go:5"},
		},
		"a go test is emptied": {
			before: one("a_test.go", goTest),
			after:  one("a_test.go", edit(goTest, "\tcheckTwo(t, Two())\n", "\tt.Log(\"later\")\n")),
			want:   []string{"error tamper/test-emptied a_test.go:14"},
		},
		"a go test is emptied by a return, though the batch names the file": {
			before: one("a_test.go", goTest), after: one("a_test.go", edit(goTest, "\tcheckTwo(", "\treturn\n\tcheckTwo(")),
			files: planparse.Files{Test: []string{"a_test.go"}},
			want:  []string{"error tamper/test-emptied a_test.go:14"},
		},
		"go assertions are put where they never run": {
			before: one("a_test.go", goTest),
			after:  one("a_test.go", edit(goTest, "\tcheckTwo(t, Two())", "\tTwo()\n\tif false {\n\t\tcheckTwo(t, Two())\n\t}")),
			want:   []string{"error tamper/fewer-assertions a_test.go:14"},
		},
		"a go test has fewer assertions": {
			before: one("a_test.go", goTest),
			after:  one("a_test.go", edit(goTest, "\tif One() == 2 {\n\t\tt.Error(\"one is 2\")\n\t}\n", "")),
			want:   []string{"error tamper/fewer-assertions a_test.go:5"},
		},
		"a go table takes the place of repetition": {
			before: one("a_test.go", goTest),
			after: one("a_test.go", edit(goTest,
				"\tif One() != 1 {\n\t\tt.Fatal(\"one is not 1\")\n\t}\n\tif One() == 2 {\n\t\tt.Error(\"one is 2\")\n\t}\n",
				"\tfor _, c := range cases {\n\t\tif One() != c {\n\t\t\tt.Fatal(c)\n\t\t}\n\t}\n")),
			want: []string{"warning tamper/fewer-assertions a_test.go:5"},
		},
		"a go test is skipped": {
			before: one("a_test.go", goTest),
			after:  one("a_test.go", edit(goTest, "\tcheckTwo(", "\tt.Skip(\"flaky\")\n\tcheckTwo(")),
			want:   []string{"error tamper/test-skipped a_test.go:14"},
		},
		"a go test file gets a build tag": {
			before: one("a_test.go", goTest), after: one("a_test.go", "//go:build never\n\n"+goTest),
			want: []string{"error tamper/test-disabled a_test.go:1"},
		},
		"a go test file gets a build tag in the old form": {
			before: one("a_test.go", goTest), after: one("a_test.go", "// +build never\n\n"+goTest),
			want: []string{"error tamper/test-disabled a_test.go:1"},
		},
		"a build tag gets the new form": {
			before: one("a_test.go", "// +build linux,amd64\n\n"+goTest),
			after:  one("a_test.go", "//go:build linux && amd64\n// +build linux,amd64\n\n"+goTest),
		},
		"TestMain does not run the tests": {
			before: one("a_test.go", goTest),
			after: one("main_test.go",
				"package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"),
			want: []string{"error tamper/test-disabled main_test.go:8"},
		},
		"TestMain runs the tests": {
			before: one("a_test.go", goTest),
			after: one("main_test.go",
				"package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(m.Run()) }\n"),
		},
		"a go test file without tests left": {
			before: one("a_test.go", goTest), after: one("a_test.go", "package a\n"),
			want: []string{"error tamper/test-file-emptied a_test.go:1"},
		},
		"a go test file becomes binary": {
			before: one("a_test.go", goTest), after: one("a_test.go", "\x00"),
			want: []string{"error tamper/test-file-emptied a_test.go:1"},
		},
		"a go test file becomes a link": {
			before: one("a_test.go", goTest), after: one("a_test.go", "-> /dev/null"),
			want: []string{"error tamper/test-file-emptied a_test.go:1"},
		},
		"a go test file is deleted": {
			before: one("a_test.go", goTest), after: one("a_test.go", "-"),
			want: []string{"error tamper/test-file-deleted a_test.go"},
		},
		"a go test file is deleted, and the batch asks for it": {
			before: one("a_test.go", goTest), after: one("a_test.go", "-"),
			files: planparse.Files{Delete: []string{"a_test.go"}},
			want:  []string{"info tamper/test-file-deleted a_test.go"},
		},
		"the plan was carried out to the letter": {
			before: one("a_test.go", goTest), after: one("a_test.go", "-"), literal: true,
			want: []string{"warning tamper/test-file-deleted a_test.go"},
		},
		"go assertions become always true": {
			before: one("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tassert.Equal(t, 3, Add(1, 2))\n}\n"),
			after:  one("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tassert.True(t, true)\n}\n"),
			want:   []string{"error tamper/always-true a_test.go:3"},
		},
		"a test that does not compile keeps its names": {
			before: one("a_test.go", goTest), after: one("a_test.go", edit(goTest, "checkTwo(t", "checkTwo((t")),
		},
		"new tests": {
			before: one("a_test.go", goTest), after: one("a_test.go", goTest+"\nfunc TestThree(t *testing.T) { t.Skip() }\n"),
			want: []string{"error tamper/new-test-empty a_test.go:18", "info tamper/new-test-skipped a_test.go:18"},
		},
		"assertions of pytest without its name": {
			before: one("test_a.py", pyTest),
			after: one("test_a.py", edit(edit(pyTest, "        assert add(1, 2) == 3\n        assert add(0, 0) == 0\n",
				"        warns(UserWarning, add, 1, 2)\n        raises(TypeError, add, None)\n"),
				"import pytest", "import pytest\nfrom pytest import raises, warns")),
		},
		"a python test is removed": {
			before: one("test_a.py", pyTest),
			after: one("test_a.py",
				edit(pyTest, "    def test_none(self):\n        with pytest.raises(TypeError):\n            add(None, 1)\n", "")),
			want: []string{"error tamper/test-removed test_a.py"},
		},
		"a python test is emptied": {
			before: one("test_a.py", pyTest),
			after:  one("test_a.py", edit(pyTest, "    assert add(\"a\", \"b\") == \"ab\"\n", "    pass  # assert add()\n")),
			want:   []string{"error tamper/test-emptied test_a.py:14"},
		},
		"a python test has fewer assertions": {
			before: one("test_a.py", pyTest), after: one("test_a.py", edit(pyTest, "        assert add(0, 0) == 0\n", "")),
			want: []string{"error tamper/fewer-assertions test_a.py:5"},
		},
		"a python test is marked": {
			before: one("test_a.py", pyTest),
			after:  one("test_a.py", edit(pyTest, "def test_text", "@pytest.mark.xfail(reason='x')\ndef test_text")),
			want:   []string{"error tamper/test-skipped test_a.py:15"},
		},
		"a python class is marked": {
			before: one("test_a.py", pyTest),
			after:  one("test_a.py", edit(pyTest, "class TestSum", "@pytest.mark.skip\nclass TestSum")),
			want:   []string{"error tamper/test-skipped test_a.py:6", "error tamper/test-skipped test_a.py:10"},
		},
		"a python test skips itself": {
			before: one("test_a.py", pyTest),
			after: one("test_a.py",
				edit(pyTest, "        assert add(1, 2)", "        pytest.skip('x')\n        assert add(1, 2)")),
			want: []string{"error tamper/test-skipped test_a.py:5"},
		},
		"a python module is skipped": {
			before: one("test_a.py", pyTest),
			after:  one("test_a.py", edit(pyTest, "import pytest\n", "import pytest\npytestmark = pytest.mark.skip\n")),
			want:   []string{"error tamper/test-disabled test_a.py:2"},
		},
		"python asserts an expression that is always true": {
			before: one("test_a.py", pyTest),
			after:  one("test_a.py", edit(pyTest, "assert add(\"a\", \"b\") == \"ab\"", "assert True")),
			want:   []string{"error tamper/always-true test_a.py:14"},
		},
		"a hook hides what fails": {
			before: one("test_a.py", pyTest),
			after: one("conftest.py",
				"import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    r = yield\n"),
			want: []string{"error tamper/test-disabled conftest.py:5"},
		},
		"a js test is removed": {
			before: one("add.test.js", jsTest),
			after:  one("add.test.js", edit(jsTest, "test('alone', () => { expect(1 / 2).toBe(0.5); });\n", "")),
			want:   []string{"error tamper/test-removed add.test.js"},
		},
		"a js test is commented out": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "test('alone'", "// test('alone'")),
			want: []string{"error tamper/test-removed add.test.js"},
		},
		"a js test is emptied": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "{ expect(1 / 2).toBe(0.5); }", "{}")),
			want: []string{"error tamper/test-emptied add.test.js:14"},
		},
		"a js test is skipped": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "it('adds'", "it.skip('adds'")),
			want: []string{"error tamper/test-skipped add.test.js:4"},
		},
		"a js test is todo": {
			before: one("add.test.js", jsTest),
			after: one("add.test.js",
				edit(jsTest, "test('alone', () => { expect(1 / 2).toBe(0.5); });", "test.todo('alone');")),
			want: []string{"error tamper/test-skipped add.test.js:14", "error tamper/test-emptied add.test.js:14"},
		},
		"xit": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "it('adds'", "xit('adds'")),
			want: []string{"error tamper/test-skipped add.test.js:4"},
		},
		"node's skip option": {
			before: one("add.test.js", jsTest),
			after:  one("add.test.js", edit(jsTest, "test('alone', ()", "test('alone', { skip: true }, ()")),
			want:   []string{"error tamper/test-skipped add.test.js:14"},
		},
		"a js group is skipped": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "describe('add'", "describe.skip('add'")),
			want: []string{"error tamper/test-skipped add.test.js:4", "error tamper/test-skipped add.test.js:9"},
		},
		"only": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "test('alone'", "test.only('alone'")),
			want: []string{"error tamper/only-added add.test.js:14"},
		},
		"only in a group, in a file that the batch names": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "describe('add'", "describe.only('add'")),
			files: planparse.Files{Test: []string{"add.test.js"}},
			want:  []string{"error tamper/only-added add.test.js:3"},
		},
		"js has fewer assertions": {
			before: one("add.test.js", jsTest), after: one("add.test.js", edit(jsTest, "    expect(add(0, 0)).toBe(0);\n", "")),
			want: []string{"error tamper/fewer-assertions add.test.js:4"},
		},
		"js asserts an expression that is always true": {
			before: one("add.test.js", jsTest),
			after:  one("add.test.js", edit(jsTest, "expect(1 / 2).toBe(0.5)", "expect(true).toBe(true)")),
			want:   []string{"error tamper/always-true add.test.js:14"},
		},
		"a bats test is removed": {
			before: one("t/add.bats", bats),
			after:  one("t/add.bats", edit(bats, "@test \"refuses text\" {\n  run add a b\n  [ \"$status\" -ne 0 ]\n}\n", "")),
			want:   []string{"error tamper/test-removed t/add.bats"},
		},
		"a bats test is skipped": {
			before: one("t/add.bats", bats),
			after:  one("t/add.bats", edit(bats, "  run add a b\n", "  skip 'later'\n  run add a b\n")),
			want:   []string{"error tamper/test-skipped t/add.bats:7"},
		},
		"a bats test is emptied": {
			before: one("t/add.bats", bats),
			after:  one("t/add.bats", edit(bats, "  run add a b\n  [ \"$status\" -ne 0 ]\n", "  true\n")),
			want:   []string{"error tamper/test-emptied t/add.bats:7"},
		},
		"a shell test ends early": {
			before: one("tests/test-add.sh", shell), after: one("tests/test-add.sh", edit(shell, "out=", "exit 0\nout=")),
			want: []string{"error tamper/fewer-assertions tests/test-add.sh:1"},
		},
		"a shell test forgives": {
			before: one("tests/test-add.sh", shell),
			after:  one("tests/test-add.sh", edit(shell, "= 3 ] || exit 1", "= 3 ] || true")),
			want:   []string{"error tamper/always-true tests/test-add.sh:1"},
		},
		"a rust test is ignored": {
			before: one("tests/add.rs", rust),
			after:  one("tests/add.rs", edit(rust, "#[test]\n    fn adds", "#[test]\n    #[ignore]\n    fn adds")),
			want:   []string{"error tamper/test-skipped tests/add.rs:3"},
		},
		"a java test is removed, and another one disabled": {
			before: one("SumTest.java", java),
			after: one("SumTest.java",
				edit(java, "  @Test\n  public void refuses() {\n    assertThrows(E.class, () -> add(null, 1));\n  }\n", "",
					"@Test\n  void adds", "@Test\n  @Disabled(\"x\")\n  void adds")),
			want: []string{"error tamper/test-skipped SumTest.java:2", "error tamper/test-removed SumTest.java"},
		},
		"a script of this kind loses a line": {
			before: one("testdata/script/a.txtar", "exec app\nstdout 'x'\n! stderr .\n-- f --\nstdout y\n"),
			after:  one("testdata/script/a.txtar", "exec app\nstdout 'x'\n-- f --\n"),
			want:   []string{"error tamper/fewer-assertions testdata/script/a.txtar:1"},
		},
		"a snapshot is rewritten": {
			before: one("src/__snapshots__/b.test.js.snap", "a\nb\n"), after: one("src/__snapshots__/b.test.js.snap", "a\nc\n"),
			want: []string{"error tamper/snapshot src/__snapshots__/b.test.js.snap:2"},
		},
		"a snapshot is rewritten, and the batch names its test": {
			before: one("src/__snapshots__/b.test.js.snap", "a\nb\n"), after: one("src/__snapshots__/b.test.js.snap", "a\nc\n"),
			files: planparse.Files{Test: []string{"src/b.test.js"}},
			want:  []string{"info tamper/snapshot src/__snapshots__/b.test.js.snap:2"},
		},
		"a snapshot grows": {
			before: one("testdata/a.golden", "a\n"), after: one("testdata/a.golden", "a\nb\n"),
		},
		"type ignores rise, in a file that the batch names": {
			before: one("a.py", "x = 1  # type: ignore\n"),
			after:  one("a.py", "x = 1  # type: ignore\ny = 2  # type: ignore[assignment]\n"),
			files:  planparse.Files{Modify: []string{"a.py"}},
			want:   []string{"error tamper/type-ignore a.py:2"},
		},
		"a test names the error that types would report": {
			before: one("tests/test_a.py", "x = 1\n"),
			after:  one("tests/test_a.py", "x = 1\ny = 2  # type: ignore[misc]\nz = 3  # type: ignore\n"),
			want:   []string{"warning tamper/type-ignore tests/test_a.py:2", "error tamper/type-ignore tests/test_a.py:3"},
		},
		"the plan spells the ignored type out": {
			before: one("a.py", "x = 1\n"), after: one("a.py", "x = 1\nif y:\n    z = y.z  # type: ignore\n"),
			text: "```diff\n+    z = y.z  # type: ignore\n```\n",
			want: []string{"info tamper/type-ignore a.py:3"},
		},
		"the plan only mentions the comment": {
			before: one("a.py", "x = 1\n"), after: one("a.py", "x = 1\nz = y.z  # type: ignore\n"),
			text: "Do not write `# type: ignore`, and `z = y.z` stays.\n",
			want: []string{"error tamper/type-ignore a.py:2"},
		},
		"type ignores move": {
			before: one("a.py", "x = 1  # type: ignore\ny = 2\n"), after: one("a.py", "x = 1\ny = 2  # type: ignore\n"),
		},
		"a new file counts from none": {
			before: one("a.py", ""), after: one("b.ts", "// @ts-ignore\nlet a = b;\n// @ts-expect-error later\nc;\n"),
			want: []string{"error tamper/type-ignore b.ts:1", "error tamper/type-ignore b.ts:3"},
		},
		"a test silences a rule on how its line is written": {
			before: map[string]string{"tests/test_a.py": "x = 1\n", "a.py": "x = 1\n"},
			after: map[string]string{"tests/test_a.py": "x = lambda: 1  # noqa: E731\ny = lambda: 1  # noqa: E731, E501\n" +
				"except:  # noqa: E722\ndef helper():  # noqa: F811\nz = 1  # noqa\nw = 1  # noqa: E501, F811\n",
				"a.py": "x = lambda: 1  # noqa: E731\n"},
			want: []string{"error tamper/silenced a.py:1", "warning tamper/silenced tests/test_a.py:1",
				"warning tamper/silenced tests/test_a.py:2", "error tamper/silenced tests/test_a.py:3",
				"error tamper/silenced tests/test_a.py:4", "error tamper/silenced tests/test_a.py:5",
				"error tamper/silenced tests/test_a.py:6"},
		},
		"a new test is written like the others of its folder": {
			before: map[string]string{"test/a.test.ts": "// @ts-nocheck\ntest()\n", "src/a.ts": "a\n",
				"src/b.ts": "// @ts-nocheck\n"},
			after: map[string]string{"test/a.test.ts": "// @ts-nocheck\ntest()\n", "src/a.ts": "// @ts-nocheck\na\n",
				"src/b.ts": "// @ts-nocheck\n", "src/c.test.ts": "// @ts-nocheck\ntest()\n",
				"test/b.test.ts": "// @ts-nocheck\ntest()\n",
				"test/c.test.ts": "// @ts-nocheck\nexpectTypeOf(a)\n", "test/d.test.ts": "// @ts-ignore\ntest()\n"},
			want: []string{
				"error tamper/type-ignore src/a.ts:1", "error tamper/type-ignore src/c.test.ts:1",
				"warning tamper/type-ignore test/b.test.ts:1",
				"error tamper/type-ignore test/c.test.ts:1", "error tamper/type-ignore test/d.test.ts:1",
			},
		},
		"a test loses its types with the others of its folder": {
			before: map[string]string{"test/a.test.ts": "test()\n", "test/b.test.ts": "test()\n"},
			after: map[string]string{"test/a.test.ts": "// @ts-nocheck\ntest()\n", "test/b.test.ts": "// @ts-nocheck\ntest()\n",
				"test/c.test.ts": "// @ts-nocheck\ntest()\n"},
			want: []string{"error tamper/type-ignore test/a.test.ts:1", "error tamper/type-ignore test/b.test.ts:1",
				"error tamper/type-ignore test/c.test.ts:1"},
		},
		"linters are silenced": {
			before: one("a.go", "package a\n"),
			after: map[string]string{
				"a.go": "package a\n\nvar a = 1 //nolint\n\nvar b = 1 //nolint:unused // kept for the API\n",
				"b.py": "import os  # noqa\n",
				"c.js": "/* eslint-disable */\n// eslint-disable-next-line no-eval -- the sandbox evaluates\neval(x)\n",
				"d.sh": "# shellcheck disable=SC2086\necho $x\n", "notes.md": "use # noqa with care\n",
			},
			want: []string{
				"error tamper/silenced a.go:3", "warning tamper/silenced a.go:5", "error tamper/silenced b.py:1",
				"error tamper/silenced c.js:1",
				"warning tamper/silenced c.js:2", "error tamper/silenced d.sh:1",
			},
		},
		"a package that exports names exports one more": {
			before: map[string]string{"a/__init__.py": "from .b import c  # noqa\n", "d/__init__.py": ""},
			after: map[string]string{"a/__init__.py": "from .b import c  # noqa\nfrom .b import e  # noqa\nx = y  # noqa\n",
				"d/__init__.py": "from .b import e  # noqa\n"},
			want: []string{"info tamper/silenced a/__init__.py:2", "error tamper/silenced a/__init__.py:3",
				"error tamper/silenced d/__init__.py:1"},
		},
		"a test script is made to pass": {
			before: one("package.json", `{"name": "x", "version": "1.0.0", "scripts": {"test": "jest", "build": "tsc"}}`),
			after: one("package.json",
				`{"name": "x", "version": "1.0.1", "scripts": {"test": "jest || true", "build": "tsc -b"}}`),
			want: []string{"error tamper/config package.json:1"},
		},
		"a new script that runs at each installation": {
			before: one("package.json", `{"scripts": {"test": "jest"}}`),
			after:  one("package.json", `{"scripts": {"test": "jest", "postinstall": "node a.js"}}`),
			want:   []string{"error tamper/config package.json:1"},
		},
		"a test script is changed, and the batch names the file": {
			before: one("package.json", `{"scripts": {"test": "jest"}}`),
			after:  one("package.json", `{"scripts": {"test": "vitest run"}}`),
			files:  planparse.Files{Modify: []string{"package.json"}},
			want:   []string{"warning tamper/config package.json:1"},
		},
		"the first test script": {
			before: one("package.json", `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`),
			after:  one("package.json", `{"scripts": {"test": "node --test"}}`),
		},
		"a coverage threshold falls": {
			before: one("package.json", `{"jest": {"coverageThreshold": {"global": {"lines": 90}}}}`),
			after:  one("package.json", `{"jest": {"coverageThreshold": {"global": {"lines": 10}}}}`),
			want:   []string{"error tamper/config package.json:1"},
		},
		"pyproject": {
			before: one("pyproject.toml", "[project]\nname = \"x\"\n\n[tool.ruff]\nline-length = 88\nselect = [\"E\", \"F\"]\n"),
			after: one("pyproject.toml",
				"[project]\nname = \"y\"\n\n[tool.ruff]\nline-length = 88\nselect = "+
					"[\"E\"]\n\n[tool.pytest.ini_options]\naddopts = \"-x\"\n"),
			want: []string{"warning tamper/config pyproject.toml:8", "error tamper/config pyproject.toml:6"},
		},
		"tsconfig gets lax": {
			before: one("tsconfig.json",
				"{\n  // strict\n  \"compilerOptions\": {\"strict\": true, \"target\": \"es2020\",},\n}\n"),
			after: one("tsconfig.json", "{\n  \"compilerOptions\": {\"strict\": false, \"target\": \"es2022\"}\n}\n"),
			want:  []string{"error tamper/config tsconfig.json:2"},
		},
		"tsconfig gets strict": {
			before: one("tsconfig.json", `{"compilerOptions": {"target": "es2020"}}`),
			after:  one("tsconfig.json", `{"compilerOptions": {"target": "es2022", "strict": true}}`),
		},
		"make test": {
			before: one("Makefile", "build:\n\tcc a.c\n\ntest: build\n\t./run-tests\n"),
			after:  one("Makefile", "build:\n\tcc -O a.c\n\ntest: build\n\t-./run-tests\n"),
			want:   []string{"error tamper/config Makefile:4"},
		},
		"setup.cfg": {
			before: one("setup.cfg", "[metadata]\nname = x\n[flake8]\nselect = E,F\n"),
			after:  one("setup.cfg", "[metadata]\nname = y\n[flake8]\nselect = E\n"),
			want:   []string{"error tamper/config setup.cfg:3"},
		},
		"a configuration that cannot be read": {
			before: one("package.json", `{"scripts": {"test": "jest"}}`), after: one("package.json", `{"scripts": `),
			want: []string{"error tamper/config package.json", "warning tamper/config package.json:1"},
		},
		"a test file too large to check": {
			before: one("a_test.go", goTest), after: one("a_test.go", goTest+"//"+strings.Repeat("x", 3<<20)+"\n"),
			want: []string{"error tamper/too-large a_test.go"},
		},
		"a new test file too large to check": {
			before: one("a.go", "package a\n"),
			after:  map[string]string{"a.go": "package a\n", "a_test.go": goTest + "//" + strings.Repeat("x", 3<<20) + "\n"},
			want:   []string{"error tamper/too-large a_test.go"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gatetest.Change(t, c.before, c.after)
			s.Batch.Files, s.Batch.Text, s.Literal = c.files, c.text, c.literal
			rep, got := gatetest.Look(t, tamper.New(), s)
			slices.Sort(got)
			slices.Sort(c.want)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s\n%+v", d, rep.Findings)
			}
		})
	}
}

// The message for a large new file does not mention an old version.
func TestTooLargeMessageForNewFile(t *testing.T) {
	long := goTest + "//" + strings.Repeat("x", 3<<20) + "\n"
	for before, want := range map[string]string{"": "the new file is too large to check",
		goTest: "too large to be compared with its old version"} {
		old := map[string]string{"a.go": "package a\n"}
		if before != "" {
			old["a_test.go"] = before
		}
		rep, _ := gatetest.Look(t, tamper.New(),
			gatetest.Change(t, old, map[string]string{"a.go": "package a\n", "a_test.go": long}))
		if len(rep.Findings) != 1 || !strings.Contains(rep.Findings[0].Message, want) ||
			(before == "") == strings.Contains(rep.Findings[0].Fix, "keep the file small enough") {
			t.Errorf("%+v", rep.Findings)
		}
	}
}

// If a comment silences a tool, the gate advises only a form that it accepts itself.
func TestSilencedAdviceHelps(t *testing.T) {
	for file, c := range map[string]struct {
		comment string
		reason  bool
	}{
		"a.py":            {"# type: ignore", false},
		"tests/test_a.py": {"# type: ignore", true},
		"b.py":            {"# noqa", true},
	} {
		rep, _ := gatetest.Look(t, tamper.New(), gatetest.Change(t, map[string]string{file: "x = 1\n"},
			map[string]string{file: "x = 1\ny = 2  " + c.comment + "\n"}))
		if len(rep.Findings) != 1 || strings.Contains(rep.Findings[0].Fix, "add the reason") != c.reason {
			t.Errorf("%s: %+v", file, rep.Findings)
		}
	}
}

// The reason of a refusal is true if the text of the batch has the name of the file.
func TestProtectedSaysHowBatchNamesFile(t *testing.T) {
	const file = ".github/workflows/ci.yml"
	for name, c := range map[string]struct{ text, listed, after, want string }{
		"not named": {"Correct Add.", "", "b", "the batch does not name it"},
		"in a sentence": {"Add should pass in ci.yml.", "", "b",
			"mentions it, but does not list it as a file to change"},
		"in a sentence, gone":   {"Add should pass in `" + file + "`.", "", "-", "names it, but does not ask to delete it"},
		"listed for a change":   {"", file, "-", "names it, but does not ask to delete it"},
		"a name with it inside": {"See my-ci.yml.", "", "b", "the batch does not name it"},
	} {
		s := gatetest.Change(t, map[string]string{file: "a"}, map[string]string{file: c.after})
		s.Batch.Text = c.text
		if c.listed != "" {
			s.Batch.Files.Modify = []string{c.listed}
		}
		rep, _ := gatetest.Look(t, tamper.Protected(nil, nil), s)
		if len(rep.Findings) != 1 || !strings.HasSuffix(rep.Findings[0].Message, c.want) {
			t.Errorf("%s: %+v, want %q", name, rep.Findings, c.want)
		}
	}
}

func TestProtected(t *testing.T) {
	cases := map[string]struct {
		before, after map[string]string
		files         planparse.Files
		text          string
		noBatch       bool
		want          []string
	}{
		"ordinary code": {after: map[string]string{"a.go": "package a\n", "b_test.go": "package a\n"}},
		"CI is edited": {before: map[string]string{".github/workflows/ci.yml": "a"},
			after: map[string]string{".github/workflows/ci.yml": "b"},
			want:  []string{"error protected/ci .github/workflows/ci.yml"}},
		"the batch names the CI service": {
			before: map[string]string{".travis.yml": "a"}, after: map[string]string{".travis.yml": "b"},
			text: "Include PyPy in Travis testing.", want: []string{"warning protected/ci .travis.yml"},
		},
		"the batch wants the CI service to be green": {
			before: map[string]string{".travis.yml": "a"}, after: map[string]string{".travis.yml": "b"},
			text: "Correct Add, so that Travis is green. The workflow of orders is new.",
			want: []string{"error protected/ci .travis.yml"},
		},
		"CI is new": {after: map[string]string{".gitlab-ci.yml": "a", "Jenkinsfile": "x"},
			want: []string{"error protected/ci .gitlab-ci.yml", "error protected/ci Jenkinsfile"}},
		"the batch names it": {
			before: map[string]string{".github/workflows/ci.yml": "a"},
			after:  map[string]string{".github/workflows/ci.yml": "b"},
			files:  planparse.Files{Modify: []string{".github/workflows/ci.yml"}},
			want:   []string{"info protected/ci .github/workflows/ci.yml"},
		},
		"the batch names the folder": {
			after: map[string]string{".github/workflows/ci.yml": "b"},
			files: planparse.Files{Create: []string{"`.github/`"}}, want: []string{"info protected/ci .github/workflows/ci.yml"},
		},
		"the batch names everything, which is nothing": {
			after: map[string]string{".github/workflows/ci.yml": "b"},
			files: planparse.Files{Modify: []string{".", "./", "**", "**/*"}},
			want:  []string{"error protected/ci .github/workflows/ci.yml"},
		},
		"named to be modified is not named to go": {
			before: map[string]string{".github/workflows/ci.yml": "b"},
			after:  map[string]string{".github/workflows/ci.yml": "-"},
			files:  planparse.Files{Modify: []string{".github/workflows/ci.yml"}},
			want:   []string{"error protected/ci .github/workflows/ci.yml"},
		},
		"without a plan it warns": {
			after: map[string]string{".github/workflows/ci.yml": "b"}, noBatch: true,
			want: []string{"info protected/ci .github/workflows/ci.yml"},
		},
		"a lesson": {
			before: map[string]string{".runplan/lessons/x.md": "a"},
			after:  map[string]string{".runplan/lessons/x.md": "b", ".runplan/config.toml": "x"},
			want:   []string{"error protected/runplan .runplan/config.toml", "error protected/runplan .runplan/lessons/x.md"},
		},
		"the configuration of a linter": {
			before: map[string]string{".golangci.yml": "a"},
			after:  map[string]string{".golangci.yml": "b", "web/.eslintrc.json": "{}"},
			want:   []string{"error protected/gates .golangci.yml", "warning protected/gates web/.eslintrc.json"},
		},
		"a new configuration takes the place of another": {
			before: map[string]string{"pyproject.toml": "[tool.ruff]\nselect = ['ALL']\n"},
			after:  map[string]string{"src/ruff.toml": ""},
			want:   []string{"error protected/gates src/ruff.toml"},
		},
		"what the user lists": {
			before: map[string]string{"db/schema.sql": "a"}, after: map[string]string{"db/schema.sql": "b"},
			want: []string{"error protected/listed db/schema.sql"},
		},
		"an existing test is changed": {
			before: map[string]string{"a_test.go": goTest},
			after:  map[string]string{"a_test.go": edit(goTest, "one is not 1", "one is not one")},
			want:   []string{"info protected/test a_test.go"},
		},
		"a test is added to others": {
			before: map[string]string{"a_test.go": goTest},
			after:  map[string]string{"a_test.go": goTest + "\nfunc TestThree(t *testing.T) { Three(t) }\n"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gatetest.Change(t, c.before, c.after)
			s.Batch.Files, s.Batch.Text = c.files, c.text
			if c.noBatch {
				s.Batch = planparse.Batch{}
			}
			rep, got := gatetest.Look(t, tamper.Protected([]string{"db/**"}, nil), s)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s\n%+v", d, rep.Findings)
			}
		})
	}
}

func TestGatesSkipWithoutBase(t *testing.T) {
	for _, g := range []gates.Gate{tamper.New(), tamper.Protected(nil, nil)} {
		rep, err := g.Check(t.Context(), gates.Subject{Dir: t.TempDir()})
		if err != nil || rep.Status != gates.Skipped || rep.Note == "" {
			t.Errorf("%s: %v %+v", g.Info().Name, err, rep)
		}
	}
}

func TestConformance(t *testing.T) {
	for _, g := range []gates.Gate{tamper.New(), tamper.Protected([]string{"*.py"}, nil)} {
		t.Run(g.Info().Name, func(t *testing.T) {
			gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) {
				return g, gatetest.Change(t,
					map[string]string{"a_test.go": goTest, "x.test.js": jsTest, "\x1b[31m.py": "x\n", "package.json": "{}"},
					map[string]string{"a_test.go": "-", "x.test.js": "it('\x1b[31m', () => {})",
						"\x1b[31m.py": "y # type: ignore \x1b[2J\n", "package.json": `{"scripts": {"test": "\u001b[31m"}}`,
						".github/workflows/x.yml": "x"})
			})
		})
	}
}
