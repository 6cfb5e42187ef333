// Package planparse turns a markdown implementation plan into batches that can be run.
//
// It accepts many existing formats: run-plan batches, superpowers and ralphex tasks, spec-kit, Kiro and OpenSpec lists,
// GSD and Cursor files, free phases with checkboxes. It detects the format by the content, never by the path. Each
// construct that the parser tolerates, repairs or ignores becomes a [Diagnostic] with its line.
package planparse

import (
	"cmp"
	"iter"
	"slices"

	"github.com/runplan/runplan/internal/lists"
)

// Format is the dialect of a plan.
type Format string

// The dialects, in the order of detection.
const (
	FormatGSD         Format = "gsd"         // <task> elements or frontmatter todos
	FormatSpecKit     Format = "spec-kit"    // - [ ] T001 [P] [US1] …
	FormatRunPlan     Format = "run-plan"    // ## Batch N: Title
	FormatSuperpowers Format = "superpowers" // ### Task N: Title, with steps
	FormatKiro        Format = "kiro"        // - [ ] 1. Major, sub-items below
	FormatOpenSpec    Format = "openspec"    // ## 1. Section over checkboxes
	FormatPhases      Format = "phases"      // phases that contain only checkboxes
	FormatNone        Format = "none"        // no unit of work found
)

// Plan is a parsed plan. Batches and groups are in document order.
type Plan struct {
	Title       string       `json:"title"`
	Format      Format       `json:"format"`
	Digest      string       `json:"digest"` // hex SHA-256 of the file's bytes
	Header      Header       `json:"header"`
	Groups      []Group      `json:"groups"`
	Batches     []Batch      `json:"batches"`
	Unassigned  []Step       `json:"unassigned"` // checkboxes outside all tasks: never run, never block
	Counts      Counts       `json:"counts"`
	Diagnostics []Diagnostic `json:"diagnostics"`

	// Preamble is the text between the title and the first unit of work (goal, constraints, interfaces). The brief
	// of each batch includes it.
	Preamble string `json:"-"`

	Readings []Reading `json:"-"` // the readers of each line, for [Plan.Cover]
}

// Header holds the settings of the front matter for the whole plan (PLAN-04).
type Header struct {
	ParallelSafe bool   `json:"parallel_safe"`
	Critical     bool   `json:"critical"`
	When         string `json:"when,omitempty"`
	Approve      bool   `json:"approve,omitempty"` // a person must approve each batch before it merges
}

// Group is a heading above batches: a batch, phase, chunk, wave, track, checkpoint or numbered section.
type Group struct {
	Kind      string `json:"kind"` // lower case: "batch", "phase", "section", …
	Number    string `json:"number"`
	Title     string `json:"title"`
	StartLine int    `json:"start_line"`
}

// Batch is the unit of work: one fresh agent, one verdict, one commit.
type Batch struct {
	// Key is the name of the batch in its plan. It is unique and valid in a ref name: the number, or the number
	// and its occurrence if the number repeats ("3", "3-2").
	Key          string   `json:"key"`
	Number       string   `json:"number"` // as written; numbers may repeat, skip, or look like "4b" or "P5.2"
	Title        string   `json:"title"`
	Group        string   `json:"group"` // number of the group, "" without one
	Tasks        []Task   `json:"tasks"`
	Files        Files    `json:"files"`
	ContextRefs  []string `json:"context_refs"`
	DependsOn    []string `json:"depends_on"` // keys of batches
	Critical     bool     `json:"critical"`
	ParallelSafe bool     `json:"parallel_safe"`
	Approve      bool     `json:"approve,omitempty"`    // a person must approve its changes before the merge
	TestFirst    bool     `json:"test_first,omitempty"` // a separate agent writes its tests before the code
	// percent of wrong versions of its lines that the tests must detect; 0 if not stated
	Mutants    int    `json:"mutants,omitempty"`
	When       string `json:"when,omitempty"`        // a condition; the batch is skipped if it is false
	EstimateMS int64  `json:"estimate_ms,omitempty"` // expected duration according to the plan; 0 if not stated
	// test that must fail before the batch and pass after it, as PATH or PATH::NAME; then the files that it reads
	Regression []string  `json:"regression,omitempty"`
	Commands   []Command `json:"commands"`
	Empty      bool      `json:"empty"` // only white space below the heading (PLAN-03)
	StartLine  int       `json:"start_line"`
	EndLine    int       `json:"end_line"`

	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // set if the batch is a checkpoint, which no agent works on

	Named  []Named `json:"named,omitempty"` // entries of Files and of sentences, in document order
	Text   string  `json:"-"`               // source of the batch below its heading
	Intro  string  `json:"-"`               // source of the headings above, each with the text between it and its first batch
	Digest string  `json:"-"`               // hex SHA-256 of heading and text
	Blocks []Block `json:"-"`               // literal instructions of the plan, in document order

	// Steps are the checkboxes of a batch in a format without tasks (phases). They are also in Plan.Unassigned,
	// for readers of the JSON.
	Steps []Step `json:"-"`
}

// Task is a counted step of a batch.
type Task struct {
	Number   string `json:"number"`
	Title    string `json:"title"`
	Done     bool   `json:"done"` // its own box is ticked, or all boxes of its steps
	Parallel bool   `json:"parallel"`
	Parent   string `json:"parent,omitempty"` // number of the parent task
	Steps    []Step `json:"steps"`
	Line     int    `json:"line"`

	EndLine int  `json:"-"`
	Literal bool `json:"-"` // its blocks are complete instructions, so it needs no model
	Box     bool `json:"-"` // the task is a checkbox, so its line can be ticked
}

// Step is a checkbox or a step marker below a task.
type Step struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
	Line int    `json:"line"`

	Box bool `json:"-"` // it is a checkbox, so its line can be ticked
}

// Files lists the paths in a batch by their action (PLAN-06). Paths use slashes.
type Files struct {
	Create []string `json:"create"`
	Modify []string `json:"modify"`
	Test   []string `json:"test"`
	Delete []string `json:"delete"`
}

// Actions yields each list of paths with its action, in the words of plans. Callers may change the lists.
func (f *Files) Actions() iter.Seq2[string, *[]string] {
	return func(yield func(string, *[]string) bool) {
		_ = yield("Create", &f.Create) && yield("Modify", &f.Modify) && yield("Test", &f.Test) && yield("Delete", &f.Delete)
	}
}

// All returns the paths of all actions.
func (f Files) All() []string { return slices.Concat(f.Create, f.Modify, f.Test, f.Delete) }

// Checkpoint is a place in a plan where a person checks, decides or does something. No agent works on it. The adjacent
// batch has Approve: the person is asked before it merges.
type Checkpoint struct {
	Kind string `json:"kind"` // "human-verify", "decision", "human-action", or "" if not stated
	Text string `json:"text"` // for the person: what was built, how to check it, what to choose from
	// key of the batch that waits for the answer: the previous one, else the next one; "" if there is none
	At   string `json:"at,omitempty"`
	Line int    `json:"line"`
}

// Command is a command in the plan, with its expected result.
type Command struct {
	Run      string `json:"run"`
	Expected string `json:"expected,omitempty"` // "PASS", "FAIL" or a required text in the output
	Line     int    `json:"line"`

	Said string `json:"-"` // the expectation as written; Expected is its interpretation
}

// Named is one path that the text of a batch names, in a list of files or in a sentence.
type Named struct {
	Verb  string `json:"verb"` // "create", "modify", "test" or "delete"
	Path  string `json:"path"`
	Line  int    `json:"line"`
	Maybe bool   `json:"maybe,omitempty"` // the path is optional: "(if needed)", "(optional)"
	Place bool   `json:"place,omitempty"` // the path is only the place of the requested work: "add the model in a.py"
}

// BlockKind says how the script agent performs a [Block].
type BlockKind string

// The kinds of literal blocks.
const (
	BlockFile       BlockKind = "file"       // write Text to Path
	BlockShell      BlockKind = "shell"      // run Text with bash -eu -o pipefail
	BlockTestscript BlockKind = "testscript" // run Text in the testscript engine
	BlockDiff       BlockKind = "diff"       // git apply Text
	BlockEdit       BlockKind = "edit"       // search/replace edits, each matching exactly once
	BlockRun        BlockKind = "run"        // run Text and check it against Expected
	BlockDelete     BlockKind = "delete"     // remove Path
)

// Block is one literal instruction of a batch.
type Block struct {
	Kind     BlockKind
	Path     string // for file and delete, and for edits with a file in the info string
	Text     string
	Expected string // as in [Command]
	Line     int    // line of the fence or of the Run: text
	Task     int    // index in Batch.Tasks; -1 outside tasks
}

// Counts are the numbers of a plan's elements, outside fences and comments.
type Counts struct {
	Groups      int `json:"groups"`
	Batches     int `json:"batches"`
	Tasks       int `json:"tasks"`
	Checkboxes  int `json:"checkboxes"`
	Checked     int `json:"checked"`
	StepMarkers int `json:"step_markers"`
}

// Severity ranks a [Diagnostic].
type Severity string

// An error makes the plan invalid; a warning names a tolerated fault; info is only information.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Diagnostic is a remark on one line of the plan.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Line     int      `json:"line"`
	Code     string   `json:"code"` // stable, kebab-case: "duplicate-batch", "broken-fence", …
	Message  string   `json:"message"`
}

// Errors returns the diagnostics that make the plan invalid.
func (p *Plan) Errors() []Diagnostic {
	return lists.Filter(p.Diagnostics, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// Batch returns the batch with the given key, and whether it exists.
func (p *Plan) Batch(key string) (*Batch, bool) {
	for i := range p.Batches {
		if p.Batches[i].Key == key {
			return &p.Batches[i], true
		}
	}
	return nil, false
}

// Asked returns the checkpoints that ask a person before the batch merges.
func (p *Plan) Asked(key string) []Checkpoint {
	var out []Checkpoint
	for i := range p.Batches {
		if c := p.Batches[i].Checkpoint; c != nil && c.At == key {
			out = append(out, *c)
		}
	}
	return out
}

// Called returns what people call the batch: its number, or its key if it has none.
func (b *Batch) Called() string { return cmp.Or(b.Number, b.Key) }

// Boxes returns the lines of the checkboxes to tick when the batch is done: the boxes of its tasks and their steps.
// If the format or the batch has no tasks, it returns those of the batch's own steps.
func (b *Batch) Boxes() []int {
	var lines []int
	add := func(line int, box bool) {
		if box {
			lines = append(lines, line)
		}
	}
	for _, t := range b.Tasks {
		add(t.Line, t.Box)
		for _, s := range t.Steps {
			add(s.Line, s.Box)
		}
	}
	for _, s := range b.Steps {
		add(s.Line, s.Box)
	}
	return lines
}

// Done reports whether the plan marks the batch as done: all tasks are ticked, or all steps if there are no tasks.
func (b *Batch) Done() bool {
	if len(b.Tasks) > 0 {
		return !slices.ContainsFunc(b.Tasks, func(t Task) bool { return !t.Done })
	}
	return len(b.Steps) > 0 && !slices.ContainsFunc(b.Steps, func(s Step) bool { return !s.Done })
}
