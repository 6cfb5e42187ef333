package review

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/phrase"
)

// largestFile limits the bytes of a ledger, because it is read as a whole.
const largestFile = 8 << 20

// ReadLedger reads the ledger of a branch; a missing file gives an empty one.
func ReadLedger(file, branch string) (*Ledger, error) {
	l := &Ledger{Branch: branch, Rounds: []Round{}, Findings: []Entry{}}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the findings of earlier reviews: %w", err)
	}
	if info.Size() > largestFile {
		return nil, fmt.Errorf("read the findings of earlier reviews: %s has %d bytes; move it away to start a new one", file,
			info.Size())
	}
	if err := atomicfile.ReadJSON(file, l); err != nil {
		return nil,
			fmt.Errorf("read the findings of earlier reviews in %s: %w; correct it, or move it away to start a new one", file,
				err)
	}
	return l, nil
}

// Write writes the ledger, in a folder that git ignores.
func (l *Ledger) Write(file string) error {
	dir := filepath.Dir(file)
	err := os.MkdirAll(dir, 0o755)
	if ignore := filepath.Join(dir, ".gitignore"); err == nil {
		if _, missing := os.Stat(ignore); missing != nil {
			err = atomicfile.WriteLoose(ignore, []byte("*\n"), 0o644)
		}
	}
	if err == nil {
		err = atomicfile.WriteJSON(file, l, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the findings of the review: %w", err)
	}
	return nil
}

// LedgerName returns the file of a branch's ledger, below the folder of ledgers.
func LedgerName(branch string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, branch)
	if name = strings.Trim(name, ".-"); name != branch || name == "" {
		// feat/x and feat-x are two branches.
		name = cmp.Or(phrase.Cut(name, 60), "branch") + "-" + checksum.SHA256(branch)[:8]
	}
	return name + ".json"
}
