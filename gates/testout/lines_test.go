package testout

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const linesSample = `{"name":"sum > adds","path":"/p/test/a.js","line":3,"status":"pass"}
{"name":"sum > carries","path":"/p/test/a.js","line":4,"status":"fail","message":"1 == 2","stack":"Error: 1 == 2\n    at f (file:///p/test/a.js:5:7)"}
no report
{"name":"sum","path":"/p/test/a.js","status":"fail","outer":true}
{"name":"/p/test/b.js","path":"/p/test/b.js","status":"skip"}
{"name":"sum > adds","path":"/p/test/a.js","status":"fail"}
{"end":true}
`

func TestLines(t *testing.T) {
	got, err := Lines(strings.NewReader(linesSample), "/p")
	want := Result{
		Failed: 3, Skipped: 1, Known: true, Exact: true,
		Cases: []Case{
			{"sum > adds", "test/a.js", "test/a.js", Failed}, {"sum > carries", "test/a.js", "test/a.js", Failed},
			{"sum", "test/a.js", "test/a.js", Failed}, {"test/b.js", "test/b.js", "test/b.js", Skipped},
		},
		Failures: []Failure{
			{Name: "sum > carries", Group: "test/a.js", Path: "test/a.js", Line: 5, Col: 7, Message: "1 == 2"},
			{Name: "sum > adds", Group: "test/a.js", Path: "test/a.js"},
		},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := Lines(strings.NewReader(strings.TrimSuffix(linesSample, "{\"end\":true}\n")), "/p"); !errors.Is(err,
		ErrCut) {
		t.Errorf("a report without an end: %v", err)
	}
}

const jestSample = `{"numFailedTests":1,"testResults":[{"name":"/p/a.test.js","status":"failed","assertionResults":[
{"ancestorTitles":["sum"],"title":"adds","status":"passed","failureMessages":[]},
{"ancestorTitles":["sum"],"title":"carries","status":"failed","failureMessages":["Error: no\n    at f (/p/a.test.js:5:7)"]},
{"ancestorTitles":[],"title":"later","status":"pending","failureMessages":[]}]},
{"name":"/p/b.test.js","status":"failed","message":"Cannot find module './x'","assertionResults":[]}]}`

func TestJestJSON(t *testing.T) {
	got, err := JestJSON(strings.NewReader(jestSample), "/p", " > ")
	want := Result{
		Passed: 1, Failed: 1, Skipped: 1, Known: true, Exact: true,
		Cases: []Case{
			{"sum > adds", "a.test.js", "a.test.js", Passed}, {"sum > carries", "a.test.js", "a.test.js", Failed},
			{"later", "a.test.js", "a.test.js", Skipped},
		},
		Failures: []Failure{
			{Name: "sum > carries", Group: "a.test.js", Path: "a.test.js", Line: 5, Col: 7,
				Message: "Error: no\nat f (/p/a.test.js:5:7)"},
			{Name: "b.test.js", Path: "b.test.js", Message: "Cannot find module './x'", Build: true},
		},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := JestJSON(strings.NewReader("no json"), "/p", " > "); err == nil {
		t.Error("text was read as a report")
	}
}

func FuzzLines(f *testing.F) {
	f.Add(linesSample)
	f.Fuzz(func(t *testing.T, s string) {
		r, _ := Lines(strings.NewReader(s), "/p")
		check(t, r)
	})
}

func FuzzJestJSON(f *testing.F) {
	f.Add(jestSample)
	f.Fuzz(func(t *testing.T, s string) {
		r, _ := JestJSON(strings.NewReader(s), "/p", " > ")
		check(t, r)
	})
}
