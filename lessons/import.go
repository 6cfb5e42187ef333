package lessons

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/yamldoc"
)

// ImportOptions configures an import.
type ImportOptions struct {
	// KeepIDs keeps the ids, so that a lesson replaces the one with the same id in an earlier layer. Without it, a
	// lesson whose id is in use gets the next free one.
	KeepIDs    bool
	Categories map[string]string // names of their categories, with ours
}

// Imported is a lesson that was taken over.
type Imported struct {
	From  string   `json:"from"`
	To    string   `json:"to"`
	ID    string   `json:"id"`
	Notes []string `json:"notes,omitempty"` // changes and omissions
}

// ImportReport holds the outcome for each file.
type ImportReport struct {
	Imported []Imported   `json:"imported"`
	Rejected []*FileError `json:"rejected"`
	Known    []string     `json:"known"` // skipped: the library has this lesson already
}

// Import reads lessons with front matter of the same kind, as other tools have, and writes the usable ones into a
// folder. It tolerates differences without a change of meaning: unknown fields, ids without quotes, names of languages,
// and backslashes that YAML does not accept. lib holds all lessons in use, including those in the folder.
func Import(from Layer, into string, lib *Library, o ImportOptions) (ImportReport, error) {
	report := ImportReport{Imported: []Imported{}, Rejected: []*FileError{}, Known: []string{}}
	entries, err := fs.ReadDir(from.FS, ".")
	if err != nil {
		return report, fmt.Errorf("read the lessons in %s: %w", from.Dir, err)
	}
	all := &Library{Lessons: slices.Clone(lib.Lessons)}
	theirs := map[string]string{} // ids of their files
	for _, e := range entries {
		if e.IsDir() || !isLessonFile(e.Name()) {
			continue
		}
		name := path.Join(from.Dir, e.Name())
		src, err := fs.ReadFile(from.FS, e.Name())
		if err != nil {
			return report, fmt.Errorf("read the lessons: %w", err)
		}
		p := &foreignParser{fileParser: fileParser{path: name}, categories: o.Categories}
		l := p.lesson(src)
		if l != nil && theirs[l.ID] != "" {
			p.at("id", "lesson %s is already in %s; give one of the two another id", l.ID, theirs[l.ID])
		}
		if len(p.errs) > 0 {
			report.Rejected = append(report.Rejected, p.errs...)
			continue
		}
		theirs[l.ID] = e.Name()
		same := lists.First(all.Lessons,
			func(x *Lesson) bool { return strings.EqualFold(strings.TrimSpace(x.Title), strings.TrimSpace(l.Title)) })
		if same != nil && !o.KeepIDs {
			report.Known = append(report.Known, fmt.Sprintf("%s: same as the %s lesson %s", name, same.Layer, same.ID))
			continue
		}
		if old, taken := all.Get(l.ID); taken && !o.KeepIDs {
			next, err := NextID(all)
			if err != nil {
				return report, err
			}
			p.note("id %s is used by %q, so it got %s", l.ID, old.Title, next)
			l.ID = next
		}
		to, err := Write(into, l)
		if err != nil {
			report.Rejected = append(report.Rejected, &FileError{name, 1, err.Error()})
			continue
		}
		l.Layer = "imported"
		i, _ := all.at(l.ID)
		all.Lessons = slices.Insert(all.Lessons, i, l)
		report.Imported = append(report.Imported, Imported{name, to, l.ID, p.notes})
	}
	return report, nil
}

// at returns the place of an id among the lessons, which are sorted by id.
func (lib *Library) at(id string) (int, bool) {
	return slices.BinarySearchFunc(lib.Lessons, id, func(l *Lesson, id string) int { return strings.Compare(l.ID, id) })
}

// foreignParser reads lesson files of other tools.
type foreignParser struct {
	fileParser

	categories map[string]string
	notes      []string
}

func (p *foreignParser) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// foreignLesson also accepts a single word for a list.
type foreignLesson struct {
	Title     string   `yaml:"title"`
	Severity  Severity `yaml:"severity"`
	Languages any      `yaml:"languages"`
	Language  any      `yaml:"language"`
	Category  string   `yaml:"category"`
	Scope     any      `yaml:"scope"`
	Exclude   any      `yaml:"exclude"`
	Pattern   Pattern  `yaml:"pattern"`
	Fix       string   `yaml:"fix"`
	Example   Example  `yaml:"example"`
}

// lesson reads one file. The faults of the file are added to errs.
func (p *foreignParser) lesson(src []byte) *Lesson {
	front, body, ok := p.split(src)
	if !ok {
		return nil
	}
	node, ok := p.tree(p.mend(front))
	if !ok {
		return nil
	}
	var f foreignLesson
	if err := yamldoc.Decode(node, &f); err != nil {
		p.yamlError(err)
		return nil
	}
	l := &Lesson{
		ID: p.id(node), Title: strings.TrimSpace(f.Title), Severity: f.Severity, Category: Category(f.Category),
		Scope: words(f.Scope), Exclude: words(f.Exclude), Pattern: f.Pattern, Fix: f.Fix, Example: f.Example,
		Body: body, Path: p.path, lines: p.lines,
	}
	if ours, ok := p.categories[f.Category]; ok {
		p.note("category %s became %s", f.Category, ours)
		l.Category = Category(ours)
	}
	l.Languages = append(l.Languages, lists.Map(append(words(f.Languages), words(f.Language)...), languageName)...)
	p.unknown(node, "", "id title severity languages language category scope exclude pattern fix example")
	p.check(l)
	if len(p.errs) > 0 {
		return l
	}
	p.try(l)
	return l
}

// try checks whether the lesson finds its own example. If not, that is a note and not an error.
func (p *foreignParser) try(l *Lesson) {
	if l.Pattern.Type != Syntactic || l.Example.Bad == "" {
		return
	}
	s, err := NewScanner([]*Lesson{l}, Options{AnyLanguage: true})
	if err != nil {
		p.at("pattern.regex", "%v", err)
		return
	}
	if l.Severity.Level() != None && len(s.Source("example", []byte(l.Example.Bad)).Hits) == 0 {
		p.note("its regex does not match its own bad example")
	}
}

// id takes the digits as written in the file, because YAML reads 0043 as the number 35.
func (p *foreignParser) id(node *ast.MappingNode) string {
	t := idToken(node)
	if t == nil {
		p.at("id", "id is missing")
		return ""
	}
	text := strings.TrimSpace(t.Value)
	if n := len(text); n == 0 || n > 4 || strings.Trim(text, "0123456789") != "" {
		p.at("id", "id is %q; use a number of at most four digits", text)
		return ""
	}
	return strings.Repeat("0", 4-len(text)) + text
}

// unknown notes the ignored fields.
func (p *foreignParser) unknown(node *ast.MappingNode, prefix, known string) {
	for _, v := range node.Values {
		key := v.Key.GetToken().Value
		if !strings.Contains(" "+known+" ", " "+key+" ") {
			p.note("field %s%s is ignored", prefix, key)
		}
		sub, ok := v.Value.(*ast.MappingNode)
		switch {
		case ok && prefix == "" && key == "pattern":
			p.unknown(sub, "pattern.", "type regex unless code description")
		case ok && prefix == "" && key == "example":
			p.unknown(sub, "example.", "bad good")
		}
	}
}

// mend changes double quotes around regular expressions into single quotes. In double quotes, YAML rejects \. and \s,
// and reads \b as a backspace.
func (p *foreignParser) mend(front string) string {
	quoted := regexp.MustCompile(`^(\s*(?:- +)?[\w-]+: +)"((?:[^"\\]|\\.)*)"\s*$`)
	lines := strings.Split(front, "\n")
	for i, line := range lines {
		m := quoted.FindStringSubmatch(line)
		if m == nil || !regexEscapes(m[2]) {
			continue
		}
		raw := strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[2])
		lines[i] = m[1] + "'" + strings.ReplaceAll(raw, "'", "''") + "'"
		p.note("line %d: read as a regular expression, because YAML has no such escapes", i+2)
	}
	return strings.Join(lines, "\n")
}

// regexEscapes reports whether a text has an escape that YAML does not know, or that has another meaning in YAML.
func regexEscapes(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		i++
		if !strings.ContainsRune(`\"/nrtxuU `, rune(s[i])) {
			return true
		}
	}
	return false
}

// words accepts a list, one word, or several words with commas.
func words(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		for w := range strings.SplitSeq(v, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	case []any:
		for _, w := range v {
			if w != nil {
				out = append(out, strings.TrimSpace(fmt.Sprint(w)))
			}
		}
	}
	return out
}

// languageName maps other names of languages.
func languageName(name string) string {
	other := map[string]string{
		"bash": "shell", "sh": "shell", "zsh": "shell", "js": "javascript", "jsx": "javascript", "node": "javascript",
		"ts": "typescript", "tsx": "typescript", "py": "python", "python3": "python", "golang": "go", "c++": "cpp",
		"c#": "csharp", "cs": "csharp", "yml": "yaml", "docker": "dockerfile", "makefile": "make",
		"*": All, "any": All, "universal": All,
	}
	name = strings.ToLower(name)
	return cmp.Or(other[name], name)
}
