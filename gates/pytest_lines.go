package gates

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lists"
)

// PytestLines holds which lines of a Python project its tests run.
type PytestLines struct {
	Passed bool // all tests passed. If not, the other fields are empty.
	// Tests holds for each line of a file, by the file's path in the tree, the tests that run it: ids of pytest, or
	// test files. The empty id stands for all tests: the line runs at import or in a fixture of the session.
	Tests map[string]map[int][]string
	// Children is true if tests started other processes, whose lines are not known.
	Children bool
}

// PytestLines runs the whole suite of the project of files once, and records which tests run which lines of them. ok
// is false if the project does not use pytest, or if the record was disturbed by another program that traces.
func (w *Look) PytestLines(ctx context.Context, files []string) (_ PytestLines, ok bool, err error) {
	root := projectOf(w.subject.Dir, LangPython, files[0])
	python, err := w.Interpreter(root)
	if err != nil {
		return PytestLines{}, false, err
	}
	if has, err := w.hasPytest(ctx, python, root); err != nil || !has {
		return PytestLines{}, false, err
	}
	r, err := w.pytest(ctx, root, python, nil)
	if err != nil {
		return PytestLines{}, false, err
	}
	defer r.done()
	report, err := newReport("pytest_lines.py")
	if err != nil {
		return PytestLines{}, false, err
	}
	defer report.remove()
	names := lists.By(files, w.at)
	list, err := json.Marshal(sortedKeys(names))
	if err == nil {
		err = os.WriteFile(report.script+".files", list, 0o600)
	}
	if err != nil {
		return PytestLines{}, false, fmt.Errorf("find the lines that tests run: %w", err)
	}
	at := slices.Index(r.args, "-m")
	r.shown = r.args
	r.args = slices.Concat(r.args[:at], []string{report.script}, r.args[at+2:])
	r.tests = true
	out, err := w.run(ctx, r.program)
	if err != nil || !out.ok() {
		return PytestLines{}, err == nil, err
	}
	var raw struct {
		Children, Lost bool
		Tests          []string
		Lines          map[string]map[int][]int
	}
	if _, found := report.read(func(in io.Reader) (res testout.Result, err error) {
		return res, json.NewDecoder(in).Decode(&raw)
	}); !found || raw.Lost {
		return PytestLines{}, false, nil
	}
	got := PytestLines{Passed: true, Children: raw.Children, Tests: map[string]map[int][]string{}}
	for name, lines := range raw.Lines {
		of := map[int][]string{}
		for line, tests := range lines {
			for _, i := range tests {
				if i < 0 || i >= len(raw.Tests) {
					return PytestLines{}, false, nil
				}
				of[line] = append(of[line], raw.Tests[i])
			}
		}
		got.Tests[names[name]] = of
	}
	return got, true, nil
}

// projectOf returns the folder of the innermost project of a language that holds a file.
func projectOf(dir string, lang Language, file string) string {
	root := "."
	for _, p := range Detect(dir) {
		if p.Language == lang && within(file, p.Root) && len(p.Root) >= len(root) {
			root = p.Root
		}
	}
	return root
}

// SameProject reports whether two Python files belong to the same project of the tree.
func SameProject(dir, a, b string) bool {
	return projectOf(dir, LangPython, a) == projectOf(dir, LangPython, b)
}

// withoutCoverage returns the option that switches pytest-cov off, if the project's settings switch it on: a part of
// the tests does not reach a threshold of coverage.
func withoutCoverage(dir, root string) []string {
	if config := pytestConfig(dir, root); config != "" && strings.Contains(readText(dir, ".", config), "--cov") {
		return []string{"--no-cov"}
	}
	return nil
}
