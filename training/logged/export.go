package logged

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/training"
)

// The files of a build.
const (
	PairsName    = "pairs.jsonl"
	ManifestName = "manifest.json"
)

// Manifest says what a file of examples is made of. It is written after the file: one whose sum is not that of the file
// belongs to an earlier build.
type Manifest struct {
	Format  int    `json:"format"` // 1
	Repo    string `json:"repo"`
	License string `json:"license"` // "" is unknown
	SHA256  string `json:"sha256"`  // of pairs.jsonl
	training.Tally
}

// Write builds the examples of a source into the folder dir: all of them, or none where the build fails.
func Write(ctx context.Context, s Source, o Options, dir string) (training.Tally, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return training.Tally{}, fmt.Errorf("make %s: %w", dir, err)
	}
	for _, name := range []string{PairsName, ManifestName} { // of builds that were killed
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
	m, err := json.MarshalIndent(Manifest{Format: 1, Repo: s.Name, License: s.License, SHA256: hex.EncodeToString(sum.Sum(nil)), Tally: tally}, "", "  ")
	if err != nil {
		return tally, err
	}
	return tally, atomicfile.Write(filepath.Join(dir, ManifestName), append(m, '\n'), 0o644)
}

// To writes the examples of a source as they come. Where the build fails, what was written is not whole.
func To(ctx context.Context, s Source, o Options, w io.Writer) (training.Tally, error) {
	return Build(ctx, s, o, func(e training.Example) error {
		line, err := e.Encode()
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
}
