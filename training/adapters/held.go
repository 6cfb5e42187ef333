package adapters

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/training"
)

// ErrNothingHeld reports that a version was trained on all examples, so that none are left to measure it.
var ErrNothingHeld = errors.New("the training used all examples, so none were held out")

// holdBack copies the held-out examples next to the version. The data folder is rebuilt often, and its next held-out
// examples may be among those used for training now.
func (v Version) holdBack(from string) error {
	if from == "" {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("store the held-out examples: %w", err)
	}
	return atomicfile.Write(filepath.Join(v.dir, heldFile), text, 0o644)
}

// HeldBack returns the held-out examples of a version (TRAIN-26).
func (v Version) HeldBack() ([]training.Example, error) {
	var out []training.Example
	for e, err := range training.ReadFile(filepath.Join(v.dir, heldFile)) {
		switch {
		case errors.Is(err, fs.ErrNotExist): // as an empty file
		case err != nil:
			return nil, fmt.Errorf("read what was held back from %s: %w", v.Name(), err)
		default:
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", v.Name(), ErrNothingHeld)
	}
	return out, nil
}
