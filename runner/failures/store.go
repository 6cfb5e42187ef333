package failures

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
)

// FileName is the name of the file, in the folder for logs.
const FileName = "failure-patterns.json"

// Store is the file with the patterns. Several processes may have it open at once.
type Store struct {
	path string
	note func(string)
	told sync.Map // rows that were told of; a brief after the other reads the same file
}

// Open returns the store in the file at path, which need not be there. What is worth knowing and is no error (a file
// that was set aside, a row that cannot be read) is told to note; nil tells nobody.
func Open(path string, note func(string)) *Store {
	if note == nil {
		note = func(string) {}
	}
	return &Store{path: path, note: note}
}

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// row is a row of the file. One that cannot be read is kept as it is.
type row struct {
	Pattern
	raw json.RawMessage // of a row that is not understood
}

// MarshalJSON writes a row that was not understood as it was.
func (r row) MarshalJSON() ([]byte, error) {
	if r.raw != nil {
		return r.raw, nil
	}
	return r.Pattern.MarshalJSON()
}

// ErrBroken says that the file is not an array of JSON.
var ErrBroken = errors.New("the file is not a JSON array of failure patterns")

// maxFile bounds what is read. A row is some hundred bytes.
const maxFile = 32 << 20

// parse reads the file. strange tells which rows it does not understand.
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
			strange = append(strange, fmt.Sprintf("row %d is kept and not used: %v", i+1, err))
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
		return nil, fmt.Errorf("read %s: %w: it has %d MiB, at most %d are read", s.path, ErrBroken, fi.Size()>>20, maxFile>>20)
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

// Patterns returns all rows that can be read, in the order of the file. It takes no lock: a reader sees the file as it
// was before a change or after it.
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

// Match returns the patterns that a batch of this title is like, at least as much as threshold says: the most alike
// first, of these the most frequent, then by title and type.
func (s *Store) Match(title string, threshold float64) ([]Pattern, error) {
	all, err := s.Patterns()
	if err != nil {
		return nil, err
	}
	mine := set(words(title))
	like := func(p Pattern) float64 { return similarity(mine, set(words(p.Title))) }
	all = slices.DeleteFunc(all, func(p Pattern) bool { l := like(p); return l == 0 || l < threshold })
	slices.SortStableFunc(all, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(like(b), like(a)), cmp.Compare(b.Frequency, a.Frequency), cmp.Compare(a.Title, b.Title), cmp.Compare(a.Type, b.Type))
	})
	return all, nil
}

// Record counts a failure of a batch: in the row for such titles and such failures, or in a new one (FAIL-02).
func (s *Store) Record(title, failureType string, day time.Time) error {
	return s.RecordFrom(title, failureType, day, Origin{})
}

// Origin says where a row comes from, or what tells more of it. What is empty leaves the row as it is.
type Origin struct {
	LessonID   string // FAIL-05
	FeedbackID string // FAIL-06
}

// RecordFrom is [Store.Record] for a failure that is known from elsewhere too.
func (s *Store) RecordFrom(title, failureType string, day time.Time, from Origin) error {
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

// Won keeps what a later attempt did that passed (FAIL-03). A fix for what was never recorded is not kept: nothing is
// known that it could have put right.
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

// untitled stands for titles that say nothing of the work. It has no words that count, so that nothing matches it.
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
	if pattern == "" {
		pattern = untitled
	}
	return pattern, line(failureType, maxType)
}

// find returns the index of the row with the same words and the same failure, -1 without one.
func find(rows []row, pattern, kind string) int {
	mine := set(words(pattern))
	return slices.IndexFunc(rows, func(r row) bool {
		return r.raw == nil && strings.EqualFold(r.Type, kind) && slices.Equal(set(words(r.Title)), mine)
	})
}

// change reads the file under the lock, has it changed and writes it. A nil result writes nothing.
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

// Sweep removes what writers that were killed left beside the file.
func (s *Store) Sweep() error { return atomicfile.SweepLocked(s.path) }

// setAside gives a file that cannot be read another name, so that nothing of it is lost.
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
		s.note(fmt.Sprintf("%v; it was set aside as %s, and a new one begins", why, filepath.Base(to)))
		return nil
	}
}

// write replaces the file in one step. The lock is held.
func (s *Store) write(rows []row) error {
	data := []byte("[\n")
	for i, r := range rows {
		raw, err := r.MarshalJSON()
		if err != nil {
			return fmt.Errorf("write the failure patterns: %w", err)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, raw, "  ", "  "); err != nil {
			return fmt.Errorf("write the failure patterns: %w", err)
		}
		data = append(append(data, "  "...), b.Bytes()...)
		if i < len(rows)-1 {
			data = append(data, ',')
		}
		data = append(data, '\n')
	}
	data = append(data, "]\n"...)
	if err := atomicfile.Write(s.path, data, 0o644); err != nil {
		return fmt.Errorf("write the failure patterns: %w", err)
	}
	return nil
}
