package adapters

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Number formats that can be checked one by one.
const (
	weightF32  = 0
	weightF16  = 1
	weightBF16 = 30
)

// finite checks that each tensor lies within the file and has no NaN or infinite values. A diverged training produces
// such values, and the model then answers nonsense without an error. Quantised tensors are not checked.
func finite(f io.ReaderAt, begin, size int64, list []matrix) error {
	for _, m := range list {
		n := m.in * m.out
		if m.in > 1<<40/m.out {
			return fmt.Errorf("tensor %.80q claims to have %d times %d numbers", m.name, m.in, m.out)
		}
		bytes := int64(0) // unknown for a quantised tensor
		switch m.kind {
		case weightF32:
			bytes = int64(n) * 4
		case weightF16, weightBF16:
			bytes = int64(n) * 2
		}
		if m.offset > uint64(size) || begin+int64(m.offset) > size || bytes > size-begin-int64(m.offset) {
			return fmt.Errorf("the numbers of tensor %.80q are not in the file: it is cut off", m.name)
		}
		if bytes == 0 {
			continue
		}
		if err := numbers(io.NewSectionReader(f, begin+int64(m.offset), bytes), m.kind); err != nil {
			return fmt.Errorf("tensor %.80q: %w", m.name, err)
		}
	}
	return nil
}

var errNotFinite = errors.New("the weights contain NaN or infinity: the training diverged")

func numbers(r io.Reader, kind uint32) error {
	in := bufio.NewReaderSize(r, 64<<10)
	b := make([]byte, 4)
	if kind != weightF32 {
		b = b[:2]
	}
	for {
		if _, err := io.ReadFull(in, b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		bad := false
		switch kind {
		case weightF32:
			x := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
			bad = math.IsNaN(x) || math.IsInf(x, 0)
		case weightF16:
			bad = binary.LittleEndian.Uint16(b)&0x7c00 == 0x7c00 // all exponent bits are set
		case weightBF16:
			bad = binary.LittleEndian.Uint16(b)&0x7f80 == 0x7f80
		}
		if bad {
			return errNotFinite
		}
	}
}
