package lessons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
	"github.com/runplan/runplan/internal/redact"
)

// Options configures a [Scanner].
type Options struct {
	AnyLanguage bool // try each lesson on every file, in any language
	Foreign     bool // also scan files in folders of third-party code if a list names them
}

// Scanner scans for syntactic lessons. It is safe for concurrent use.
type Scanner struct {
	options  Options
	workers  int   // files at a time
	maxSize  int64 // larger files are skipped
	detector detector
	sets     map[string]func() *ruleSet // by language, each created at first use; "" for text of an unknown kind
	redactor *redact.Redactor
	secrets  *regexp.Regexp  // values with a secret-sounding name, in any form
	known    map[string]bool // ids of all lessons
}

// NewScanner prepares the lessons with a regular expression whose hits have a level.
func NewScanner(lessons []*Lesson, o Options) (*Scanner, error) {
	s := &Scanner{
		options: o, workers: runtime.GOMAXPROCS(0), maxSize: 16 << 20, detector: newDetector(),
		sets: map[string]func() *ruleSet{}, redactor: redact.New(nil),
		known:   map[string]bool{},
		secrets: regexp.MustCompile(`(?i)((?:key|secret|token|passwd|password)\w*["']?\s*(?::=|[:=])\s*["'])[^"']{6,}`),
	}
	var rules []*rule
	for _, l := range lessons {
		s.known[l.ID] = true
		if l.Pattern.Type != Syntactic || l.Severity.Level() == None {
			continue
		}
		r, err := compile(l)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	for _, lang := range append(Languages(), "") {
		s.sets[lang] = sync.OnceValue(func() *ruleSet {
			its := lists.Filter(rules, func(r *rule) bool { return o.AnyLanguage || r.lesson.AppliesTo(lang) })
			return newRuleSet(its)
		})
	}
	return s, nil
}

// Source scans one text as if it were the file at path.
func (s *Scanner) Source(path string, src []byte) Result {
	buf := make([]byte, len(src), len(src)+literal.Pad)
	copy(buf, src)
	var w worker
	w.scanner = s
	w.look(path, buf)
	w.result.sort()
	return w.result
}

// Scan applies the lessons to files of dir; their paths are relative to it, with slashes. The error names a file that
// could not be read; then the result is not valid. A missing file is skipped.
func (s *Scanner) Scan(ctx context.Context, dir string, files []string) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	folders := map[Skip]int{}
	files = slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		folder := language.Outermost(f, func(name string) bool { return language.NoCode(name) != "" })
		if folder == "" || s.options.Foreign {
			return false
		}
		folders[Skip{folder, language.NoCode(path.Base(folder))}]++
		return true
	})
	var sum Result
	var mu sync.Mutex
	var group sync.WaitGroup
	var next atomic.Int64
	for range s.workers {
		group.Go(func() {
			w := worker{scanner: s}
			for n := int(next.Add(1)) - 1; n < len(files) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				if err := w.file(dir, files[n]); err != nil {
					cancel(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Add(w.result)
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	for skip, n := range folders {
		sum.Skipped = append(sum.Skipped, Skip{skip.Path, fmt.Sprintf("%s, %d file(s)", skip.Reason, n)})
	}
	sum.sort()
	return sum, nil
}

// worker scans files one by one and reuses its buffers.
type worker struct {
	scanner *Scanner
	buf     []byte
	search  search
	result  Result
}

func (w *worker) skip(path, reason string) {
	w.result.Skipped = append(w.result.Skipped, Skip{path, reason})
}

func (w *worker) file(dir, path string) error {
	name := filepath.Join(dir, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.skip(path, "does not exist")
		return nil
	case err != nil:
		return fmt.Errorf("read the state of %s: %w", path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		w.skip(path, "symbolic link")
		return nil
	case !info.Mode().IsRegular():
		w.skip(path, "not a regular file")
		return nil
	case info.Size() > w.scanner.maxSize:
		w.skip(path, fmt.Sprintf("%d MiB, more than the %d that are checked", info.Size()>>20, w.scanner.maxSize>>20))
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", path, err)
	}
	defer f.Close()
	text, err := w.read(f, int(info.Size()))
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", path, err)
	}
	w.look(path, text)
	return nil
}

// read reads a file into the worker's buffer with padding after it.
func (w *worker) read(f *os.File, size int) ([]byte, error) {
	w.buf = slices.Grow(w.buf[:0], size+1+literal.Pad)
	for {
		n, err := f.Read(w.buf[len(w.buf) : cap(w.buf)-literal.Pad])
		w.buf = w.buf[:len(w.buf)+n]
		if errors.Is(err, io.EOF) {
			return w.buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(w.buf) >= cap(w.buf)-literal.Pad {
			w.buf = slices.Grow(w.buf, len(w.buf)+literal.Pad)
		}
	}
}

// look searches a text, which has [literal.Pad] bytes of capacity after its end.
func (w *worker) look(path string, text []byte) {
	if why := notText(text); why != "" {
		w.skip(path, why)
		return
	}
	lang := w.scanner.detector.byName(path)
	if lang == "" {
		lang = w.scanner.detector.byShebang(text)
	}
	set := w.scanner.sets[lang]()
	text = dropCR(bytes.TrimPrefix(text, []byte("\ufeff")))
	clear(text[len(text) : len(text)+literal.Pad])
	w.search.run(set, text)
	if len(w.search.places)+len(w.search.marks) > 0 {
		if language.ByProgram(path, string(text[:min(len(text), 2<<10)])) {
			w.skip(path, fmt.Sprintf("generated, with %d place(s) that were not judged", len(w.search.places)))
			return
		}
		w.report(path, lang, text, set)
	}
	w.result.Files++
	w.result.Bytes += int64(len(text))
}
