package testout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// Go reads the lines of `go test -json` one by one, so it needs little memory for a suite of any length.
type Go struct {
	module string
	res    Result
	tests  map[goTest]string // output of the tests that have not finished
	pkgs   map[string]string // output of packages outside any test
	failed map[string]int    // failed tests by package
	built  map[string]bool   // packages and build ids that did not build
	nested map[goTest]bool   // tests with a subtest that failed
	cases  *cases            // the tests that ended
	order  []goTest
	told   strings.Builder
	plain  strings.Builder
}

type goTest struct{ pkg, name string }

type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

const (
	maxTestOutput = 8 << 10  // kept output of one test, from its end
	maxTold       = 64 << 10 // kept output of all failures
)

// NewGo makes a reader. The module's path turns package names into folders.
func NewGo(module string) *Go {
	return &Go{
		module: module, tests: map[goTest]string{}, pkgs: map[string]string{}, failed: map[string]int{},
		built: map[string]bool{}, nested: map[goTest]bool{}, cases: newCases(),
	}
}

// Line takes one line of output. A line that is not an event is a message of the go command itself.
func (g *Go) Line(line string) {
	var e goEvent
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		g.plainLine(line)
		return
	}
	switch t := (goTest{e.Package, e.Test}); {
	case e.Action == "build-output":
		g.tell(e.Output)
		g.build(e.Output)
	case e.Action == "build-fail":
		g.built[e.ImportPath] = true
	case e.Test == "":
		g.pkg(e)
	case e.Action == "run":
		g.tests[t] = ""
		g.order = append(g.order, t)
	case e.Action == "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			g.tests[t] = keepEnd(g.tests[t]+e.Output, maxTestOutput)
		}
	case e.Action == "pass", e.Action == "bench":
		g.ended(t, Passed)
	case e.Action == "skip":
		g.ended(t, Skipped)
	case e.Action == "fail":
		g.testFailed(t, "")
	}
}

// Result returns the result so far.
func (g *Go) Result() Result {
	g.res.Cases = g.cases.list
	return g.res
}

// Output returns the output of the failed tests, packages and builds, in reading order.
func (g *Go) Output() string {
	return g.told.String() + g.plain.String()
}

// ended records how a test ended. Of several runs the worst counts.
func (g *Go) ended(t goTest, how Status) {
	delete(g.tests, t)
	g.res.add(how, 1)
	g.cases.add(Case{Name: t.name, Group: t.pkg, Status: how})
}

func (g *Go) plainLine(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if g.plain.Len() < maxTold {
		g.plain.WriteString(line + "\n")
	}
	g.build(line) // before Go 1.24 build errors come as plain text
}

func (g *Go) pkg(e goEvent) {
	switch e.Action {
	case "output":
		g.pkgs[e.Package] = keepEnd(g.pkgs[e.Package]+e.Output, maxTestOutput)
	case "pass", "skip", "fail":
		g.res.Known, g.res.Exact = true, true
		if e.Action == "fail" {
			g.pkgFailed(e)
		}
		delete(g.pkgs, e.Package)
	}
}

func (g *Go) pkgFailed(e goEvent) {
	// A test that started and never ended was killed with its process: it did not pass.
	for _, t := range g.order {
		if _, open := g.tests[t]; open && t.pkg == e.Package {
			g.testFailed(t, "did not finish")
		}
	}
	out := g.pkgs[e.Package]
	g.tell(out)
	build := e.FailedBuild != "" || strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]")
	if g.failed[e.Package] > 0 || build && slices.ContainsFunc(g.res.Failures, func(f Failure) bool { return f.Build }) {
		return // the place is known
	}
	msg := strings.TrimSpace(goNoise.ReplaceAllString(out, ""))
	if msg == "" || build {
		msg = strings.TrimSpace("package failed\n" + msg)
	}
	f := Failure{Name: e.Package, Message: msg, Build: build}
	f.Path, f.Line = goStack(out)
	g.res.fail(f)
	if !build {
		g.res.Failed++ // a crash outside any test
	}
}

func (g *Go) testFailed(t goTest, why string) {
	out := g.tests[t]
	g.ended(t, Failed)
	g.failed[t.pkg]++
	g.tell(out)
	if i := strings.LastIndexByte(t.name, '/'); i >= 0 {
		g.nested[goTest{t.pkg, t.name[:i]}] = true
	}
	f := Failure{Name: t.name, ID: t.pkg + "." + t.name, Group: t.pkg,
		Message: strings.TrimSpace(goNoise.ReplaceAllString(out, ""))}
	f.Path, f.Line = g.position(t.pkg, out)
	if f.Path == "" && why == "" && g.nested[t] {
		return // only a subtest failed, which is listed
	}
	f.Message = strings.TrimPrefix(f.Message, fmt.Sprintf("%s:%d: ", path.Base(f.Path), f.Line)) // it is shown beside it
	f.Message = cmp.Or(withoutTestify(f.Message), "failed without a message")
	if i := strings.Index(f.Message, "panic:"); i > 0 {
		f.Message = f.Message[i:]
	}
	if i := strings.Index(f.Message, "\n\ngoroutine "); i > 0 {
		f.Message = f.Message[:i]
	}
	if why != "" {
		f.Message = why + ": " + f.Message
	}
	g.res.fail(f)
}

// testify prints a table for each failed assertion. The rows for the place and the test are redundant.
var (
	testifyKnown = lazyre.New(`(?m)^[ \t]*Error Trace:.*\n(?:[ \t]+\S+:\d+\n)*|^[ \t]*Test:[ \t]+\S+\n?`)
	testifyLabel = lazyre.New(`(?m)^[ \t]*(?:Error|Messages):[ \t]+`)
)

// withoutTestify reduces a table of testify to its message.
func withoutTestify(msg string) string {
	if !strings.Contains(msg, "Error Trace:") {
		return msg
	}
	return strings.TrimSpace(testifyLabel.ReplaceAllString(testifyKnown.ReplaceAllString(msg, ""), ""))
}

// position finds where a test failed: a frame of its panic, else the last place in its output. t.Log and t.Error
// print in the same form, and the error comes last.
func (g *Go) position(pkg, out string) (string, int) {
	if strings.Contains(out, "panic:") {
		if p, n := goStack(out); p != "" {
			return p, n
		}
	}
	found := goPlace.FindAllStringSubmatch(out, -1)
	for i, m := range slices.Backward(found) {
		if language.GoTest(m[1]) || i == 0 {
			return path.Join(g.dir(pkg), m[1]), number(m[2])
		}
	}
	return "", 0
}

func (g *Go) dir(pkg string) string {
	if rest, ok := strings.CutPrefix(pkg, g.module+"/"); ok && g.module != "" {
		return rest
	}
	return ""
}

func (g *Go) build(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		g.res.broken(goBuild, line)
	}
}

func (g *Go) tell(out string) {
	if g.told.Len() < maxTold {
		g.told.WriteString(out)
	}
}

// goStack finds the first frame of a stack trace outside of the standard library.
func goStack(out string) (string, int) {
	for _, m := range goFrame.FindAllStringSubmatch(out, -1) {
		if !strings.Contains(m[1], "/src/testing/") && !strings.Contains(m[1], "/src/runtime/") &&
			!strings.Contains(m[1], "/src/internal/") {
			return m[1], number(m[2])
		}
	}
	return "", 0
}

func keepEnd(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)-1 {
		s = s[i+1:]
	}
	return s
}

var (
	goPlace = lazyre.New(`(?m)^\s+([\w.-]+\.go):(\d+): `)
	goFrame = lazyre.New(`(?m)^\t(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$`)
	goBuild = lazyre.New(`^(?:vet: )?(?:\./)?((?:[A-Za-z]:)?[^:\s][^:]*\.go):(\d+)(?::(\d+))?: (.+)$`)
	goNoise = lazyre.New(`(?m)^\s*(--- (FAIL|PASS|SKIP): .*|FAIL(\t.*)?|PASS|exit status \d+)\n?`)
	goVerb  = lazyre.New(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)
)

// GoText reads `go test` without -json. Only -v lists passed tests, so without it the count is unknown.
func GoText(lines []string) Result {
	var r Result
	for i, l := range lines {
		m := goVerb.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		r.countWords("1 " + m[1])
		r.Known = r.Known || m[1] == "PASS"
		if m[1] != "FAIL" {
			continue
		}
		f := Failure{Name: m[2], Message: "failed"}
		for _, next := range lines[i+1 : min(i+6, len(lines))] {
			if p := goPlace.FindStringSubmatch(next); p != nil {
				f.Path, f.Line, f.Message = p[1], number(p[2]), strings.TrimSpace(next)
				break
			}
		}
		r.fail(f)
	}
	if !r.Known {
		return Result{Failures: r.Failures}
	}
	slices.SortStableFunc(r.Failures, func(a, b Failure) int { return strings.Compare(a.Path, b.Path) })
	return r
}
