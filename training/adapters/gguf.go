package adapters

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// Info holds the metadata of an adapter file.
type Info struct {
	Architecture string  `json:"architecture"` // architecture of the base models
	Alpha        float64 `json:"alpha"`
	Rank         int     `json:"rank"`    // largest rank of its matrix pairs
	Targets      int     `json:"targets"` // number of changed matrices
}

// FileError reports a file that is not a usable adapter.
type FileError struct{ File, Why string }

func (e *FileError) Error() string { return fmt.Sprintf("the adapter %s: %s", e.File, e.Why) }

// Limits for reading the header of a file.
const (
	mostEntries = 1 << 16 // metadata fields or tensors
	mostKey     = 1 << 16 // bytes
	mostText    = 1 << 20 // bytes
)

// Inspect reads a GGUF adapter file and checks it: format, type, tensors without their pair, incompatible shapes, and
// NaN or infinite values. Only the server can tell whether it fits a model.
func Inspect(file string) (Info, error) {
	f, err := os.Open(file)
	if err != nil {
		return Info{}, fmt.Errorf("read the adapter: %w", err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return Info{}, fmt.Errorf("read the adapter: %w", err)
	}
	if !stat.Mode().IsRegular() {
		return Info{}, &FileError{file, "it is not a regular file"}
	}
	info, err := inspect(f, stat.Size())
	if err != nil {
		return info, &FileError{file, err.Error()}
	}
	return info, nil
}

// reader reads a GGUF file from the start and keeps the first error.
type reader struct {
	r    *bufio.Reader
	at   int64
	size int64
	err  error
}

// has reports whether the file has n more bytes, and moves the position behind them.
func (r *reader) has(n int64) bool {
	if r.err == nil && (n < 0 || n > r.size-r.at) {
		r.err = errors.New("it ends in the middle")
	}
	if r.err == nil {
		r.at += n
	}
	return r.err == nil
}

func (r *reader) bytes(n int) []byte {
	if !r.has(int64(n)) {
		return nil
	}
	b := make([]byte, n)
	_, r.err = io.ReadFull(r.r, b)
	return b
}

func (r *reader) skip(n int64) {
	if r.has(n) {
		_, r.err = io.CopyN(io.Discard, r.r, n)
	}
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) text(most int) string {
	n := r.u64()
	if r.err == nil && n > uint64(most) {
		r.err = fmt.Errorf("a text in it claims to have %d bytes", n)
	}
	return string(r.bytes(int(n)))
}

// GGUF value types.
const (
	kindFloat32 = 6
	kindString  = 8
	kindArray   = 9
)

// width returns the size of a fixed-size type in bytes.
func width(kind uint32) int64 {
	switch kind {
	case 0, 1, 7:
		return 1
	case 2, 3:
		return 2
	case 4, 5, kindFloat32:
		return 4
	case 10, 11, 12:
		return 8
	}
	return 0
}

// value reads one value. It returns strings and 32-bit numbers and skips all others.
func (r *reader) value(kind uint32) any {
	switch {
	case kind == kindString:
		return r.text(mostText)
	case kind == kindFloat32:
		return float64(math.Float32frombits(r.u32()))
	case kind == 4:
		return r.u32()
	case kind == kindArray:
		of, n := r.u32(), r.u64()
		switch w := width(of); {
		case w > 0 && n <= uint64(r.size):
			r.skip(int64(n) * w)
		case of == kindString && n <= uint64(r.size):
			for i := uint64(0); i < n && r.err == nil; i++ {
				r.skip(int64(min(r.u64(), uint64(r.size))))
			}
		case r.err == nil:
			r.err = fmt.Errorf("it has a list of kind %d that claims %d entries", of, n)
		}
		return nil
	case width(kind) > 0:
		r.skip(width(kind))
		return nil
	}
	if r.err == nil {
		r.err = fmt.Errorf("it has a value of the unknown kind %d", kind)
	}
	return nil
}

// matrix is an entry of the tensor table. in is the contiguous dimension.
type matrix struct {
	name    string
	in, out uint64
	kind    uint32
	offset  uint64
}

func inspect(f io.ReaderAt, size int64) (Info, error) {
	r := &reader{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 64<<10), size: size}
	if magic := r.bytes(4); string(magic) != "GGUF" {
		return Info{}, errors.New(
			"it is not a GGUF file; convert the output of your trainer, for example with convert_lora_to_gguf.py of llama.cpp")
	}
	if v := r.u32(); r.err == nil && v != 2 && v != 3 {
		return Info{}, fmt.Errorf("it has GGUF version %d; versions 2 and 3 are supported", v)
	}
	tensors, fields := r.u64(), r.u64()
	if r.err == nil && (tensors > mostEntries || fields > mostEntries) {
		return Info{}, fmt.Errorf("it claims to have %d tensors and %d fields", tensors, fields)
	}
	known := map[string]any{}
	for i := uint64(0); i < fields && r.err == nil; i++ {
		key := r.text(mostKey)
		v := r.value(r.u32())
		switch key {
		case "general.architecture", "general.type", "adapter.type", "adapter.lora.alpha", "general.alignment":
			known[key] = v
		}
	}
	list := make([]matrix, 0, min(tensors, 1024))
	for i := uint64(0); i < tensors && r.err == nil; i++ {
		m, err := r.matrix()
		if err != nil {
			return Info{}, err
		}
		list = append(list, m)
	}
	if r.err != nil {
		return Info{}, r.err
	}
	info, err := judge(known, list)
	if err != nil {
		return info, err
	}
	align := int64(32)
	if a, ok := known["general.alignment"].(uint32); ok && a > 0 && a <= 1<<20 {
		align = int64(a)
	}
	return info, finite(f, (r.at+align-1)/align*align, size, list)
}

func (r *reader) matrix() (matrix, error) {
	m := matrix{name: r.text(mostKey), in: 1, out: 1}
	dims := r.u32()
	if r.err == nil && (dims < 1 || dims > 4) {
		return m, fmt.Errorf("tensor %.80q has %d dimensions", m.name, dims)
	}
	for d := range dims {
		n := r.u64()
		switch {
		case r.err != nil:
		case n == 0 || n > 1<<32:
			return m, fmt.Errorf("tensor %.80q has a dimension of %d", m.name, n)
		case d == 0:
			m.in = n
		case d == 1:
			m.out = n
		case n != 1:
			return m, fmt.Errorf("tensor %.80q is not a matrix", m.name)
		}
	}
	m.kind, m.offset = r.u32(), r.u64()
	return m, r.err
}

// judge checks that the metadata describes a LoRA and that each matrix has its pair.
func judge(known map[string]any, list []matrix) (Info, error) {
	var info Info
	info.Architecture, _ = known["general.architecture"].(string)
	kind, _ := known["general.type"].(string)
	form, _ := known["adapter.type"].(string)
	alpha, hasAlpha := known["adapter.lora.alpha"].(float64)
	info.Alpha = alpha
	switch {
	case kind != "adapter":
		return info, fmt.Errorf("its type is %q, not adapter", kind)
	case form != "lora":
		return info, fmt.Errorf("its adapter type is %q; only lora is supported", form)
	case info.Architecture == "":
		return info, errors.New("it does not name its architecture")
	case !hasAlpha || math.IsNaN(alpha) || math.IsInf(alpha, 0):
		return info, errors.New("adapter.lora.alpha is missing or not a number")
	case len(list) == 0:
		return info, errors.New("it has no tensors, so it would change nothing")
	}
	down, up := map[string]matrix{}, map[string]matrix{}
	for _, m := range list {
		half, into := m.name, down
		target, ok := strings.CutSuffix(half, ".lora_a")
		if !ok {
			target, ok = strings.CutSuffix(half, ".lora_b")
			into = up
		}
		if _, twice := into[target]; !ok || twice {
			return info, fmt.Errorf("tensor %.80q is neither lora_a nor lora_b, or is repeated", m.name)
		}
		into[target] = m
	}
	for _, m := range list { // file order, so that the first error is always the same
		target, isDown := strings.CutSuffix(m.name, ".lora_a")
		if !isDown {
			if _, ok := down[strings.TrimSuffix(m.name, ".lora_b")]; !ok {
				return info, fmt.Errorf("tensor %.80q has no lora_a", m.name)
			}
			continue
		}
		b, ok := up[target]
		rank := b.in
		switch {
		case !ok:
			return info, fmt.Errorf("tensor %.80q has no lora_b", m.name)
		case strings.HasPrefix(target, "token_embd."): // its lora_a is transposed
			if m.in != rank {
				return info, fmt.Errorf("the two matrices for %.80q cannot be multiplied: rank %d and %d", target, m.in, rank)
			}
		case m.out != rank:
			return info, fmt.Errorf("the two matrices for %.80q cannot be multiplied: rank %d and %d", target, m.out, rank)
		}
		if rank > 1<<16 {
			return info, fmt.Errorf("the matrices for %.80q have rank %d", target, rank)
		}
		info.Rank = max(info.Rank, int(rank))
	}
	info.Targets = len(down)
	return info, nil
}
