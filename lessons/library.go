package lessons

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/yamldoc"
)

//go:embed library/*.md
var builtIn embed.FS

// SummaryFile is the name of the overview next to the lessons.
const SummaryFile = "SUMMARY.md"

// Layer is a folder of lessons.
type Layer struct {
	Name string // built-in, user, project
	Dir  string // name of the folder in messages
	FS   fs.FS

	tested bool // its files are read without the checks, which tests make
}

// BuiltIn returns the layer that comes with the program.
func BuiltIn() Layer {
	sub, err := fs.Sub(builtIn, "library")
	if err != nil {
		panic(err) // the folder is in this package
	}
	return Layer{"built-in", "lessons/library", sub, true}
}

// DirLayer returns a folder on disk. It need not be there.
func DirLayer(name, dir string) Layer {
	return Layer{name, dir, os.DirFS(dir), false}
}

// Library is the lessons of all layers, by id.
type Library struct {
	Lessons []*Lesson
	Notes   []string // lessons that replaced others
}

// Load reads layers. A lesson of a later layer replaces an earlier one with the same id; two with the same id in one
// layer are an error. The error is a [FileErrors] with all problems of all files.
func Load(layers ...Layer) (*Library, error) {
	lib := &Library{}
	byID := map[string]*Lesson{}
	var errs FileErrors
	for _, layer := range layers {
		found, wrong, err := layer.read()
		if err != nil {
			return nil, err
		}
		errs = append(errs, wrong...)
		for _, l := range found {
			if old := byID[l.ID]; old != nil {
				l.Replaces = old.Layer
				lib.Notes = append(lib.Notes,
					fmt.Sprintf("%s: lesson %s of the %s library replaces the %s one (%s)", l.Path, l.ID, l.Layer, old.Layer,
						old.Title))
			}
			byID[l.ID] = l
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	lib.Lessons = slices.SortedFunc(maps.Values(byID), func(a, b *Lesson) int { return cmp.Compare(a.ID, b.ID) })
	return lib, nil
}

// read parses the files of a layer. An error means that the folder could not be checked.
func (y Layer) read() ([]*Lesson, FileErrors, error) {
	entries, err := fs.ReadDir(y.FS, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the %s lessons in %s: %w", y.Name, y.Dir, err)
	}
	var found []*Lesson
	var errs FileErrors
	byID := map[string]*Lesson{}
	for _, e := range entries {
		if !isLessonFile(e.Name()) || e.IsDir() {
			continue
		}
		src, err := fs.ReadFile(y.FS, e.Name())
		if err != nil {
			return nil, nil, fmt.Errorf("read the %s lessons: %w", y.Name, err)
		}
		parse := Parse
		if y.tested {
			parse = parseTested
		}
		l, err := parse(path.Join(y.Dir, e.Name()), src)
		if wrong, ok := errors.AsType[FileErrors](err); ok {
			errs = append(errs, wrong...)
			continue
		}
		if first := byID[l.ID]; first != nil {
			errs = append(errs, &FileError{l.Path, l.lines["id"],
				fmt.Sprintf("lesson %s is in %s already; ids are unique: runplan lessons new finds a free one", l.ID,
					path.Base(first.Path))})
			continue
		}
		l.Layer = y.Name
		byID[l.ID] = l
		found = append(found, l)
	}
	return found, errs, nil
}

// parseTested does what [Parse] does for a lesson without errors. Parse is slow, because it has to name the line of each
// error, and every run reads the built-in lessons.
func parseTested(name string, src []byte) (*Lesson, error) {
	p := fileParser{path: name}
	front, body, ok := p.split(src)
	if !ok {
		return nil, p.errs
	}
	l := &Lesson{Body: body, Path: name}
	if err := yamldoc.UnmarshalTested([]byte(front), l); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		p.errorf(1, "%s", first)
		return nil, p.errs
	}
	return l, nil
}

// isLessonFile reports whether a file is a lesson, and not one of the usual documents next to them.
func isLessonFile(name string) bool {
	switch strings.ToUpper(name) {
	case "SUMMARY.MD", "README.MD", "TEMPLATE.MD", "INDEX.MD":
		return false
	}
	return strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".")
}

// Get finds a lesson by its id, with or without leading zeros.
func (lib *Library) Get(id string) (*Lesson, bool) {
	if len(id) < 4 {
		id = strings.Repeat("0", 4-len(id)) + id
	}
	i, ok := lib.at(id)
	if !ok {
		return nil, false
	}
	return lib.Lessons[i], true
}

// category returns the ids of a category's lessons.
func (lib *Library) category(c Category) []string {
	its := lists.Filter(lib.Lessons, func(l *Lesson) bool { return l.Category == c })
	return lists.Map(its, func(l *Lesson) string { return l.ID })
}
