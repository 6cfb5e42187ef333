package gates

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
)

var goModule = lazyre.New(`(?m)^module\s+"?([^\s"]+)`)

// goSuite runs `go test -json`, whose events tell of each test by name. A module without test files has no suite: that
// it compiles is seen by go vet.
func goSuite(dir string, p Project, all []Project) []suite {
	if !anyFile(dir, p, all, func(_, name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		return nil
	}
	args := []string{"go", "test", "-json", "./..."}
	plan := func(_ context.Context, w *work) ([]testRun, error) {
		module := ""
		if m := goModule.FindStringSubmatch(readText(w.subject.Dir, p.Root, "go.mod")); m != nil {
			module = m[1]
		}
		run := func(args []string) testRun {
			events := testout.NewGo(module)
			return testRun{
				program: program{args: args, dir: p.Root, line: events.Line},
				read:    func(ran) testout.Result { return events.Result() },
				show:    events.Output,
			}
		}
		all := run(args)
		all.again = func(failed []testout.Failure) (testRun, error) { return run(goOnly(failed)), nil }
		return []testRun{all}, nil
	}
	return []suite{{project: p, command: commandLine(p.Root, args), plan: plan}}
}

// goOnly runs the given tests alone, and not from the cache.
func goOnly(failed []testout.Failure) []string {
	var names, packages []string
	for _, f := range failed {
		top, _, _ := strings.Cut(f.Name, "/")
		names = append(names, regexp.QuoteMeta(top))
		packages = append(packages, f.Group)
	}
	slices.Sort(names)
	slices.Sort(packages)
	args := []string{"go", "test", "-json", "-count=1", "-run", "^(" + strings.Join(slices.Compact(names), "|") + ")$"}
	return append(args, slices.Compact(packages)...)
}
