package retrieve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
)

// Limits for files in a prompt. Larger ones are generated and would fill the window.
const (
	maxSource = 2 << 20
	maxLine   = 4_000
)

// tree reads the files of a working tree and caches them.
type tree struct {
	dir     string
	environ []string
	program patterns.Program

	sources map[string]*source
	listed  []string // files that git does not ignore; nil: not listed yet
	moved   []string // files that differ in the commit that is read instead of the folder, sorted
}

// source is a file in its present state.
type source struct {
	path  string
	hash  string   // hash of its bytes, as in the index
	text  string   // as prepared for the parser
	lines []string // without line ends
	bytes []byte
	copy  bool   // text differs from the file: it was converted to UTF-8
	gone  bool   // it does not exist
	bad   string // reason why it is not shown
}

func newTree(d Deps, dir string) *tree {
	return &tree{dir: dir, environ: d.Environ, program: d.Program, sources: map[string]*source{}}
}

// source reads a file. Errors are part of the result, because files may change at any time and must not end the
// retrieval.
func (t *tree) source(name string) *source {
	if s := t.sources[name]; s != nil {
		return s
	}
	s := &source{path: name}
	t.sources[name] = s
	t.read(s)
	return s
}

// hash returns the hash of a file, or "" if it cannot be read. It keeps nothing of the file.
func (t *tree) hash(name string) string {
	if s := t.sources[name]; s != nil {
		return s.hash
	}
	data, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return knowledge.Hash(data)
}

// read reads a file of the folder.
func (t *tree) read(s *source) {
	file, err := edit.SafePath(t.dir, s.path)
	if err != nil {
		s.bad = err.Error()
		return
	}
	fi, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.gone, s.bad = true, "it is not in the working tree"
		return
	case err != nil:
		s.bad = "it cannot be read: " + err.Error()
		return
	case !fi.Mode().IsRegular():
		s.bad = "it is not a regular file"
		return
	case fi.Size() > maxSource:
		s.bad = fmt.Sprintf("too large: %d bytes, the limit is %d", fi.Size(), maxSource)
		return
	}
	if s.bytes, err = os.ReadFile(file); err != nil {
		s.bad = "it cannot be read: " + err.Error()
		return
	}
	s.prepare()
}

// prepare makes the lines of a file from its bytes. A file that is text for git and for the index is text here too,
// even if it contains a zero byte or bytes that are not UTF-8.
func (s *source) prepare() {
	s.hash = knowledge.Hash(s.bytes)
	text, copied, why := outline.Prepare(outline.Python, s.bytes) // works for all languages
	if why != "" && !git.Binary(s.bytes) {
		text, _, why = outline.Prepare(outline.Python, legible(s.bytes))
		copied = true
	}
	if s.text, s.copy, s.bad = string(text), copied, why; why != "" {
		return
	}
	s.lines = strings.Split(strings.TrimSuffix(strings.ReplaceAll(s.text, "\r\n", "\n"), "\n"), "\n")
	for i, line := range s.lines {
		if len(line) > maxLine {
			s.bad = fmt.Sprintf("line %d has %d bytes, and the limit is %d: probably a generated file", i+1, len(line), maxLine)
			return
		}
	}
}

// legible replaces zero bytes, and bytes that are not UTF-8, by a control character, which is not shown either. No other
// byte moves.
func legible(raw []byte) []byte {
	const hidden = 1
	out := bytes.ReplaceAll(raw, []byte{0}, []byte{hidden})
	for i := 0; i < len(out); {
		r, n := utf8.DecodeRune(out[i:])
		if r == utf8.RuneError && n == 1 {
			out[i] = hidden
		}
		i += n
	}
	return out
}

// has reports whether a file that may be missing in the index exists and is not ignored by git. Ignored files may
// contain keys.
func (t *tree) has(ctx context.Context, name string) (bool, error) {
	all, err := t.list(ctx)
	_, found := slices.BinarySearch(all, name)
	return found, err
}

// list returns the files that git does not ignore.
func (t *tree) list(ctx context.Context) ([]string, error) {
	if t.listed == nil {
		all, _, err := patterns.Files(ctx, t.environ, t.dir)
		if err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", t.dir, err)
		}
		t.listed = append([]string{}, all...)
	}
	return t.listed, nil
}

// errNoOutline reports that a file changed since it was indexed and cannot be outlined without ast-grep.
var errNoOutline = errors.New("the file changed since it was indexed, and only ast-grep can outline it again")

// outline returns the symbols of a file in its present state.
func (t *tree) outline(ctx context.Context, s *source) (outline.Outline, error) {
	out, missing, err := t.outlines(ctx, []*source{s})
	if err == nil {
		err = missing[s.path]
	}
	return out[s.path], err
}

// outlines returns the symbols of files in their present state, with one ast-grep process for each language. missing
// has an [errNoOutline] for each file that could not be outlined.
func (t *tree) outlines(ctx context.Context, files []*source) (out map[string]outline.Outline,
	missing map[string]error, err error) {
	out, missing = map[string]outline.Outline{}, map[string]error{}
	by := map[outline.Language][]patterns.Text{}
	for _, s := range files {
		switch l := outline.LanguageOf(s.path); {
		case l == "":
		case l == outline.Go:
			out[s.path] = outline.ReadGo(s.path, s.bytes)
		case !t.program.Found():
			missing[s.path] = errNoOutline
		default:
			by[l] = append(by[l], patterns.Text{Path: s.path, Text: []byte(s.text), Copy: s.copy})
		}
	}
	for _, l := range slices.Sorted(maps.Keys(by)) {
		nodes, skipped, err := t.program.Nodes(ctx, t.dir, by[l], outline.Rules(l), 0)
		if err != nil && !errors.Is(err, patterns.ErrTooMuch) {
			return nil, nil, err
		}
		for _, k := range skipped {
			missing[k.Path] = fmt.Errorf("%w: %s", errNoOutline, k.Reason)
		}
		for _, x := range by[l] {
			switch {
			case err != nil:
				missing[x.Path] = fmt.Errorf("%w: ast-grep's answer is too long", errNoOutline)
			case missing[x.Path] == nil:
				out[x.Path] = outline.Read(l, x.Text, nodes[x.Path])
			}
		}
	}
	return out, missing, nil
}

// clip limits a range of lines to the file.
func (s *source) clip(from, to int) (int, int) {
	to = min(to, len(s.lines))
	return max(1, min(from, to)), to
}

// span returns the lines from to to, counted from 1.
func (s *source) span(from, to int) string {
	from, to = s.clip(from, to)
	if to < 1 {
		return ""
	}
	return strings.Join(s.lines[from-1:to], "\n")
}

// languageOf returns the language name for a fence.
func languageOf(name string) string {
	if l := outline.LanguageOf(name); l != "" {
		return string(l)
	}
	switch ext := strings.TrimPrefix(path.Ext(name), "."); ext {
	case "md":
		return "markdown"
	case "yml":
		return "yaml"
	case "sh", "toml", "json", "yaml", "html", "css", "sql", "txt", "ini", "cfg":
		return ext
	}
	return ""
}
