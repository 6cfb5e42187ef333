package gates

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
)

// moduleOf returns the name of the Go module at root, "" if there is none.
func moduleOf(dir, root string) string {
	return modfile.ModulePath([]byte(readText(dir, root, "go.mod")))
}

// goSuite runs `go test -json`, whose events name each test, and never uses the test cache: any program may have
// written it. A module without test files has no suite; go vet checks that it compiles.
func goSuite(dir string, p Project, all []Project) []suite {
	test := func(_, name string) bool { return language.GoTest(name) }
	if !anyFile(dir, p, all, test) {
		return nil
	}
	args := []string{"go", "test", "-json", "-count=1", "./..."}
	plan := func(_ context.Context, w *Look) ([]testRun, error) {
		module := moduleOf(w.subject.Dir, p.Root)
		var folders []string // with tests
		for rel, name := range filesOf(w.subject.Dir, p, all) {
			if test(rel, name) && !slices.Contains(folders, rel) {
				folders = append(folders, rel)
			}
		}
		var call func(args, only []string) testRun
		call = func(args, only []string) testRun {
			events, ended := testout.NewGo(module), goPackages{}
			line := func(l string) { events.Line(l); ended.line(l) }
			planted := plantGo(p, folders, module, ended, only)
			return testRun{
				program: program{args: args, dir: p.Root, line: line},
				read:    func(ran) testout.Result { return events.Result() },
				show:    events.Output,
				plant: func(w *Look, r *testRun, b *bed) error {
					b.alone = func() (testRun, error) { return call(args, only), nil } // which reads its own events
					return planted(w, r, b)
				},
			}
		}
		all := call(args, nil)
		all.again = func(failed []testout.Failure) (testRun, error) {
			args, packages := goOnly(failed)
			return call(args, packages), nil
		}
		return []testRun{all}, nil
	}
	return []suite{{project: p, command: commandLine(p.Root, args), tools: []Tool{goTool()}, plan: plan}}
}

// goOnly runs the given tests alone.
func goOnly(failed []testout.Failure) (args, packages []string) {
	var names []string
	for _, f := range failed {
		top, _, _ := strings.Cut(f.Name, "/")
		names = append(names, regexp.QuoteMeta(top))
		packages = append(packages, f.Group)
	}
	packages = lists.Unique(packages)
	args = []string{"go", "test", "-json", "-count=1", "-vet=off", "-run", "^(" +
		strings.Join(lists.Unique(names), "|") + ")$"}
	return append(args, packages...), packages
}
