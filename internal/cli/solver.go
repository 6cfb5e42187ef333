package cli

import (
	"cmp"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/google/uuid"

	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/tokens"
)

// Prompts returns the layer of the project's own prompts.
func (p *Project) Prompts() prompt.Layer {
	return prompt.DirLayer(filepath.Join(p.Layout.Root, "prompts"))
}

// NewTaskID returns a random UUID (version 4).
func NewTaskID() string { return uuid.NewString() }

// SolveOptions holds the solver flags of the command line. The settings supply missing values; if they do not either,
// it is an error (CFG-04).
type SolveOptions struct {
	Stages string
	Budget tokens.Budget // window 0: take it from the settings
	Loops  figure
	Task   string // task for which a plan is made
}

// figure is a flag for an integer that may be missing.
type figure struct{ N *int }

func (f *figure) String() string {
	if f.N == nil {
		return ""
	}
	return strconv.Itoa(*f.N)
}

func (f *figure) Type() string { return "int" }

func (f *figure) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("use a whole number, 0 or above")
	}
	f.N = &n
	return nil
}

// Keep stores the given flags for a later resume.
func (o SolveOptions) Keep(set func(name, value string, on bool)) {
	set("stages", o.Stages, o.Stages != "")
	set("context-window", strconv.Itoa(o.Budget.Window), o.Budget.Window > 0)
	set("reserved-tokens", strconv.Itoa(o.Budget.Reserved), o.Budget.Window > 0)
	set("max-refinement-loops", o.Loops.String(), o.Loops.N != nil)
	set("task", o.Task, o.Task != "")
}

// Take restores the flags stored by keep.
func (o *SolveOptions) Take(flags map[string]string) {
	o.Stages, o.Task = cmp.Or(o.Stages, flags["stages"]), cmp.Or(o.Task, flags["task"])
	if o.Loops.N == nil && flags["max-refinement-loops"] != "" {
		_ = o.Loops.Set(flags["max-refinement-loops"]) // it was a valid number when it was stored
	}
	if o.Budget.Window == 0 {
		o.Budget.Window, _ = strconv.Atoi(flags["context-window"])
		o.Budget.Reserved, _ = strconv.Atoi(flags["reserved-tokens"])
	}
}
