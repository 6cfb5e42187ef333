package gates

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/gates/reporters"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/glob"
)

// reportFile is a report that a test runner writes outside of the tree.
type reportFile struct {
	folder string
	script string // the reporter that the runner loads; "" for a built-in one
	name   string
}

// newReport makes a folder for a report, and writes the reporter with that name into it unless it is "".
func newReport(reporter string) (reportFile, error) {
	folder, err := os.MkdirTemp("", "runplan-tests-*")
	if err != nil {
		return reportFile{}, fmt.Errorf("make a folder for the report of the tests: %w", err)
	}
	f := reportFile{folder: folder, name: filepath.Join(folder, "report")}
	if reporter == "" {
		return f, nil
	}
	if f.script, err = f.put(reporter, reporter); err != nil {
		return reportFile{}, errors.Join(err, os.RemoveAll(folder))
	}
	f.name = f.script + ".report"
	return f, nil
}

// put writes a reporter to a file in the folder.
func (f reportFile) put(reporter, file string) (string, error) {
	at := filepath.Join(f.folder, filepath.FromSlash(file))
	text, err := reporters.Files.ReadFile(reporter)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(at), 0o700)
	}
	if err == nil {
		err = os.WriteFile(at, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write the reporter of the tests: %w", err)
	}
	return at, nil
}

// read reads the report and removes it, so that no later call of the runner uses it. ok is false if it is missing or
// incomplete.
func (f reportFile) read(read func(io.Reader) (testout.Result, error)) (res testout.Result, ok bool) {
	in, err := os.Open(f.name)
	if err != nil {
		return res, false
	}
	defer in.Close()
	defer os.Remove(f.name)
	res, err = read(in)
	return res, err == nil
}

// readAll reads the reports of several processes in the folder, and removes them. ok is false if there are none.
func (f reportFile) readAll(read func(io.Reader) (testout.Result, error)) (res testout.Result, ok bool) {
	for _, name := range glob.Below(f.folder, "*.report") {
		one, whole := reportFile{name: name}.read(read)
		if !whole {
			return testout.Result{}, false
		}
		res, ok = res.Add(one), true
	}
	return res, ok
}

func (f reportFile) remove() { _ = os.RemoveAll(f.folder) }
