package logged

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/training"
)

// Files of a build.
const (
	PairsName    = "pairs.jsonl"
	ManifestName = "manifest.json"
)

// Manifest describes a file of examples. It is written after that file. If its hash differs from the file, it belongs
// to an earlier build.
type Manifest struct {
	Format  int    `json:"format"` // 1
	Repo    string `json:"repo"`
	License string `json:"license"` // "" is unknown
	SHA256  string `json:"sha256"`  // of pairs.jsonl
	training.Tally
}

// Write builds the examples of a source into the folder dir. If the build fails it writes nothing.
func Write(ctx context.Context, s Source, o Options, dir string) (training.Tally, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return training.Tally{}, fmt.Errorf("make %s: %w", dir, err)
	}
	for _, name := range []string{PairsName, ManifestName} { // leftovers of killed builds
		if err := atomicfile.Sweep(filepath.Join(dir, name)); err != nil {
			return training.Tally{}, err
		}
	}
	var tally training.Tally
	sum := sha256.New()
	err := atomicfile.Fill(filepath.Join(dir, PairsName), 0o644, func(w io.Writer) error {
		sum.Reset()
		var err error
		tally, err = To(ctx, s, o, io.MultiWriter(w, sum))
		return err
	})
	if err != nil {
		return tally, err
	}
	return tally, atomicfile.WriteJSON(filepath.Join(dir, ManifestName), Manifest{Format: 1, Repo: s.Name, License: s.License,
		SHA256: hex.EncodeToString(sum.Sum(nil)), Tally: tally}, 0o644)
}

// To writes the examples of a source as a stream, and returns the counts of all rows. After an error the output is
// incomplete.
func To(ctx context.Context, s Source, o Options, w io.Writer) (training.Tally, error) {
	b := newBuild(ctx, s, o, w)
	defer b.objects.Close()
	err := b.open(ctx)
	if err == nil {
		err = b.batches(ctx)
	}
	if err == nil {
		err = b.calls(ctx)
	}
	return b.tally, err
}
