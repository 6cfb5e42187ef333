// Package testout reads the output of test runners: how many tests passed, and where the others failed.
//
// A reader never guesses. If a runner does not print how many tests ran, [Result.Known] stays false. An unknown count
// is not zero, and a skipped test is not a passed one. All readers expect text without terminal control codes, accept
// any input without a panic and keep at most [MaxFailures] failures.
package testout

import (
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// MaxFailures limits the failures of a result.
const MaxFailures = 200

// maxMessage limits the message of one failure, in bytes.
const maxMessage = 600

// Result holds the counts and tests that one runner reported.
type Result struct {
	Passed, Failed, Skipped int

	Known bool // the runner reported the number of tests
	Exact bool // the figures come from a report made for programs, not from text made for people

	Failures []Failure

	// Cases lists the tests that ran, in the order of the report; nil if the runner names only failures. A test that
	// ran several times appears once, with its worst status.
	Cases []Case
}

// Case is one test with its name from a runner.
type Case struct {
	// the runner's name, with subtests and parameters: "TestAdd/two", "test_add[2]"
	Name string `json:"name"`
	// scope in which the name is unique: Go's package, pytest's module and class, jest's file
	Group  string `json:"group,omitempty"`
	Path   string `json:"path,omitempty"` // its file, relative to the runner's folder; "" if not reported
	Status Status `json:"status"`
}

// Key identifies a case in its suite.
func (c Case) Key() string { return c.Group + "\x00" + c.Name }

// NodeID returns pytest's id of a test: its file, its class and its name. It is "" for a case of another runner. A test
// that a class inherits has the path of the file that defines it; its id has the module of the class, which is the part
// of the group before the first name with an upper-case letter.
func (c Case) NodeID() string {
	module, ok := strings.CutSuffix(c.Path, ".py")
	if !ok || c.Name == "" {
		return ""
	}
	id := c.Path
	class, ok := strings.CutPrefix(c.Group, strings.ReplaceAll(module, "/", "."))
	if of := pyClass.FindStringSubmatch(c.Group); !ok && of != nil {
		id, class, ok = strings.ReplaceAll(of[1], ".", "/")+".py", of[2], true
	}
	if ok && class != "" {
		id += strings.ReplaceAll(class, ".", "::")
	}
	return id + "::" + c.Name
}

var pyClass = lazyre.New(`^([^A-Z]+)(\.[A-Z].*)$`)

// Status is the result of a test.
type Status string

// The statuses of a test.
const (
	Passed  Status = "pass"
	Failed  Status = "fail"
	Skipped Status = "skip"
)

// rank orders statuses from good to bad.
func (s Status) rank() int {
	switch s {
	case Passed:
		return 0
	case Skipped:
		return 1
	}
	return 2
}

// Failure is a failed test, or a place that did not build.
type Failure struct {
	Name    string // the runner's name
	ID      string // unique id, if the name is not unique: that of pytest, or the package and the name
	Group   string // Go's package
	Path    string // as printed: relative to where the runner ran, or absolute
	Line    int
	Col     int
	Message string
	Build   bool // it did not compile or could not be loaded, so its tests did not run
}

// Add sums two results. The sum is known if one of them is.
func (r Result) Add(o Result) Result {
	r.Passed += o.Passed
	r.Failed += o.Failed
	r.Skipped += o.Skipped
	switch {
	case !r.Known:
		r.Exact = o.Exact
	case o.Known:
		r.Exact = r.Exact && o.Exact
	}
	r.Known = r.Known || o.Known
	for _, f := range o.Failures {
		r.fail(f)
	}
	r.Cases = append(r.Cases[:len(r.Cases):len(r.Cases)], o.Cases...)
	return r
}

// count adds the numbers of a runner's summary.
func (r *Result) count(passed, failed, skipped int) {
	r.Known = true
	r.Passed += passed
	r.Failed += failed
	r.Skipped += skipped
}

// total adds the numbers of a summary that has all tests instead of the passed ones.
func (r *Result) total(all, failed, skipped int) {
	r.count(max(0, all-failed-skipped), failed, skipped)
}

// add counts n tests of a status.
func (r *Result) add(s Status, n int) {
	switch s {
	case Passed:
		r.Passed += n
	case Failed:
		r.Failed += n
	case Skipped:
		r.Skipped += n
	}
}

// summed returns r, or an empty result if the lines had no summary of the runner.
func (r Result) summed() Result {
	if !r.Known {
		return Result{}
	}
	return r
}

// broken adds a failure if the line reports a place that did not build. The groups of re are its path, line, column and
// message.
func (r *Result) broken(re *lazyre.Regexp, line string) {
	if m := re.FindStringSubmatch(line); m != nil {
		r.fail(Failure{Name: "build", Path: m[1], Line: number(m[2]), Col: number(m[3]), Message: m[4], Build: true})
	}
}

// fail adds f unless it is already listed.
func (r *Result) fail(f Failure) {
	if len(r.Failures) >= MaxFailures {
		return
	}
	f.Message = phrase.CutBytes(strings.TrimSpace(f.Message), maxMessage)
	r.Failures = lists.Add(r.Failures, f)
}

// Text reads output for people. Several runners may write it (a Makefile that calls pytest and jest): their counts
// are added. If no runner is recognized, each part of the output that a task runner marks at the start of its lines is
// read on its own. Common phrases of shell suites are searched last.
func Text(out string) Result {
	lines := strings.Split(out, "\n")
	sum := runners(lines)
	if !sum.Known {
		for _, part := range marked(lines) {
			sum = sum.Add(runners(part))
		}
	}
	if sum.Known {
		return sum
	}
	return sum.Add(Shell(lines))
}

// runners reads the output of test runners.
func runners(lines []string) Result {
	var sum Result
	node := Node(lines)
	sum = sum.Add(node)
	if !node.Known { // node --test prints TAP with a better summary
		if sum = sum.Add(TAP(lines)); !sum.Known {
			sum = sum.Add(Prove(lines))
		}
	}
	for _, read := range []func([]string) Result{Jest, Vitest, Mocha, Ava, Uvu, Pytest, Unittest, Cargo, Maven, Ant,
		GoText, BatsPretty,
		Examples, Minitest, ShUnit, Swift, Dotnet, Gradle, PHPUnit, ExUnit, Dart, Listed} {
		sum = sum.Add(read(lines))
	}
	return sum
}

// mark matches what task runners put before each line of a task: `@x/a:test: ` (turbo), `packages/a test: ` (pnpm),
// `@x/a: ` (lerna), `[@x/a]: ` (yarn), `[test:a] ` (concurrently).
var mark = lazyre.New(`^(\[[^\]\s]{1,80}\]:?|[@\w./-]{1,80}(?:[: ][\w:.-]{1,40})?:) (.*)$`)

// marked returns the lines with the same mark, without it, for each mark in the order of the first line.
func marked(lines []string) [][]string {
	var parts [][]string
	at := map[string]int{}
	for _, l := range lines {
		m := mark.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		i, ok := at[m[1]]
		if !ok {
			i = len(parts)
			at[m[1]], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], m[2])
	}
	return parts
}

// number parses a count; an invalid one is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 100_000_000 {
		return 0
	}
	return n
}

// countWords adds up lists such as "3 failed, 2 passed", and reports whether s is one.
func (r *Result) countWords(s string) (found bool) {
	for _, m := range wordCount.FindAllStringSubmatch(s, -1) {
		if status, ok := words[strings.ToLower(m[2])]; ok {
			r.add(status, number(m[1]))
			found = true
		}
	}
	return found
}

var wordCount = lazyre.New(`(\d+)\s+([A-Za-z]+)`)

// words maps the words of runners to the status that they mean.
var words = map[string]Status{
	"pass": Passed, "passed": Passed, "passing": Passed, "xpassed": Passed,
	"fail": Failed, "failed": Failed, "failing": Failed, "cancelled": Failed, "error": Failed, "errors": Failed,
	"skip": Skipped, "skips": Skipped, "skipped": Skipped, "pending": Skipped, "todo": Skipped, "xfailed": Skipped,
}

// firstText returns the first n non-blank lines, joined.
func firstText(lines []string, n int) string {
	var out []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			if out = append(out, l); len(out) == n {
				break
			}
		}
	}
	return strings.Join(out, "\n")
}
