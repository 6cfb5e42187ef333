package planparse

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exceptions lists the files for which the parser contradicts the manifest, with the reason; docs/plan-format.md
// explains each.
func exceptions() map[string]string {
	return map[string]string{}
}

// corpusFile is a line of manifest.tsv: the numbers that a person counted in the plan, or -1 for units that it does
// not have.
type corpusFile struct {
	path, format                        string
	tasks, groups, boxes, markers, line int
}

func corpusDir() string { return cmp.Or(os.Getenv("CORPUS"), filepath.Join("testdata", "corpus")) }

func corpus(t testing.TB) []corpusFile {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(corpusDir(), "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(src)), "\n")
	column := map[string]int{}
	for i, name := range strings.Split(lines[0], "\t") {
		column[name] = i
	}
	var files []corpusFile
	for n, line := range lines[1:] {
		cells := strings.Split(strings.TrimRight(line, "\r"), "\t")
		number := func(name string) int {
			v, err := strconv.Atoi(cells[column[name]])
			if err != nil {
				return -1
			}
			return v
		}
		files = append(files, corpusFile{
			path: cells[column["file"]], format: cells[column["format"]], line: n + 2,
			tasks: number("expected_tasks"), groups: number("expected_batches"),
			boxes: number("expected_steps"), markers: number("step_markers"),
		})
	}
	return files
}

// The parser finds the same numbers in each plan of the corpus as the person who wrote the manifest.
func TestCorpus(t *testing.T) {
	type score struct{ files, exact int }
	scores := map[string]*score{}
	for _, f := range corpus(t) {
		src, err := os.ReadFile(filepath.Join(corpusDir(), f.path))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(f.path, src)
		if err != nil {
			t.Fatal(err)
		}
		var diffs []string
		diff := func(what string, want, got int) {
			if want >= 0 && want != got {
				diffs = append(diffs, fmt.Sprintf("%s: want %d, got %d", what, want, got))
			}
		}
		diff("tasks", f.tasks, p.Counts.Tasks)
		diff("groups", f.groups, p.Counts.Groups)
		diff("checkboxes", f.boxes, p.Counts.Checkboxes)
		diff("step markers", f.markers, p.Counts.StepMarkers)
		s := scores[f.format]
		if s == nil {
			s = &score{}
			scores[f.format] = s
		}
		s.files++
		switch reason, excepted := exceptions()[filepath.Base(f.path)]; {
		case len(diffs) == 0:
			s.exact++
			if excepted {
				t.Errorf("%s is counted right, its exception is out of date", f.path)
			}
		case !excepted:
			t.Errorf("%s (read as %s): %s", f.path, p.Format, strings.Join(diffs, "; "))
		default:
			t.Logf("%s: %s (exception: %s)", f.path, strings.Join(diffs, "; "), reason)
		}
	}
	var all score
	for _, name := range sortedKeys(scores) {
		s := scores[name]
		t.Logf("%-4s %3d of %3d exact", name, s.exact, s.files)
		all.files, all.exact = all.files+s.files, all.exact+s.exact
	}
	t.Logf("all  %3d of %3d exact", all.exact, all.files)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
