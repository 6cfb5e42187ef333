package patterns

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/language"
)

// Files that ast-grep does not get. It would skip them silently, or answer with gigabytes, because each record
// repeats the whole line.
const (
	maxFile = 3_000_000
	maxLine = 16 << 10
)

// source is a file that the program can look at.
type source struct {
	path     string // slashes, relative
	language string // "" if only the program knows
	byName   string // file name for the language, for scripts without a file name extension
	comments []suppression
	neutral  []byte // text without ignoreWord, nil if it has none
	idle     bool   // no rule can match in it, so ast-grep need not read it
	sifted   bool   // the matching rules are known
}

// sources sorts the files of a request: those to check, those that cannot be checked, with the reason, and those in
// unwanted languages. Absolute paths must be inside dir. sift, if not nil, receives the text of each file as ast-grep
// will see it.
func sources(dir string, files []string, wanted func(language string) bool,
	sift func(s *source, text []byte)) (look []source, skipped []Skip, other []string, err error) {
	seen := map[string]bool{}
	names := map[string]string{} // base name of a script → its language
	for _, f := range files {
		rel, err := relative(dir, f)
		if err != nil {
			return nil, nil, nil, err
		}
		if seen[rel] {
			continue // the program would report twice
		}
		seen[rel] = true
		if l := languageOf(rel); l != "" && !wanted(l) {
			other = append(other, rel)
			continue
		}
		s, why := open(dir, rel, sift)
		if why == "" && (s.byName != "" && !wanted(s.language) || s.language == "" && isProse(rel)) {
			other = append(other, rel) // starting the program only to hear that would cost more than all other built-in gates
			continue
		}
		if why == "" && s.byName != "" {
			if other, ok := names[s.byName]; ok && other != s.language {
				why = fmt.Sprintf("another script with the name %s is in %s; ast-grep uses only the name", s.byName, other)
			}
			names[s.byName] = s.language
		}
		if why != "" {
			skipped = append(skipped, Skip{rel, why})
			continue
		}
		look = append(look, s)
	}
	slices.SortFunc(look, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return look, skipped, other, nil
}

// relative returns a path below dir, with slashes.
func relative(dir, file string) (string, error) {
	rel := file
	if filepath.IsAbs(file) {
		var err error
		if rel, err = filepath.Rel(dir, file); err != nil {
			return "", fmt.Errorf("scan %s: it is not in %s", file, dir)
		}
	}
	rel = path.Clean(filepath.ToSlash(rel))
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("scan %s: it is not a file in %s; scan it from its own folder", file, dir)
	}
	return rel, nil
}

// OddName is the reason why a file is skipped whose name ast-grep or a terminal cannot show. It is "" for other names.
func OddName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
		return "its name has control characters or is not UTF-8"
	}
	return ""
}

// open checks whether and how ast-grep will read the file.
func open(dir, rel string, sift func(s *source, text []byte)) (source, string) {
	s := source{path: rel, language: languageOf(rel)}
	if odd := OddName(rel); odd != "" {
		return s, odd
	}
	full := filepath.Join(dir, filepath.FromSlash(rel))
	fi, err := os.Lstat(full)
	switch {
	case err != nil:
		return s, reasonOf(err)
	case fi.Mode()&fs.ModeSymlink != 0:
		return s, "a symbolic link; its target is scanned under its own name"
	case fi.IsDir():
		return s, "a folder, not a file"
	case !fi.Mode().IsRegular():
		return s, "not a regular file"
	case s.language == "" && (path.Ext(rel) != "" || fi.Size() > maxFile):
		return s, "" // in an unknown language; if ast-grep knows it, Scan reports that
	case fi.Size() > maxFile:
		return s, fmt.Sprintf("too large: %d bytes, the limit is %d", fi.Size(), maxFile)
	}
	text, err := os.ReadFile(full)
	if err != nil {
		return s, reasonOf(err)
	}
	if s.language == "" {
		if s.language = interpreter(text); s.language == "" {
			return s, ""
		}
		if s.byName = path.Base(rel); !regexp.MustCompile(`^[\w.+-]+$`).MatchString(s.byName) {
			return s, "a script without a file name extension, whose name ast-grep cannot be configured for"
		}
	}
	switch {
	case !utf8.Valid(text):
		return s, "not UTF-8"
	case bytes.IndexByte(text, 0) >= 0:
		return s, "binary"
	case language.GeneratedName(path.Base(rel)):
		return s, "its name is that of a generated file"
	case longest(text) > maxLine:
		return s, fmt.Sprintf("it has a line of %d bytes, and the limit is %d: probably a generated file", longest(text), maxLine)
	}
	if bytes.Contains(text, []byte(ignoreMark)) || bytes.Contains(text, []byte(ignoreWord)) {
		s.comments = findSuppressions(text)
	}
	if bytes.Contains(text, []byte(ignoreWord)) {
		s.neutral = bytes.ReplaceAll(text, []byte(ignoreWord), []byte(neutralWord))
		text = s.neutral
	}
	if sift != nil {
		sift(&s, text)
	}
	return s, ""
}

func reasonOf(err error) string {
	switch {
	case os.IsNotExist(err):
		return "the file does not exist"
	case os.IsPermission(err):
		return "no permission to read it"
	}
	return err.Error()
}

func longest(text []byte) int {
	most := 0
	for line := range bytes.Lines(text) {
		most = max(most, len(line))
	}
	return most
}
