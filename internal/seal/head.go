package seal

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
)

// mostHeads limits the number of runs with a head on disk; the oldest heads are removed.
const mostHeads = 500

// Chain is the head of a run's chain: the number of its last link, and that link's seal.
type Chain struct {
	Seq int
	Sum string
}

// HeadFile stores the head of one chain in the user's folder, outside of the repository. It reveals a chain that was
// truncated. It is written without fsync, so after a power failure it may be ahead of or behind the journal.
type HeadFile struct {
	seal *Seal
	run  string
	f    *os.File
}

func (s *Seal) headPath(run string) string { return filepath.Join(s.dir, "heads", run) }

// OpenHead opens the head of a run for writing. It returns nil for a nil Seal and for a folder that is not writable:
// then the chain is checked without it.
func (s *Seal) OpenHead(run string) *HeadFile {
	if s == nil || run == "" || run != filepath.Base(run) {
		return nil
	}
	path := s.headPath(run)
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return nil
	}
	atomicfile.Prune(filepath.Join(s.dir, "heads"), mostHeads)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	return &HeadFile{s, run, f}
}

// headSize is the fixed size of the file, so each write replaces the previous one completely.
const headSize = 160

// Set writes the head of the chain. It ignores errors, because the head only helps to detect changes.
func (h *HeadFile) Set(c Chain) {
	if h == nil {
		return
	}
	line := fmt.Sprintf("%d %s %s", c.Seq, c.Sum, h.seal.Sum(Head, h.run, strconv.Itoa(c.Seq), c.Sum))
	_, _ = h.f.WriteAt(fmt.Appendf(nil, "%-*s\n", headSize-1, line), 0)
}

// Close releases the file.
func (h *HeadFile) Close() {
	if h != nil {
		h.f.Close()
	}
}

// Head reads the last known link of a run's chain; false if it is unknown.
func (s *Seal) Head(run string) (Chain, bool) {
	if s == nil || run == "" || run != filepath.Base(run) {
		return Chain{}, false
	}
	data, err := os.ReadFile(s.headPath(run))
	if err != nil {
		return Chain{}, false
	}
	parts := strings.Fields(string(data))
	if len(parts) != 3 || !s.Check(parts[2], Head, run, parts[0], parts[1]) {
		return Chain{}, false
	}
	seq, err := strconv.Atoi(parts[0])
	return Chain{seq, parts[1]}, err == nil
}
