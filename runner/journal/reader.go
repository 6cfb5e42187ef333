package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
)

// Reader reads a journal and the files that belong to its events.
type Reader struct {
	*store.Journal
	Layout
}

// MaxFile limits the bytes of files that are read as a whole.
const MaxFile = 64 << 20

// Read reads a file of at most limit bytes. name is relative to .runplan, as in events. It follows no link out of that
// folder. Errors include [fs.ErrNotExist].
func (l Layout) Read(name string, limit int) ([]byte, error) { return rooted.Read(l.Root, name, limit) }

// ErrFileChanged means that a file of an attempt differs from the journal.
var ErrFileChanged = errors.New("the file differs from the journal")

// Attached reads a file of the attempt that an event reports on, such as [BriefFile]. A file of which the event has the
// hash must be the same; otherwise the error is [ErrFileChanged].
func (l Layout) Attached(e runner.Event, file string, limit int) ([]byte, error) {
	data, err := l.Read(l.Rel(filepath.Join(l.AttemptOf(e), file)), limit)
	if sum := e.Sums[file]; err == nil && sum != "" && checksum.SHA256(data) != sum {
		err = ErrFileChanged
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of attempt %d at batch %s of run %s: %w", file, e.Attempt, e.Batch, e.Run, err)
	}
	return data, nil
}

// SumFiles returns the SHA-256 of files in a folder below .runplan, by name, for an event. A file that does not exist or
// is larger than [MaxFile] has none.
func (l Layout) SumFiles(dir string, names ...string) map[string]string {
	sums := map[string]string{}
	for _, name := range names {
		if data, err := l.Read(l.Rel(filepath.Join(dir, name)), MaxFile); err == nil {
			sums[name] = checksum.SHA256(data)
		}
	}
	return sums
}

// Changed returns the names of the files in a folder below .runplan that do not have their hash in sums, sorted. A file
// that no longer exists is not among them.
func (l Layout) Changed(dir string, sums map[string]string) []string {
	now := l.SumFiles(dir, slices.Collect(maps.Keys(sums))...)
	maps.DeleteFunc(now, func(name, sum string) bool { return sum == sums[name] })
	return slices.Sorted(maps.Keys(now))
}

// Ledgers lists the files with the findings of reviews: of branches, and of the batches of runs.
func (l Layout) Ledgers() ([]string, error) {
	ofRuns, err := fs.Glob(os.DirFS(l.Root), l.Rel(l.Findings("*", "*")))
	if err != nil {
		return nil, err
	}
	ofBranches, err := fs.Glob(os.DirFS(l.Root), l.Rel(filepath.Join(l.BranchFindings(), "*.json")))
	return append(ofRuns, ofBranches...), err // sorted
}
