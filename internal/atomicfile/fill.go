package atomicfile

import (
	"bufio"
	"io"
	"io/fs"
	"os"
)

// Fill is [Write] for what is made while it is written, and is too large to hold. fill may be called again, where somebody
// swept its file away meanwhile; it then begins anew. An error of fill leaves the old file as it was.
func Fill(path string, perm fs.FileMode, fill func(io.Writer) error) error {
	return replace(path, nameFor(path), perm, true, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 256<<10)
		if err := fill(w); err != nil {
			return err
		}
		return w.Flush()
	})
}
