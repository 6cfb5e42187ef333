package sampling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lists"
)

// ErrBroken reports that the file of outcomes is unreadable. It is never overwritten, because its content may be
// valuable.
var ErrBroken = errors.New("the file of sampling outcomes is broken")

// Store is a file of outcomes: one JSON array, in the order in which they came. Several processes may add to it at
// the same time. Rows are kept byte by byte, including fields of later versions.
type Store struct{ Path string }

// Read returns all outcomes. A missing file has none.
func (s Store) Read() ([]Outcome, error) {
	_, out, err := s.load()
	return out, err
}

// load returns the raw rows and the parsed rows.
func (s Store) load() ([]json.RawMessage, []Outcome, error) {
	data, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read sampling outcomes: %w", err)
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil || rows == nil {
		if err == nil {
			err = errors.New("it is null, not an array")
		}
		return nil, nil, s.broken(err)
	}
	out := make([]Outcome, len(rows))
	for i, row := range rows {
		err := json.Unmarshal(row, &out[i])
		if err == nil {
			err = out[i].check()
		}
		if err != nil {
			return nil, nil, s.broken(fmt.Errorf("row %d: %w", i+1, err))
		}
	}
	return rows, out, nil
}

func (s Store) broken(err error) error {
	return fmt.Errorf("%w: %s: %w; correct it, or move it away to start again", ErrBroken, s.Path, err)
}

// Append adds outcomes. It skips candidates that are already in the file, so it may be called again after a crash.
// The file is replaced in one step: a reader sees all of them or none.
func (s Store) Append(outcomes ...Outcome) error {
	for i := range outcomes {
		if err := outcomes[i].check(); err != nil {
			return fmt.Errorf("add to %s: %w", s.Path, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		return fmt.Errorf("add sampling outcomes: %w", err)
	}
	unlock, err := atomicfile.Lock(s.Path)
	if err != nil {
		return err
	}
	defer unlock()
	rows, known, err := s.load()
	if err != nil {
		return err
	}
	there := lists.SetBy(known, Outcome.key)
	before := len(rows)
	for _, o := range outcomes {
		k := o.key()
		if k != "" && there[k] {
			continue
		}
		there[k] = true
		o.Timestamp = o.Timestamp.UTC().Truncate(time.Second)
		row, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("add to %s: %w", s.Path, err)
		}
		rows = append(rows, row)
	}
	if len(rows) == before {
		return nil
	}
	return s.write(rows)
}

// Sweep removes temporary files of killed writers.
func (s Store) Sweep() error { return atomicfile.SweepLocked(s.Path) }

// write puts one row on each line, so that a person and a diff can read the file.
func (s Store) write(rows []json.RawMessage) error {
	var b bytes.Buffer
	for i, row := range rows {
		b.WriteString([]string{",\n", "[\n"}[max(0, 1-i)])
		b.Write(row)
	}
	b.WriteString("\n]\n")
	if err := atomicfile.Write(s.Path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write sampling outcomes: %w", err)
	}
	return nil
}
