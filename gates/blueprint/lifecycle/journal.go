package lifecycle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/rooted"
)

// Entry is one line of the journal of blueprints.
type Entry struct {
	At   time.Time `json:"at"`
	Unit string    `json:"unit"`
	Kind string    `json:"kind"` // review, promotion, queue, generation or maintenance
	Text string    `json:"text"`
}

func journalFile() string { return path.Join(blueprint.Folder, "journal", "journal.jsonl") }

// Note adds a line to the journal. It writes the line in one piece, so that concurrent writers do not mix.
func Note(root string, e Entry) error {
	e.At = e.At.UTC().Truncate(time.Second)
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := appendBelow(root, journalFile(), append(text, '\n')); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

func appendBelow(root, name string, text []byte) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := dir.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Journal reads all entries, in order. An unreadable line is an error with its number.
func Journal(root string) ([]Entry, error) {
	raw, err := rooted.Read(root, journalFile(), 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	var out []Entry
	s := bufio.NewScanner(bytes.NewReader(raw))
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		var e Entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", journalFile(), n, err)
		}
		out = append(out, e)
	}
	return out, s.Err()
}
