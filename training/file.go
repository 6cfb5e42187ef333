package training

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/runplan/runplan/internal/jsondoc"
)

// maxLine is the highest length of a line of examples, in bytes.
const maxLine = 32 << 20

// Read yields the examples of r and checks each. name is the file's name in errors, which also contain the line.
func Read(name string, r io.Reader) iter.Seq2[Example, error] {
	return func(yield func(Example, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for s.Scan() {
			n++
			if len(bytes.TrimSpace(s.Bytes())) == 0 {
				continue
			}
			e, err := decode(s.Bytes())
			if err != nil {
				err = fmt.Errorf("%s:%d: %w", name, n, err)
			}
			if !yield(e, err) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(Example{}, fmt.Errorf("%s:%d: %w", name, n+1, err))
		}
	}
}

// ReadFile yields the examples of a file as [Read] does.
func ReadFile(path string) iter.Seq2[Example, error] {
	return func(yield func(Example, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Example{}, err)
			return
		}
		defer f.Close()
		Read(path, f)(yield)
	}
}

func decode(line []byte) (Example, error) {
	var e Example
	if err := jsondoc.Decode(line, &e); err != nil {
		return Example{}, fmt.Errorf("not an example: %w", err)
	}
	return e, e.Check()
}
