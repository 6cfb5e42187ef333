package patterns

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/yamldoc"
)

//go:embed rules/*.yml
var builtinFiles embed.FS

// Rule is a pattern to look for, in one or more languages.
type Rule struct {
	ID        string   `json:"id"`
	Languages []string `json:"languages"` // ast-grep's names, in small letters
	Severity  Severity `json:"severity"`
	Message   string   `json:"message"`
	Note      string   `json:"note,omitempty"`
	Lesson    string   `json:"lesson,omitempty"` // id of the lesson that it enforces
	Layer     Layer    `json:"layer"`
	File      string   `json:"file"`
	Shadows   Layer    `json:"shadows,omitempty"` // it replaces a rule of that layer

	docs []document // one per language
}

// document is a rule as the program reads it, for one language.
type document struct {
	text     string
	language string
	need     func() need // of a file that it can match in
}

// Severity ranks a hit, in ast-grep's words.
type Severity string

// The severities. Rules that go by clues rather than by proof are hints.
const (
	Hint    Severity = "hint"
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
	off     Severity = "off" // in a file: the rule of that id does not apply here
)

// Layer is the origin of a rule. A later layer replaces rules of the same id.
type Layer string

// The layers, in their order.
const (
	BuiltIn Layer = "built-in"
	User    Layer = "user"
	Project Layer = "project"
)

// Source is a folder with rule files of one layer.
type Source struct {
	Layer Layer
	FS    fs.FS
	Name  string // of the folder, for people

	decode decoder
}

// Builtin returns the source of the rules that come with the program.
func Builtin() Source {
	sub, err := fs.Sub(builtinFiles, "rules")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return Source{BuiltIn, sub, "built-in", builtInYAML}
}

// Folder returns the source of the rules in a folder on disk. It need not exist.
func Folder(layer Layer, dir string) Source { return Source{layer, os.DirFS(dir), dir, anyYAML} }

// Load reads the rules of all sources, sorted by id. Later sources override earlier ones. It checks only the outer
// form; ast-grep checks the patterns, see [Check].
func Load(sources ...Source) ([]Rule, error) {
	all := map[string]Rule{}
	var errs []error
	for _, src := range sources {
		rules, err := loadLayer(src)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, r := range rules {
			if below, ok := all[r.ID]; ok {
				r.Shadows = below.Layer
			}
			all[r.ID] = r
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	maps.DeleteFunc(all, func(_ string, r Rule) bool { return r.Severity == off })
	return slices.SortedFunc(maps.Values(all), func(a, b Rule) int { return strings.Compare(a.ID, b.ID) }), nil
}

func loadLayer(src Source) ([]Rule, error) {
	entries, err := fs.ReadDir(src.FS, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the %s rules in %s: %w", src.Layer, src.Name, err)
	}
	var rules []Rule
	var errs []error
	for _, e := range entries {
		if ext := path.Ext(e.Name()); e.IsDir() || ext != ".yml" && ext != ".yaml" {
			continue
		}
		text, err := fs.ReadFile(src.FS, e.Name())
		if err != nil {
			errs = append(errs, fmt.Errorf("read rule file %s: %w", filepath.Join(src.Name, e.Name()), err))
			continue
		}
		more, err := src.decode.rules(filepath.Join(src.Name, e.Name()), text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, r := range more {
			r.Layer = src.Layer
			if rules, err = add(rules, r); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return rules, errors.Join(errs...)
}

// add adds a rule to its layer. A rule may have a document for each language.
func add(rules []Rule, r Rule) ([]Rule, error) {
	i := slices.IndexFunc(rules, func(o Rule) bool { return o.ID == r.ID })
	if i < 0 {
		return append(rules, r), nil
	}
	for _, l := range r.Languages {
		if slices.Contains(rules[i].Languages, l) || len(rules[i].docs) == 0 {
			return rules, fmt.Errorf("%s: rule %s for %s is already in %s; give one of them another id", r.File, r.ID, l,
				rules[i].File)
		}
	}
	rules[i].Languages = append(slices.Clip(rules[i].Languages), r.Languages...)
	rules[i].docs = append(slices.Clip(rules[i].docs), r.docs...)
	return rules, nil
}

// header holds the fields that runplan reads of a rule; ast-grep reads the rest.
type header struct {
	ID       string   `yaml:"id"`
	Language string   `yaml:"language"`
	Severity Severity `yaml:"severity"`
	Message  string   `yaml:"message"`
	Note     string   `yaml:"note"`
	Rule     any      `yaml:"rule"`
	Metadata struct {
		Lesson any      `yaml:"lesson"`
		Also   []string `yaml:"also"` // further languages with the same syntax
	} `yaml:"metadata"`
}

var (
	documentMark = lazyre.New(`(?m)^---[ \t]*\r?$`)
	yamlComment  = lazyre.New(`(?m)^\s*#.*$`)
	ruleID       = lazyre.New(`^[A-Za-z0-9][\w.-]{0,79}$`)
	languageKey  = lazyre.New(`(?m)^language:.*$`)
	languageName = lazyre.New(`^[a-z0-9]+$`)
)

// decoder decodes YAML.
type decoder func(text []byte, to any) error

// anyYAML names the place of each error; builtInYAML takes less than half of the time. Every run reads the built-in
// rules.
var (
	anyYAML     decoder = yamldoc.Unmarshal
	builtInYAML decoder = yamldoc.UnmarshalTested
)

// ParseRules reads the documents of a rule file.
func ParseRules(file string, text []byte) ([]Rule, error) { return anyYAML.rules(file, text) }

func (d decoder) rules(file string, text []byte) ([]Rule, error) {
	var rules []Rule
	line := 1
	for _, doc := range documentMark.Split(string(text), -1) {
		at := line
		line += strings.Count(doc, "\n")
		if strings.TrimSpace(yamlComment.ReplaceAllString(doc, "")) == "" {
			continue
		}
		at += len(doc[:len(doc)-len(strings.TrimLeft(doc, "\r\n"))]) // the line that it begins with
		r, err := d.rule(doc)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, at, err)
		}
		r.File = file
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("%s contains no rule", file)
	}
	return rules, nil
}

func (d decoder) rule(doc string) (Rule, error) {
	var h header
	if err := d([]byte(doc), &h); err != nil {
		return Rule{}, fmt.Errorf("not a YAML rule: %s", firstLine(yaml.FormatError(err, false, false)))
	}
	if !ruleID.MatchString(h.ID) {
		return Rule{}, fmt.Errorf("id %q: a rule needs an id of letters, digits, - and _", h.ID)
	}
	if strings.HasPrefix(h.ID, "runplan-") || strings.HasPrefix(h.ID, "suppression-") {
		return Rule{}, fmt.Errorf("id %q: ids that begin with runplan- or suppression- are reserved", h.ID)
	}
	r := Rule{ID: h.ID, Severity: h.Severity, Message: h.Message, Note: strings.TrimSpace(h.Note)}
	if h.Metadata.Lesson != nil {
		r.Lesson = fmt.Sprint(h.Metadata.Lesson)
	}
	if r.Severity == off {
		return r, nil
	}
	switch {
	case h.Language == "":
		return r, fmt.Errorf("rule %s names no language", h.ID)
	case h.Rule == nil:
		return r, fmt.Errorf("rule %s has no rule", h.ID)
	case h.Message == "":
		return r, fmt.Errorf("rule %s has no message; describe the mistake in its field message", h.ID)
	}
	r.Severity = cmp.Or(r.Severity, Hint)
	if !slices.Contains([]Severity{Hint, Info, Warning, Error}, r.Severity) {
		return r, fmt.Errorf("rule %s: severity is %q; use hint, info, warning, error or off", h.ID, r.Severity)
	}
	if len(languageKey.FindAllString(doc, -1)) != 1 {
		return r, fmt.Errorf("rule %s: write language: NAME on its own line", h.ID)
	}
	for _, l := range append([]string{h.Language}, h.Metadata.Also...) {
		if l = Canonical(l); !languageName.MatchString(l) {
			return r, fmt.Errorf("rule %s: %q is not the name of a language", h.ID, l)
		}
		r.Languages = append(r.Languages, l)
		r.docs = append(r.docs, document{languageKey.ReplaceAllString(doc, "language: "+l), l,
			sync.OnceValue(func() need { return needOf(doc, l) })})
	}
	return r, nil
}

// text returns the rules as ast-grep reads them.
func text(rules []Rule) string {
	return textOf(slices.Concat(lists.Map(rules, func(r Rule) []document { return r.docs })...))
}

func textOf(docs []document) string {
	var b strings.Builder
	for _, doc := range docs {
		b.WriteString("---\n" + strings.Trim(doc.text, "\r\n") + "\n")
	}
	return b.String()
}
