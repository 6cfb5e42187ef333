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

// ErrNothingHeld says that a version was trained on all there was: nothing is left to measure it by.
var ErrNothingHeld = errors.New("nothing was held back from the training")

// holdBack keeps the examples that a version is not trained on beside it. The folder with the data is made anew again and again, and
// what is held back there next time may have been trained on now.
func (v Version) holdBack(from string) error {
	if from == "" {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("keep what is held back: %w", err)
	}
	return atomicfile.Write(filepath.Join(v.dir, heldFile), text, 0o644)
}

// HeldBack are the examples that a version was not trained on (TRAIN-26).
func (v Version) HeldBack() ([]training.Example, error) {
	f, err := os.Open(filepath.Join(v.dir, heldFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", v.Name(), ErrNothingHeld)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was held back from %s: %w", v.Name(), err)
	}
	defer f.Close()
	var out []training.Example
	for e, err := range training.Read(f.Name(), f) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", v.Name(), ErrNothingHeld)
	}
	return out, nil
}
