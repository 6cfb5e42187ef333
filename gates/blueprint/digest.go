package blueprint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/rooted"
)

// digestOf returns a digest of a blueprint that ignores open questions, layout and comments.
func digestOf(b *Blueprint) string {
	c := *b
	c.Intent.OpenQuestions = nil
	return checksum.SHA256(c.YAML())
}

// Digest identifies the content of a blueprint without its open questions, layout and comments.
func (b *Blueprint) Digest() string { return digestOf(b) }

// SourcesDigest returns a digest of the source files. Missing files are part of it.
func SourcesDigest(root string, b *Blueprint) (string, error) {
	sum := sha256.New()
	for _, p := range slices.Sorted(slices.Values(b.Paths())) {
		text, err := rooted.Read(root, p, MaxSource)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(sum, "%q missing\n", p)
		case err != nil:
			return "", fmt.Errorf("read %s: %w", p, err)
		default:
			fmt.Fprintf(sum, "%q %s\n", p, checksum.SHA256(text))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
