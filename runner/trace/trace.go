// Package trace follows work from a requirement to the code that meets it, and back: which tasks name a requirement, which
// batch did a task, which commit holds the batch, which files and tests it brought, and which gates it passed.
//
// All of it is read: from the journals of the runs of one plan, from the plan, from the documents beside it, and from git.
// What a run did not record is unknown, and never taken for nothing.
package trace

import (
	"slices"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

// Run is a run of the plan as its journal has it.
type Run struct {
	Summary  runner.Summary
	Started  runner.Info // as the run was started
	Info     runner.Info // as it was known last
	PlanText []byte      // that the run was started with
}

// Input is what a [Report] is made of.
type Input struct {
	Runs   []Run  // of one plan, newest first; the first is traced, the others proved what it left out. At least one
	Text   []byte // the plan as it is now, with secrets removed as in the journal; nil where the file is gone
	Stated Stated
}

// State says what is known of a task or a requirement.
type State string

// The states.
const (
	Proven  State = "proven"  // a run merged it, and the wording is the same
	Older   State = "older"   // a run merged it against a wording that was changed since
	Partly  State = "partly"  // some tasks of the requirement are proven
	Failed  State = "failed"  // its batch failed
	Skipped State = "skipped" // its batch was left out, and no run proved it
	Ticked  State = "ticked"  // its box is ticked, and no run proved it
	Open    State = "open"
	Unnamed State = "unnamed" // no task names the requirement
)

// Report is a plan with what its runs proved.
type Report struct {
	Run          string           `json:"run"`
	Plan         string           `json:"plan"`
	Title        string           `json:"title"`
	Status       runner.RunStatus `json:"status"`
	Branch       string           `json:"branch"`           // the run branch
	On           string           `json:"on"`               // the branch that commits are looked for on; "" where HEAD is detached
	Undone       string           `json:"undone,omitempty"` // commit that took back what the run landed: it proves nothing any more
	PlanGone     bool             `json:"plan_gone,omitempty"`
	Tasks        []Task           `json:"tasks"`
	Batches      []Batch          `json:"batches"`
	Requirements []Requirement    `json:"requirements"`
	Unnamed      []string         `json:"unnamed"`  // requirements that no task names
	Unstated     []Unstated       `json:"unstated"` // requirements that tasks name and no document states
	Drift        []Drift          `json:"drift"`    // what was proven against older wording
}

// Task is a task of the plan. A batch without tasks counts as one.
type Task struct {
	Name         string   `json:"name"`   // how people call it: "2/1" is task 1 of batch 2
	Batch        string   `json:"batch"`  // number of its batch in the plan
	Number       string   `json:"number"` // "" where it is a batch
	Title        string   `json:"title"`
	Line         int      `json:"line"` // in the plan
	Ticked       bool     `json:"ticked"`
	Requirements []string `json:"requirements"`
	State        State    `json:"state"`
	Proof        *Proof   `json:"proof"` // null: no run proved it

	key     string // of its batch in the plan
	wording string
}

// Proof says which run proved a task, as part of which batch.
type Proof struct {
	Run    string `json:"run"`
	Batch  string `json:"batch"` // key in that run
	Commit string `json:"commit"`
}

// Batch is a batch of the plan with what the run made of it that proved it, or the newest run where none did.
type Batch struct {
	Key         string                     `json:"key"`
	Number      string                     `json:"number"`
	Title       string                     `json:"title"`
	Line        int                        `json:"line"`
	Run         string                     `json:"run"`
	State       string                     `json:"state"` // as in the journal
	Reason      string                     `json:"reason,omitempty"`
	Attempts    int                        `json:"attempts"`
	Agent       string                     `json:"agent,omitempty"`
	Commit      *Commit                    `json:"commit"` // null where it is not merged
	Files       []File                     `json:"files"`  // null: unknown
	TestsBefore *int                       `json:"tests_before"`
	TestsAfter  *int                       `json:"tests_after"`
	NewTests    []string                   `json:"new_tests"` // null: not compared by name
	MoreNew     int                        `json:"more_new_tests,omitempty"`
	Gates       []runner.GateResult        `json:"gates"`
	Candidates  []*runner.CandidateSummary `json:"candidates,omitempty"`
	Sampling    string                     `json:"sampling,omitempty"`
	Receipt     string                     `json:"receipt,omitempty"`

	part Part // what the trailers of its commit say
}

// Commit is the commit of a batch, and where it is now.
type Commit struct {
	Hash  string `json:"hash"`          // that the journal recorded
	Now   string `json:"now,omitempty"` // that carries the batch's trailers now, where that is another one
	On    bool   `json:"on"`            // it, or Now, is on the branch that was looked at
	Where string `json:"where"`         // in words
}

// File is a file that a batch changed. Counts are null for binary files.
type File struct {
	Path    string `json:"path"`
	Added   *int   `json:"added"`
	Removed *int   `json:"removed"`
}

// Requirement is a requirement with the tasks that name it.
type Requirement struct {
	planparse.Requirement
	Tasks []string `json:"tasks"` // names of tasks
	State State    `json:"state"`
}

// Unstated is a requirement that a task names and no document states.
type Unstated struct {
	ID   string `json:"id"`
	Task string `json:"task"`
	Line int    `json:"line"`
}

// Drift is a wording that was changed after a run proved it.
type Drift struct {
	Kind   string `json:"kind"` // "task" or "requirement"
	ID     string `json:"id"`
	Path   string `json:"path"`
	Line   int    `json:"line"` // of the wording now; 0 where it is gone
	Run    string `json:"run"`
	Commit string `json:"commit"`
	Then   string `json:"then"` // "" where it was not kept
	Now    string `json:"now"`  // "" where it is gone
	Task   string `json:"task,omitempty"`
}

// Counts sums up the tasks of a report.
type Counts struct{ Tasks, Proven, Older, Failed, Ticked, Open int }

// Count sums up the tasks.
func (r *Report) Count() Counts {
	c := Counts{Tasks: len(r.Tasks)}
	for _, t := range r.Tasks {
		switch t.State {
		case Proven:
			c.Proven++
		case Older:
			c.Older++
		case Failed:
			c.Failed++
		case Ticked:
			c.Ticked++
		default:
			c.Open++
		}
	}
	return c
}

// Requirement finds a requirement by its id.
func (r *Report) Requirement(id string) (Requirement, bool) {
	i := slices.IndexFunc(r.Requirements, func(q Requirement) bool { return q.ID == id })
	if i < 0 {
		return Requirement{}, false
	}
	return r.Requirements[i], true
}

// Lines counts the lines that a batch added and removed; binary files count nothing.
func (b Batch) Lines() (added, removed int) {
	for _, f := range b.Files {
		if f.Added != nil && f.Removed != nil {
			added, removed = added+*f.Added, removed+*f.Removed
		}
	}
	return added, removed
}

// TasksOf lists the tasks of a batch.
func (r *Report) TasksOf(b Batch) []Task {
	var out []Task
	for _, t := range r.Tasks {
		if t.key == b.Key {
			out = append(out, t)
		}
	}
	return out
}
