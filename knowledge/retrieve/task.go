package retrieve

// TaskKind is what sort of work a task is.
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

// TaskQuery is what is known of a task before anything is looked up for it (RETR-02): what stands in its text and is
// really there, and what a model made of it.
type TaskQuery struct {
	Text     string        `json:"text"`
	Kind     TaskKind      `json:"task_type"`
	Files    []FileNamed   `json:"files,omitempty"`
	Symbols  []SymbolNamed `json:"symbols,omitempty"`
	Errors   []Trouble     `json:"error_patterns,omitempty"`
	Keywords []string      `json:"keywords,omitempty"`
	Unknown  []string      `json:"unknown,omitempty"` // looked like a file or a symbol, and is not there

	// What the model said.
	Intent    string   `json:"intent"`
	Concepts  []string `json:"concepts,omitempty"`
	Domain    string   `json:"domain,omitempty"`
	Module    string   `json:"module,omitempty"`
	Suggested []string `json:"suggested_symbols,omitempty"` // symbols that the task does not name; those that are there
}

// FileNamed is a file that a task names.
type FileNamed struct {
	ID   int64  `json:"id,omitempty"` // 0: it is not in the index
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	As   string `json:"as"` // as the task has it
}

// SymbolNamed is a symbol that a task names, in one of the files that have it.
type SymbolNamed struct {
	ID   int64  `json:"id"`
	File int64  `json:"file_id"`
	Path string `json:"path"`
	Name string `json:"name"`
	Line int    `json:"line"`
	As   string `json:"as"`
}
