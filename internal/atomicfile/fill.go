package atomicfile

import (
	"bufio"
	"io"
	"io/fs"
	"os"
)

// Fill is [Write] for generated content too large for memory. If another process sweeps the temporary file away, fill
// is called again and starts from the beginning. An error of fill leaves the old file unchanged.
func Fill(path string, perm fs.FileMode, fill func(io.Writer) error) error {
	return replace(path, nameFor(path), perm, true, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 256<<10)
		if err := fill(w); err != nil {
			return err
		}
		return w.Flush()
	})
}
