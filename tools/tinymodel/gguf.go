package tinymodel

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The numbers that GGUF version 3 has for the kinds of values used here.
const (
	ggufVersion = 3
	kindUint32  = 4
	kindInt32   = 5
	kindFloat32 = 6
	kindBool    = 7
	kindString  = 8
	kindArray   = 9
	tensorF32   = 0
	alignment   = 32 // of each tensor's data, in bytes
)

// field is one entry of a file's metadata.
type field struct {
	key   string
	value any // string, bool, uint32, float32, []string or []int32
}

// tensor is a matrix of out rows with in numbers each; a vector has no rows (out 0).
type tensor struct {
	name    string
	in, out int
	data    []float32
}

func (t tensor) row(i int) []float32 { return t.data[i*t.in : (i+1)*t.in] }

func newTensor(name string, in, out int) tensor {
	return tensor{name, in, out, make([]float32, in*max(out, 1))}
}

// writeGGUF writes a file: header, metadata, the table of tensors, and their numbers.
func writeGGUF(w io.Writer, fields []field, tensors []tensor) error {
	b := buffer("GGUF")
	b.uint32(ggufVersion)
	b.uint64(len(tensors))
	b.uint64(len(fields))
	for _, f := range fields {
		b.string(f.key)
		if err := b.value(f.value); err != nil {
			return fmt.Errorf("write GGUF: %s: %w", f.key, err)
		}
	}
	at := 0
	for _, t := range tensors {
		b.string(t.name)
		if t.out == 0 {
			b.uint32(1)
			b.uint64(t.in)
		} else { // the dimension that is contiguous comes first
			b.uint32(2)
			b.uint64(t.in)
			b.uint64(t.out)
		}
		b.uint32(tensorF32)
		b.uint64(at)
		at = aligned(at + 4*len(t.data))
	}
	b.pad()
	for _, t := range tensors {
		for _, x := range t.data {
			b.uint32(math.Float32bits(x))
		}
		b.pad()
	}
	_, err := w.Write(b)
	return err
}

func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

type buffer []byte

func (b *buffer) uint32(v uint32) { *b = binary.LittleEndian.AppendUint32(*b, v) }
func (b *buffer) uint64(v int)    { *b = binary.LittleEndian.AppendUint64(*b, uint64(v)) }
func (b *buffer) pad()            { *b = append(*b, make([]byte, aligned(len(*b))-len(*b))...) }

func (b *buffer) string(s string) {
	b.uint64(len(s))
	*b = append(*b, s...)
}

func (b *buffer) value(v any) error {
	switch v := v.(type) {
	case string:
		b.uint32(kindString)
		b.string(v)
	case bool:
		b.uint32(kindBool)
		if v {
			*b = append(*b, 1)
		} else {
			*b = append(*b, 0)
		}
	case uint32:
		b.uint32(kindUint32)
		b.uint32(v)
	case float32:
		b.uint32(kindFloat32)
		b.uint32(math.Float32bits(v))
	case []string:
		b.array(kindString, len(v))
		for _, s := range v {
			b.string(s)
		}
	case []int32:
		b.array(kindInt32, len(v))
		for _, n := range v {
			b.uint32(uint32(n))
		}
	default:
		return fmt.Errorf("a %T cannot be written", v)
	}
	return nil
}

func (b *buffer) array(kind uint32, length int) {
	b.uint32(kindArray)
	b.uint32(kind)
	b.uint64(length)
}
