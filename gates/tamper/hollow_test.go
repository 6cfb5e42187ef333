package tamper_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/tamper"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
)

// goWith returns a file of Go tests with one test of this body.
func goWith(body string) string {
	return "package a\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {\n" + body + "\n}\n"
}

func TestNewTestsMustAssert(t *testing.T) {
	empty := func(at string) []string { return []string{"error tamper/new-test-empty " + at} }
	mute := func(at string) []string { return []string{"info tamper/new-test-asserts-nothing " + at} }
	py := func(body string) string { return "def test_new():\n" + body + "\n" }
	js := func(body string) string { return "test('new', " + body + ");\n" }
	cases := map[string]struct {
		file, text string
		want       []string
	}{
		"go: nothing":   {"a_test.go", goWith(""), empty("a_test.go:5")},
		"go: a comment": {"a_test.go", goWith("\t// later"), empty("a_test.go:5")},
		"go: a log": {"a_test.go",
			goWith("\tt.Parallel()\n\tt.Logf(\"%d\", len(\"x\"))\n\tfmt.Println(1)"), empty("a_test.go:5")},
		"go: arithmetic": {"a_test.go", goWith("\tx := 1\n\tfor range 3 {\n\t\tx++\n\t}\n\t_ = x"),
			empty("a_test.go:5")},
		"go: unreachable code": {"a_test.go", goWith("\treturn\n\tcheck(t)"), empty("a_test.go:5")},
		"go: a condition that is never true": {"a_test.go", goWith("\tif false {\n\t\tt.Fatal(1)\n\t}"),
			empty("a_test.go:5")},
		"go: subtests without anything": {"a_test.go", goWith("\tt.Run(\"a\", func(t *testing.T) {})"),
			empty("a_test.go:5")},
		"go: a fuzz test": {"a_test.go",
			"package a\n\nfunc FuzzNew(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) {})\n}\n",
			empty("a_test.go:3")},
		"go: of a suite": {"a_test.go", "package a\n\nfunc (s *AddSuite) TestNew() {}\n",
			empty("a_test.go:3")},
		"go: true is true": {"a_test.go", goWith("\tassert.True(t, true)"),
			[]string{"error tamper/new-test-empty a_test.go:5", "warning tamper/new-always-true a_test.go:5"}},
		"python: true is true": {"test_a.py", py("    assert True"),
			[]string{"error tamper/new-test-empty test_a.py:1", "warning tamper/new-always-true test_a.py:1"}},
		"js: true is true": {"a.test.js", js("() => { expect(true).toBe(true); }"),
			[]string{"error tamper/new-test-empty a.test.js:1", "warning tamper/new-always-true a.test.js:1"}},
		"go: an assertion":                        {"a_test.go", goWith("\tif One() != 1 {\n\t\tt.Fatal(1)\n\t}"), nil},
		"go: a helper that gets the test":         {"a_test.go", goWith("\tcheck(t)"), nil},
		"go: a helper that does not get the test": {"a_test.go", goWith("\tOne()"), mute("a_test.go:5")},
		"go: the compiler checks":                 {"a_test.go", goWith("\tvar _ Reader = file{}"), mute("a_test.go:5")},
		"go: the compiler checks an error":        {"a_test.go", goWith("\tvar _ error = failure{}"), mute("a_test.go:5")},
		"go: it waits":                            {"a_test.go", goWith("\t<-done"), mute("a_test.go:5")},
		"go: an example shows":                    {"a_test.go", "package a\n\nfunc ExampleNew() {}\n", nil},
		"go: a benchmark measures":                {"a_test.go", "package a\n\nfunc BenchmarkNew(b *testing.B) {}\n", nil},
		"go: a method of a stand-in":              {"a_test.go", "package a\n\nfunc (fake) TestConnection() {}\n", nil},
		"python: nothing":                         {"test_a.py", py("    pass"), empty("test_a.py:1")},
		"python: a docstring":                     {"test_a.py", py(`    """It adds."""`), empty("test_a.py:1")},
		"python: a print, over several lines": {"test_a.py", py("    x = 1\n    print(\n        x,\n    )"),
			empty("test_a.py:1")},
		"python: in a class": {"test_a.py", "class TestNew:\n    def test_new(self): ...\n",
			empty("test_a.py:2")},
		"python: an assertion": {"test_a.py", py("    assert one() == 1"), nil},
		"python: it has to raise": {"test_a.py", py("    with pytest.raises(TypeError):\n        one(2)"),
			nil},
		"python: a call":                  {"test_a.py", py("    one()"), mute("test_a.py:1")},
		"python: an import":               {"test_a.py", py("    import one"), mute("test_a.py:1")},
		"python: a fixture with the name": {"test_a.py", "@pytest.fixture\ndef test_number():\n    return 5\n", nil},
		"js: nothing":                     {"a.test.js", js("() => {}"), empty("a.test.js:1")},
		"js: a log": {"a.test.ts", js("async () => {\n  console.log('ok'); // expect(1)\n}"),
			empty("a.test.ts:1")},
		"js: a function":                   {"a.test.js", js("function (done) { done(); }"), empty("a.test.js:1")},
		"js: an assertion":                 {"a.test.js", js("() => { expect(one()).toBe(1); }"), nil},
		"js: a call":                       {"a.test.js", js("() => { one(); }"), mute("a.test.js:1")},
		"js: a function defined elsewhere": {"a.test.js", js("checksOne"), nil},
		"rust: nothing":                    {"tests/new.rs", "#[test]\nfn new() {}\n", empty("tests/new.rs:1")},
		"java: nothing": {"src/test/java/ATest.java",
			"class ATest {\n  @Test\n  void added() {}\n}\n", empty("src/test/java/ATest.java:2")},
		"java: that the container starts is all": {"src/test/java/ATest.java",
			"class ATest {\n  @Test\n  void contextLoads() {}\n}\n", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{c.file: c.text})
			rep, got := gatetest.Look(t, tamper.New(), s)
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s\n%+v", d, rep.Findings)
			}
		})
	}
}

// In a batch a new test that is skipped and empty is an error for being empty too. Outside of a batch it is not.
func TestNewSkippedEmptyTestIsError(t *testing.T) {
	for file, text := range map[string]string{
		"a_test.go": goWith("\tt.Skip(\"later\")"),
		"test_a.py": "def test_new():\n    pytest.skip('later')\n",
		"a.test.js": "test.skip('new', () => {});\n",
		"b.test.js": "describe.skip('all', () => {\n  test('new', () => {});\n});\n",
	} {
		s := gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{file: text})
		empty := func() (out []string) {
			_, got := gatetest.Look(t, tamper.New(), s)
			return slices.DeleteFunc(got, func(f string) bool { return !strings.Contains(f, "tamper/new-test-empty") })
		}
		if got := empty(); len(got) != 1 || !strings.HasPrefix(got[0], "error ") {
			t.Errorf("%s, in a batch: %v", file, got)
		}
		s.Batch = planparse.Batch{}
		if got := empty(); len(got) > 0 {
			t.Errorf("%s, without a plan: %v", file, got)
		}
	}
}

// Of many tests that check nothing the first ones are listed, and the others are counted.
func TestManyEmptyTestsAreCounted(t *testing.T) {
	var b strings.Builder
	b.WriteString("package a\n\nimport \"testing\"\n\n")
	for i := range 300 {
		fmt.Fprintf(&b, "func TestA%d(t *testing.T) {}\n", i)
	}
	rep, got := gatetest.Look(t, tamper.New(),
		gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{"a_test.go": b.String()}))
	if len(got) != 11 || rep.Status != gates.Fail {
		t.Fatalf("%s with %d findings: %v", rep.Status, len(got), got)
	}
	if last := rep.Findings[len(rep.Findings)-1].Message; last != "290 more new tests check nothing" {
		t.Error(last)
	}
}

// A test that existed before, or was only moved or renamed, is not new.
func TestOldEmptyTestsAreAllowed(t *testing.T) {
	old := goWith("")
	for name, after := range map[string]map[string]string{
		"touched": {"a_test.go": old + "\n// end\n"},
		"moved":   {"a_test.go": "-", "b_test.go": old},
	} {
		_, got := gatetest.Look(t, tamper.New(), gatetest.Change(t, map[string]string{"a_test.go": old}, after))
		if len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An empty test that the plan spells out is only a warning.
func TestPlannedEmptyTestsWarn(t *testing.T) {
	s := gatetest.Change(t, map[string]string{"README.md": "a\n"}, map[string]string{"a_test.go": goWith("")})
	s.Batch.Blocks = []planparse.Block{{Path: "a_test.go", Text: goWith("\t// to come")}}
	if _, got := gatetest.Look(t, tamper.New(), s); !slices.Equal(got,
		[]string{"warning tamper/new-test-empty a_test.go:5"}) {
		t.Error(got)
	}
}
