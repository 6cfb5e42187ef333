// Package planparse turns a markdown implementation plan into batches that can be run.
//
// A plan is whatever people already have: run-plan batches, superpowers and ralphex tasks, spec-kit,
// Kiro and OpenSpec lists, GSD and Cursor files, free phases with checkboxes. The format is found by its
// units, never by its path. Nothing is dropped in silence: whatever the parser tolerates, repairs or
// leaves aside is a [Diagnostic] with its line.
package planparse

// Format names the dialect a plan is written in.
type Format string

// The dialects, in the order in which they are looked for.
const (
	FormatGSD         Format = "gsd"         // <task> elements or frontmatter todos
	FormatSpecKit     Format = "spec-kit"    // - [ ] T001 [P] [US1] …
	FormatRunPlan     Format = "run-plan"    // ## Batch N: Title
	FormatSuperpowers Format = "superpowers" // ### Task N: Title, with steps
	FormatKiro        Format = "kiro"        // - [ ] 1. Major, sub-items below
	FormatOpenSpec    Format = "openspec"    // ## 1. Section over checkboxes
	FormatPhases      Format = "phases"      // phases that hold checkboxes only
	FormatNone        Format = "none"        // no unit of work was found
)

// Plan is a parsed plan. Batches and groups stand in document order.
type Plan struct {
	Title       string       `json:"title"`
	Format      Format       `json:"format"`
	Digest      string       `json:"digest"` // hex SHA-256 of the file's bytes
	Header      Header       `json:"header"`
	Groups      []Group      `json:"groups"`
	Batches     []Batch      `json:"batches"`
	Unassigned  []Step       `json:"unassigned"` // checkboxes that belong to no task: never run, never block
	Counts      Counts       `json:"counts"`
	Diagnostics []Diagnostic `json:"diagnostics"`

	// Preamble is the text between the title and the first unit of work (goal, constraints, interfaces).
	// It travels with the brief of each batch.
	Preamble string `json:"-"`

	Readings []Reading `json:"-"` // who reads which lines, for [Plan.Cover]
}

// Header carries what the plan's front matter says of the whole plan (PLAN-04).
type Header struct {
	ParallelSafe bool   `json:"parallel_safe"`
	Critical     bool   `json:"critical"`
	When         string `json:"when,omitempty"`
	Approve      bool   `json:"approve,omitempty"` // a person agrees to each batch before it is merged
}

// Group is a heading that holds batches: a batch, phase, chunk, wave, track, checkpoint or numbered section.
type Group struct {
	Kind      string `json:"kind"` // lower case: "batch", "phase", "section", …
	Number    string `json:"number"`
	Title     string `json:"title"`
	StartLine int    `json:"start_line"`
}

// Batch is the unit of work: one fresh agent, one verdict, one commit.
type Batch struct {
	// Key names the batch within its plan. It is unique and fit for a ref name: the number where that is
	// unique, else the number and its occurrence ("3", "3-2").
	Key          string    `json:"key"`
	Number       string    `json:"number"` // as written; ids repeat, skip and come as "4b" or "P5.2"
	Title        string    `json:"title"`
	Group        string    `json:"group"` // number of the group, "" without one
	Tasks        []Task    `json:"tasks"`
	Files        Files     `json:"files"`
	ContextRefs  []string  `json:"context_refs"`
	DependsOn    []string  `json:"depends_on"` // keys of batches
	Critical     bool      `json:"critical"`
	ParallelSafe bool      `json:"parallel_safe"`
	Approve      bool      `json:"approve,omitempty"`     // a person agrees to what it changes before that is merged
	When         string    `json:"when,omitempty"`        // an expression; the batch is skipped where it is false
	EstimateMS   int64     `json:"estimate_ms,omitempty"` // how long an agent is likely to take, as the plan has it; 0: it does not say
	Regression   []string  `json:"regression,omitempty"`  // the test that has to fail before the batch and pass after it, as PATH or PATH::NAME; then files that it reads
	Commands     []Command `json:"commands"`
	Empty        bool      `json:"empty"` // nothing but white space under the heading (PLAN-03)
	StartLine    int       `json:"start_line"`
	EndLine      int       `json:"end_line"`

	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // it is one, and no agent works at it

	Named  []Named `json:"-"` // the entries of Files, in document order, with their lines
	Text   string  `json:"-"` // source of the batch below its heading
	Intro  string  `json:"-"` // source of the headings above it, each with what stands between it and its first batch
	Digest string  `json:"-"` // hex SHA-256 of heading and text
	Blocks []Block `json:"-"` // what the plan spells out literally, in document order

	// Steps are the boxes of a batch whose format knows no tasks (phases). They are listed in
	// Plan.Unassigned too, where a reader of the JSON finds them.
	Steps []Step `json:"-"`
}

// Task is a step of a batch that its format counts.
type Task struct {
	Number   string `json:"number"`
	Title    string `json:"title"`
	Done     bool   `json:"done"` // its own box is ticked, or all boxes of its steps are
	Parallel bool   `json:"parallel"`
	Parent   string `json:"parent,omitempty"` // number of the task it is nested in
	Steps    []Step `json:"steps"`
	Line     int    `json:"line"`

	EndLine int  `json:"-"`
	Literal bool `json:"-"` // its blocks say all there is to do, so that no model is needed to carry it out
	Box     bool `json:"-"` // the task itself is a checkbox, so its line can be ticked
}

// Step is a checkbox or a step marker below a task.
type Step struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
	Line int    `json:"line"`

	Box bool `json:"-"` // it is a checkbox, so its line can be ticked
}

// Files lists the paths a batch names, by what is to happen to them (PLAN-06). Paths use slashes.
type Files struct {
	Create []string `json:"create"`
	Modify []string `json:"modify"`
	Test   []string `json:"test"`
	Delete []string `json:"delete"`
}

// Checkpoint is a place in a plan at which a person looks, decides or does something. No agent works at it: the person
// is asked before the batch next to it is merged, which has Approve.
type Checkpoint struct {
	Kind string `json:"kind"`         // "human-verify", "decision", "human-action", or "" where the plan does not say
	Text string `json:"text"`         // for the person: what was built, how to look at it, what there is to choose from
	At   string `json:"at,omitempty"` // key of the batch that waits for them: the last one before, else the first one behind; "" where there is none
	Line int    `json:"line"`
}

// Command is a command the plan asks to run, with what it expects of it.
type Command struct {
	Run      string `json:"run"`
	Expected string `json:"expected,omitempty"` // "PASS", "FAIL" or a text that the output must hold
	Line     int    `json:"line"`

	Said string `json:"-"` // the expectation as written; Expected is what it was read as
}

// Named is one path of [Files] at the line that names it.
type Named struct {
	Verb  string // "create", "modify", "test" or "delete"
	Path  string
	Line  int
	Maybe bool // the line says that it depends: "(if needed)", "(optional)"
}

// BlockKind says how the embedded agent carries out a [Block].
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
	Path     string // for file and delete, and for an edit that names its file in the info string
	Text     string
	Expected string // as in [Command]
	Line     int    // line of the fence or of the Run: text
	Task     int    // index into Batch.Tasks; -1 outside any task
}

// Counts leave out fences and comments.
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

// An error makes the plan unfit to run; a warning names what was tolerated; info is worth knowing.
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

// Errors returns the diagnostics that make the plan unfit to run.
func (p *Plan) Errors() []Diagnostic {
	var out []Diagnostic
	for _, d := range p.Diagnostics {
		if d.Severity == SeverityError {
			out = append(out, d)
		}
	}
	return out
}

// Batch returns the batch with the given key.
func (p *Plan) Batch(key string) (*Batch, bool) {
	for i := range p.Batches {
		if p.Batches[i].Key == key {
			return &p.Batches[i], true
		}
	}
	return nil, false
}

// Asked returns the checkpoints at which a person is asked before the batch is merged.
func (p *Plan) Asked(key string) []Checkpoint {
	var out []Checkpoint
	for i := range p.Batches {
		if c := p.Batches[i].Checkpoint; c != nil && c.At == key {
			out = append(out, *c)
		}
	}
	return out
}

// Boxes returns the lines of the checkboxes that are ticked when the batch is done: those of its tasks and of their steps, and
// its own where its format knows no tasks, or where it has none.
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

// Done reports whether the plan itself says that nothing is left to do: each task is ticked off, or
// each box where the format knows no tasks.
func (b *Batch) Done() bool {
	for _, t := range b.Tasks {
		if !t.Done {
			return false
		}
	}
	if len(b.Tasks) > 0 {
		return true
	}
	for _, s := range b.Steps {
		if !s.Done {
			return false
		}
	}
	return len(b.Steps) > 0
}
