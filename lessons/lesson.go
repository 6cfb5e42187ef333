// Package lessons stores lessons from earlier work, one markdown file each, and finds the same mistakes in new code.
//
// A [Lesson] is an anti-pattern that any code base can have. A [Scanner] finds syntactic lessons with their regular
// expressions; models and people find semantic lessons with their descriptions. A [Library] has layers: the built-in
// lessons, the user's own and the project's. A later layer replaces a lesson of an earlier one by id, and the library
// reports that.
//
//	lib, err := lessons.Load(lessons.BuiltIn(), lessons.DirLayer("project", ".runplan/lessons"))
//	s, err := lessons.NewScanner(lib.Lessons, lessons.Options{})
//	result, err := s.Scan(ctx, dir, changed)
//
// A [Hit] is a place in the code, not an error. Skipped files are in [Result.Skipped] with their reasons. Patterns are
// RE2 and match within one line, unless they contain \n: then a match may continue over the following lines, at most
// [MaxSpan] bytes.
package lessons

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// Lesson is one anti-pattern: its form, its causes and the alternative.
type Lesson struct {
	ID        string   `yaml:"id" json:"id"` // four digits
	Title     string   `yaml:"title" json:"title"`
	Severity  Severity `yaml:"severity" json:"severity"`
	Languages []string `yaml:"languages" json:"languages"` // names of [Languages], or "all"
	Category  Category `yaml:"category" json:"category"`
	Scope     []string `yaml:"scope" json:"scope,omitempty"`     // tags of projects that it is about, for people
	Exclude   []string `yaml:"exclude" json:"exclude,omitempty"` // globs of paths that are not checked
	Pattern   Pattern  `yaml:"pattern" json:"pattern"`
	Fix       string   `yaml:"fix" json:"fix"`
	Example   Example  `yaml:"example" json:"example"`

	Body     string `yaml:"-" json:"body,omitempty"`     // markdown
	Path     string `yaml:"-" json:"path"`               // of the file, for messages
	Layer    string `yaml:"-" json:"layer"`              // its layer: built-in, user, project
	Replaces string `yaml:"-" json:"replaces,omitempty"` // the layer whose lesson of this id it took the place of

	lines map[string]int // line of each key in the file, such as pattern.regex
}

// Pattern describes how to recognize a lesson.
type Pattern struct {
	Type        PatternType `yaml:"type" json:"type"`
	Regex       string      `yaml:"regex" json:"regex,omitempty"`
	Unless      string      `yaml:"unless" json:"unless,omitempty"` // ignore a match that contains this
	Code        bool        `yaml:"code" json:"code,omitempty"`     // ignore matches in strings and comments
	Description string      `yaml:"description" json:"description"`
}

// Example is code that has the mistake, and the same code without it.
type Example struct {
	Bad  string `yaml:"bad" json:"bad,omitempty"`
	Good string `yaml:"good" json:"good,omitempty"`
}

// PatternType says how a lesson is detected.
type PatternType string

// A regular expression finds a syntactic lesson; a semantic one needs a reader who understands the code.
const (
	Syntactic PatternType = "syntactic"
	Semantic  PatternType = "semantic"
)

// Severity ranks a lesson.
type Severity string

// The severities.
const (
	Blocker       Severity = "blocker"
	ShouldFix     Severity = "should-fix"
	NiceToHave    Severity = "nice-to-have"
	LessonLearned Severity = "lesson-learned"
)

// Severities lists them, the worst first.
func Severities() []Severity { return []Severity{Blocker, ShouldFix, NiceToHave, LessonLearned} }

// Level is the severity of a hit.
type Level string

// The levels. None is advice for plans and reviews, and never a finding.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Remark  Level = "info"
	None    Level = "none"
)

// Level maps a severity to the level of a hit.
func (s Severity) Level() Level {
	switch s {
	case Blocker:
		return Error
	case ShouldFix:
		return Warning
	case NiceToHave:
		return Remark
	}
	return None
}

// Category groups lessons by the kind of trouble.
type Category string

// Categories lists the six there are.
func Categories() []Category {
	return []Category{"silent-failures", "integration-boundaries", "resource-lifecycle", "async-traps",
		"test-anti-patterns", "performance"}
}

// AppliesTo reports whether the lesson covers files in a language. Language "" is text of an unknown kind.
func (l *Lesson) AppliesTo(language string) bool {
	return slices.Contains(l.Languages, All) || language != "" && slices.Contains(l.Languages, language)
}

// FileError is something wrong with a lesson file.
type FileError struct {
	Path    string `json:"path"`
	Line    int    `json:"line"` // 0 for the whole file
	Message string `json:"message"`
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
}

// FileErrors are all that is wrong with one or more lesson files.
type FileErrors []*FileError

func (e FileErrors) Error() string {
	lines := lists.Map(e, (*FileError).Error)
	return strings.Join(lines, "\n")
}
