// Package failures stores, across runs, how batches failed and what fixed them.
//
// The store is a JSON array in a file that people can read and edit: .runplan/logs/failure-patterns.json. Each
// change reads the file again under a lock, changes one row and replaces the file atomically. Unknown fields of a row
// are kept. An unreadable file is never overwritten: it is renamed, and a note reports that.
package failures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
)

// Pattern is one row: a failure type of batches with similar titles.
type Pattern struct {
	Title      string // the common words of their titles, see [Generalise]
	Type       string // the failure type, see [TypeOf]
	Frequency  int    // number of occurrences
	LastSeen   string // day of the last time, YYYY-MM-DD
	WinningFix string // what a later passed attempt did; "" if unknown
	LessonID   string // lesson with more details
	FeedbackID string // feedback that the row comes from

	more map[string]json.RawMessage // unknown fields of the row
}

// field is a known field, with its name in the file.
type field struct {
	name  string
	value any  // pointer to it
	omit  bool // from the file
}

// fields lists the known fields in their order in the file (FAIL-01, FAIL-05, C-31).
func (p *Pattern) fields() []field {
	return []field{
		{"batch_title_pattern", &p.Title, false}, {"failure_type", &p.Type, false}, {"frequency", &p.Frequency, false},
		{"last_seen", &p.LastSeen, false}, {"winning_fix", &p.WinningFix, false},
		{"lesson_id", &p.LessonID, p.LessonID == ""}, {"feedback_id", &p.FeedbackID, p.FeedbackID == ""},
	}
}

// MarshalJSON writes the known fields in their order, and then the others sorted by name.
func (p Pattern) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	put := func(name string, value []byte) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(plainJSON(name))
		b.WriteByte(':')
		b.Write(value)
	}
	for _, f := range p.fields() {
		if !f.omit {
			put(f.name, plainJSON(f.value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.more)) {
		put(name, p.more[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plainJSON encodes a string or a number, and leaves < and > readable.
func plainJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null") // strings and integers can always be encoded
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// UnmarshalJSON reads a row. Fields of the wrong kind make it an error.
func (p *Pattern) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if fields == nil {
		return errors.New("null is not a failure pattern")
	}
	*p = Pattern{}
	for _, f := range p.fields() {
		raw, ok := fields[f.name]
		if !ok {
			continue
		}
		delete(fields, f.name)
		if err := json.Unmarshal(raw, f.value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	switch {
	case p.Title == "" || p.Type == "":
		return errors.New("a row needs batch_title_pattern and failure_type")
	case p.Frequency < 0:
		return fmt.Errorf("frequency is %d", p.Frequency)
	}
	if len(fields) > 0 {
		p.more = fields
	}
	return nil
}

func (p *Pattern) again(day string) {
	if p.Frequency < math.MaxInt {
		p.Frequency++
	}
	if day > p.LastSeen { // days of this form sort as they follow each other
		p.LastSeen = day
	}
}

// Warning formats a matching pattern for the brief of a batch, in one line.
func Warning(p Pattern) string {
	var b strings.Builder
	fmt.Fprintf(&b, "batches like %q failed with %q, ", line(p.Title, maxTitle), line(p.Type, maxType))
	if p.Frequency == 1 {
		b.WriteString("once")
	} else {
		fmt.Fprintf(&b, "%d times", p.Frequency)
	}
	if p.LastSeen != "" {
		b.WriteString(", last on " + line(p.LastSeen, len("2006-01-02")))
	}
	if p.WinningFix != "" {
		b.WriteString("; then this passed: " + line(p.WinningFix, maxFix))
	}
	if p.LessonID != "" {
		b.WriteString(" (lesson " + line(p.LessonID, maxType) + ")")
	}
	return b.String()
}

// The maximum lengths of the texts in a row, in characters.
const (
	maxTitle = 200
	maxType  = 80
	maxFix   = 300
)

// line makes one line of at most n characters, without control codes.
func line(text string, n int) string {
	text = phrase.Line(redact.Clean(text))
	if r := []rune(text); len(r) > n {
		return strings.TrimRight(string(r[:n-1]), " ") + "…"
	}
	return text
}
