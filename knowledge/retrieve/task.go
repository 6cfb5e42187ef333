package retrieve

import (
	"embed"

	"github.com/runplan/runplan/internal/prompt"
)

// TaskKind is the kind of work that a task asks for.
type TaskKind string

// The kinds of tasks.
const (
	BugFix   TaskKind = "bug_fix"
	Feature  TaskKind = "feature"
	Refactor TaskKind = "refactor"
	Testing  TaskKind = "test"
	Docs     TaskKind = "documentation"
	Speed    TaskKind = "performance"
	Other    TaskKind = "other"
)

// TaskQuery holds the analysis of a task (RETR-02): the existing names in its text and the model's answer.
type TaskQuery struct {
	Text     string        `json:"text"`
	Kind     TaskKind      `json:"task_type"`
	Files    []FileNamed   `json:"files,omitempty"`
	Symbols  []SymbolNamed `json:"symbols,omitempty"`
	Errors   []Trouble     `json:"error_patterns,omitempty"`
	Keywords []string      `json:"keywords,omitempty"`
	Unknown  []string      `json:"unknown,omitempty"` // looks like a file or symbol, but does not exist

	// Answer of the model.
	Intent    string   `json:"intent"`
	Concepts  []string `json:"concepts,omitempty"`
	Domain    string   `json:"domain,omitempty"`
	Module    string   `json:"module,omitempty"`
	Suggested []string `json:"suggested_symbols,omitempty"` // existing symbols that the task does not name
}

// FileNamed is a file that a task names.
type FileNamed struct {
	ID   int64  `json:"id,omitempty"` // 0: not in the index
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	As   string `json:"as"` // as written in the task
}

// SymbolNamed is a symbol that a task names, in one of the files that define it.
type SymbolNamed struct {
	ID   int64  `json:"id"`
	File int64  `json:"file_id"`
	Path string `json:"path"`
	Name string `json:"name"`
	Line int    `json:"line"`
	As   string `json:"as"`
}

//go:embed prompts/*.md
var promptFiles embed.FS

// LoadPrompts returns the prompts of this package: task_analysis, scope and precision. Files of the same name in a
// later layer, such as .runplan/prompts, override them.
func LoadPrompts(layers ...prompt.Layer) (prompt.Set, error) {
	return prompt.LoadEmbedded("knowledge/retrieve", promptFiles, layers...)
}
