package gates

import (
	"context"
	"regexp"
	"strings"

	"github.com/runplan/runplan/gates/testout"
)

var goModule = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

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
		events := testout.NewGo(module)
		return []testRun{{
			program: program{args: args, dir: p.Root, line: events.Line},
			read:    func(ran) testout.Result { return events.Result() },
			show:    events.Output,
		}}, nil
	}
	return []suite{{project: p, command: commandLine(p.Root, args), plan: plan}}
}
