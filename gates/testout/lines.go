package testout

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// reportLine is one line of a report from one of runplan's reporters, see folder gates/reporters.
type reportLine struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
	Outer   bool   `json:"outer"` // only tests inside of it failed, and those have their own lines
	End     bool   `json:"end"`
}

// ErrCut reports that a runner ended before its report did.
var ErrCut = errors.New("the report of the tests is incomplete")

// maxReportLine limits a line of a report, in bytes.
const maxReportLine = 1 << 20

// Lines reads a report with one JSON object per line, as the reporters for node:test, mocha and unittest write it. root
// is the folder in which the runner ran. It returns [ErrCut] if the last line is missing.
func Lines(r io.Reader, root string) (Result, error) {
	var res Result
	cases := newCases()
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxReportLine)
	for in.Scan() {
		var l reportLine
		if json.Unmarshal(in.Bytes(), &l) != nil {
			continue
		}
		if l.End {
			res.Known, res.Exact = true, true
			break
		}
		if l.Name == "" || l.Status != Passed && l.Status != Failed && l.Status != Skipped {
			continue
		}
		file := relative(root, l.Path)
		name := relative(root, l.Name) // node:test calls a file without tests by its path
		cases.add(Case{Name: name, Group: file, Path: file, Status: l.Status})
		if l.Status == Failed && !l.Outer {
			f := Failure{Name: name, Group: file, Path: file, Line: number(fmt.Sprint(l.Line)),
				Message: firstText(strings.Split(l.Message, "\n"), 3)}
			f.at(jsPlace(strings.Split(l.Stack, "\n")))
			f.Path = relative(root, f.Path)
			res.fail(f)
		}
	}
	cases.fill(&res)
	if !res.Exact {
		return res, ErrCut
	}
	return res, nil
}

// cases contains each test once, with its worst status.
type cases struct {
	list []Case
	at   map[string]int
}

func newCases() *cases { return &cases{at: map[string]int{}} }

func (s *cases) add(c Case) {
	at, again := s.at[c.Key()]
	if !again {
		s.at[c.Key()] = len(s.list)
		s.list = append(s.list, c)
		return
	}
	if have := &s.list[at]; have.Status.rank() < c.Status.rank() {
		have.Status = c.Status
	}
}

// fill copies the cases to r, and counts them.
func (s *cases) fill(r *Result) {
	r.Cases = s.list
	r.Passed, r.Failed, r.Skipped = 0, 0, 0
	for _, c := range s.list {
		r.add(c.Status, 1)
	}
}

// relative returns a path of a report relative to root, with slashes. It does not change a path outside of root.
func relative(root, file string) string {
	file = strings.TrimPrefix(file, "file://")
	if root == "" || !filepath.IsAbs(file) {
		return file
	}
	for _, from := range []string{root, realPath(root)} {
		if rel, err := filepath.Rel(from, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return file
}

func realPath(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return file
}
