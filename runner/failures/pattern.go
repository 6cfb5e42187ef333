// Package failures stores, across runs, how batches failed and what fixed them.
//
// The store is a JSON array in a file that people can read and edit: .runplan/logs/failure-patterns.json. Each
// change reads the file again under a lock, changes one row and replaces the file atomically. Unknown fields of a row
// are kept. An unreadable file is never overwritten: it is renamed, and a note reports that.
package failures

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
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

// FileName is the name of the file in the log folder.
const FileName = "failure-patterns.json"

// Store is the file with the failure patterns. Several processes may use it at the same time.
type Store struct {
	path string
	note func(string)
	told sync.Map // rows already noted; each brief reads the same file
}

// Open returns the store in the file at path, which need not exist. It sends warnings (a renamed file, an
// unreadable row) to note; nil drops them.
func Open(path string, note func(string)) *Store {
	if note == nil {
		note = func(string) {}
	}
	return &Store{path: path, note: note}
}

// row is a row of the file. An unreadable row is kept unchanged.
type row struct {
	Pattern
	raw json.RawMessage // content of an unreadable row
}

// MarshalJSON writes an unreadable row unchanged.
func (r row) MarshalJSON() ([]byte, error) {
	if r.raw != nil {
		return r.raw, nil
	}
	return r.Pattern.MarshalJSON()
}

// ErrBroken means that the file is not a JSON array.
var ErrBroken = errors.New("the file is not a JSON array of failure patterns")

// maxFile limits the bytes read. A row has a few hundred bytes.
const maxFile = 32 << 20

// parse reads the rows of the file. strange describes the unreadable ones.
func parse(data []byte) (rows []row, strange []string, err error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if raws == nil {
		return nil, nil, fmt.Errorf("%w: it is null", ErrBroken)
	}
	for i, raw := range raws {
		var p Pattern
		if err := p.UnmarshalJSON(raw); err != nil {
			rows = append(rows, row{raw: raw})
			strange = append(strange, fmt.Sprintf("row %d is invalid; it is kept and not used: %v", i+1, err))
			continue
		}
		rows = append(rows, row{Pattern: p})
	}
	return rows, strange, nil
}

func (s *Store) read() ([]row, error) {
	fi, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the failure patterns: %w", err)
	}
	if fi.Size() > maxFile {
		return nil, fmt.Errorf("read %s: %w: it has %d MiB, the limit is %d", s.path, ErrBroken, fi.Size()>>20, maxFile>>20)
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return nil, fmt.Errorf("read the failure patterns: %w", err)
	}
	rows, strange, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.path, err)
	}
	for _, text := range strange {
		if _, again := s.told.LoadOrStore(text, true); !again {
			s.note(s.path + ": " + text)
		}
	}
	return rows, nil
}

// Patterns returns all readable rows, in file order. It needs no lock, because writers replace the file atomically.
func (s *Store) Patterns() ([]Pattern, error) {
	rows, err := s.read()
	if err != nil {
		return nil, err
	}
	var out []Pattern
	for _, r := range rows {
		if r.raw == nil {
			out = append(out, r.Pattern)
		}
	}
	return out, nil
}

// Match returns the patterns whose similarity to title is at least threshold. It sorts them by similarity,
// frequency, title and type.
func (s *Store) Match(title string, threshold float64) ([]Pattern, error) {
	all, err := s.Patterns()
	if err != nil {
		return nil, err
	}
	mine := set(words(title))
	like := func(p Pattern) float64 { return similarity(mine, set(words(p.Title))) }
	all = slices.DeleteFunc(all, func(p Pattern) bool { l := like(p); return l == 0 || l < threshold })
	slices.SortStableFunc(all, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(like(b), like(a)), cmp.Compare(b.Frequency, a.Frequency), cmp.Compare(a.Title, b.Title),
			cmp.Compare(a.Type, b.Type))
	})
	return all, nil
}

// Origin links a row to its source. Empty fields leave the row unchanged.
type Origin struct {
	LessonID   string // FAIL-05
	FeedbackID string // FAIL-06
}

// Record counts a failure of a batch, in the row for its title and failure type or in a new row (FAIL-02).
func (s *Store) Record(title, failureType string, day time.Time, from Origin) error {
	pattern, kind := keyOf(title, failureType)
	if kind == "" {
		return nil
	}
	return s.change(func(rows []row) []row {
		i := find(rows, pattern, kind)
		if i < 0 {
			rows = append(rows, row{Pattern: Pattern{Title: pattern, Type: kind}})
			i = len(rows) - 1
		}
		rows[i].again(day.Format(time.DateOnly))
		rows[i].LessonID = cmp.Or(line(from.LessonID, maxType), rows[i].LessonID)
		rows[i].FeedbackID = cmp.Or(line(from.FeedbackID, maxType), rows[i].FeedbackID)
		return rows
	})
}

// Won stores the fix of a later attempt that passed (FAIL-03). It ignores a fix if the failure was never recorded.
func (s *Store) Won(title, failureType, fix string) error {
	pattern, kind := keyOf(title, failureType)
	fix = line(fix, maxFix)
	if kind == "" || fix == "" {
		return nil
	}
	return s.change(func(rows []row) []row {
		i := find(rows, pattern, kind)
		if i < 0 || rows[i].WinningFix == fix {
			return nil
		}
		rows[i].WinningFix = fix
		return rows
	})
}

// untitled replaces titles without significant words. It has no significant word itself, so it never matches.
const untitled = "batch"

func keyOf(title, failureType string) (pattern, kind string) {
	pattern = Generalise(title)
	for len([]rune(pattern)) > maxTitle {
		i := strings.LastIndexByte(pattern, ' ')
		if i < 0 {
			pattern = string([]rune(pattern)[:maxTitle])
			break
		}
		pattern = pattern[:i]
	}
	pattern = cmp.Or(pattern, untitled)
	return pattern, line(failureType, maxType)
}

// find returns the index of the row with the same words and failure type, or -1.
func find(rows []row, pattern, kind string) int {
	mine := set(words(pattern))
	return slices.IndexFunc(rows, func(r row) bool {
		return r.raw == nil && strings.EqualFold(r.Type, kind) && slices.Equal(set(words(r.Title)), mine)
	})
}

// change applies do to the rows under the file lock and writes the result. A nil result writes nothing.
func (s *Store) change(do func([]row) []row) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("write the failure patterns: %w", err)
	}
	unlock, err := atomicfile.Lock(s.path)
	if err != nil {
		return err
	}
	defer unlock()
	rows, err := s.read()
	if errors.Is(err, ErrBroken) {
		if err := s.setAside(err); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if rows = do(rows); rows == nil {
		return nil
	}
	return s.write(rows)
}

// Sweep removes temporary files of killed writers.
func (s *Store) Sweep() error { return atomicfile.SweepLocked(s.path) }

// setAside renames an unreadable file, so that its content is kept.
func (s *Store) setAside(why error) error {
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.broken-%d", s.path, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set the broken failure patterns aside: %w", err)
		}
		if err := os.Rename(s.path, to); err != nil {
			return fmt.Errorf("set the broken failure patterns aside: %w", err)
		}
		s.note(fmt.Sprintf("%v; it was renamed to %s, and a new file is started", why, filepath.Base(to)))
		return nil
	}
}

// write replaces the file atomically. The caller holds the lock.
func (s *Store) write(rows []row) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(append([]row{}, rows...)) // no rows are not null
	if err == nil {
		err = atomicfile.Write(s.path, b.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the failure patterns: %w", err)
	}
	return nil
}
