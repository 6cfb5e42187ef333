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
	"github.com/runplan/runplan/internal/lists"
)

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
	mine := lists.Unique(words(title))
	like := func(p Pattern) float64 { return similarity(mine, lists.Unique(words(p.Title))) }
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
	mine := lists.Unique(words(pattern))
	return slices.IndexFunc(rows, func(r row) bool {
		return r.raw == nil && strings.EqualFold(r.Type, kind) && slices.Equal(lists.Unique(words(r.Title)), mine)
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
