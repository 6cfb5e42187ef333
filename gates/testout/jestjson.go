package testout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

type jestReport struct {
	Suites []struct {
		File    string `json:"name"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Tests   []struct {
			Outer    []string `json:"ancestorTitles"`
			Title    string   `json:"title"`
			Status   string   `json:"status"`
			Messages []string `json:"failureMessages"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// JestJSON reads the JSON report of jest, which vitest writes too. root is the folder in which the runner ran; between
// separates the titles in a test's name.
func JestJSON(r io.Reader, root, between string) (Result, error) {
	var rep jestReport
	if err := json.NewDecoder(r).Decode(&rep); err != nil {
		return Result{}, fmt.Errorf("read the JSON report of the tests: %w", err)
	}
	res := Result{Known: true, Exact: true}
	cases := newCases()
	broken := 0
	fail := func(f Failure, text string) {
		lines := strings.Split(text, "\n")
		f.Message = firstText(lines, 3)
		f.at(jsPlace(lines))
		f.Path = relative(root, f.Path)
		res.fail(f)
	}
	for _, s := range rep.Suites {
		file := relative(root, s.File)
		failed := 0
		for _, t := range s.Tests {
			status := cmp.Or(words[t.Status], Skipped)
			name := strings.Join(append(t.Outer[:len(t.Outer):len(t.Outer)], t.Title), between)
			cases.add(Case{Name: name, Group: file, Path: file, Status: status})
			if status != Failed {
				continue
			}
			failed++
			fail(Failure{Name: name, Group: file, Path: file}, strings.Join(t.Messages, "\n"))
		}
		if s.Status == "failed" && failed == 0 { // it could not be loaded
			fail(Failure{Name: file, Path: file, Build: true}, s.Message)
			broken++
		}
	}
	cases.fill(&res)
	res.Failed = cmp.Or(res.Failed, broken) // a suite that did not load has no test to count
	return res, nil
}
