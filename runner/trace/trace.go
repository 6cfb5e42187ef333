// Package trace links requirements to the code that meets them, and back: the tasks of a requirement, the batch of
// a task, the commit of a batch, its files and tests, and the gates it passed.
//
// All data is read: from the journals of one plan's runs, the plan, the documents next to it, and git. Data that a
// run did not record is unknown, not empty.
package trace

import (
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
)

// Run is a run of the plan, from its journal.
type Run struct {
	Summary  runner.Summary
	Started  runner.Info // at the start of the run
	Info     runner.Info // last known
	PlanText []byte      // at the start of the run
}

// Input holds the inputs of a [Report].
type Input struct {
	Runs   []Run  // of one plan, newest first, at least one; the first is traced, the others supply missing proofs
	Text   []byte // current plan, with secrets removed as in the journal; nil if the file is missing
	Stated Stated
}

// State is the state of a task or a requirement.
type State string

// The states.
const (
	Proven  State = "proven"  // a run merged it with the current wording
	Older   State = "older"   // a run merged it with an older wording
	Partly  State = "partly"  // some tasks of the requirement are proven
	Failed  State = "failed"  // its batch failed
	Skipped State = "skipped" // its batch was skipped, and no run proved it
	Ticked  State = "ticked"  // its box is ticked, and no run proved it
	Open    State = "open"
	Unnamed State = "unnamed" // no task names the requirement
)

// Report shows a plan with the proofs of its runs.
type Report struct {
	Run    string           `json:"run"`
	Plan   string           `json:"plan"`
	Title  string           `json:"title"`
	Status runner.RunStatus `json:"status"`
	Branch string           `json:"branch"` // the run branch
	// the branch on which commits are searched; "" if HEAD is detached
	On string `json:"on"`
	// commit that reverted the landing; with it, the run proves nothing
	Undone       string        `json:"undone,omitempty"`
	PlanGone     bool          `json:"plan_gone,omitempty"`
	Tasks        []Task        `json:"tasks"`
	Batches      []Batch       `json:"batches"`
	Requirements []Requirement `json:"requirements"`
	Unnamed      []string      `json:"unnamed"`  // requirements that no task names
	Unstated     []Unstated    `json:"unstated"` // requirements in tasks that no document states
	Drift        []Drift       `json:"drift"`    // changes of wording since the proof
}

// Task is a task of the plan. A batch without tasks counts as one.
type Task struct {
	Name         string   `json:"name"`   // display name: "2/1" is task 1 of batch 2
	Batch        string   `json:"batch"`  // number of its batch in the plan
	Number       string   `json:"number"` // "" if it is a batch
	Title        string   `json:"title"`
	Line         int      `json:"line"` // in the plan
	Ticked       bool     `json:"ticked"`
	Requirements []string `json:"requirements"`
	State        State    `json:"state"`
	Proof        *Proof   `json:"proof"` // null if no run proved it

	key     string // of its batch in the plan
	wording string
}

// Proof names the run and the batch that proved a task.
type Proof struct {
	Run    string `json:"run"`
	Batch  string `json:"batch"` // key in that run
	Commit string `json:"commit"`
}

// Batch is a batch of the plan with the data of the run that proved it, or of the newest run if none did.
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
	Commit      *Commit                    `json:"commit"` // null if not merged
	Files       []File                     `json:"files"`  // null: unknown
	TestsBefore *int                       `json:"tests_before"`
	TestsAfter  *int                       `json:"tests_after"`
	NewTests    []string                   `json:"new_tests"` // null if not compared by name
	MoreNew     int                        `json:"more_new_tests,omitempty"`
	Gates       []runner.GateResult        `json:"gates"`
	Candidates  []*runner.CandidateSummary `json:"candidates,omitempty"`
	Sampling    string                     `json:"sampling,omitempty"`
	Receipt     string                     `json:"receipt,omitempty"`

	part Part // content of its commit's trailers
}

// Commit is the commit of a batch and its current location.
type Commit struct {
	Hash  string `json:"hash"`          // as recorded in the journal
	Now   string `json:"now,omitempty"` // commit that has the batch's trailers now, if different
	On    bool   `json:"on"`            // Hash or Now is on the searched branch
	Where string `json:"where"`         // as text
}

// File is a file that a batch changed. Counts are null for binary files.
type File struct {
	Path    string `json:"path"`
	Added   *int   `json:"added"`
	Removed *int   `json:"removed"`
}

// Requirement is a requirement with its tasks.
type Requirement struct {
	planparse.Requirement
	Tasks []string `json:"tasks"` // names of tasks
	State State    `json:"state"`
}

// Unstated is a requirement that a task names but no document states.
type Unstated struct {
	ID   string `json:"id"`
	Task string `json:"task"`
	Line int    `json:"line"`
}

// Drift is a change of wording after a proof.
type Drift struct {
	Kind   string `json:"kind"` // "task" or "requirement"
	ID     string `json:"id"`
	Path   string `json:"path"`
	Line   int    `json:"line"` // of the current wording; 0 if the plan no longer has the task
	Run    string `json:"run"`
	Commit string `json:"commit"`
	Then   string `json:"then"` // "" if not stored
	Now    string `json:"now"`  // "" if it no longer exists
	Task   string `json:"task,omitempty"`
}

// Counts holds the numbers of tasks by state, and that of the proven requirements.
type Counts struct{ Tasks, Proven, Older, Failed, Ticked, Open, Requirements int }

// Count returns the numbers of tasks by state, and that of the proven requirements.
func (r *Report) Count() Counts {
	c := Counts{Tasks: len(r.Tasks),
		Requirements: lists.Count(r.Requirements, func(q Requirement) bool { return q.State == Proven })}
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

// Requirement returns a requirement by its id.
func (r *Report) Requirement(id string) (Requirement, bool) {
	return lists.Find(r.Requirements, func(q Requirement) bool { return q.ID == id })
}

// Lines returns the numbers of added and removed lines, without binary files.
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
	return slices.DeleteFunc(slices.Clone(r.Tasks), func(t Task) bool { return t.key != b.Key })
}

// The limits for reading documents.
const (
	maxDocument  = 4 << 20
	maxDocuments = 200
)

// Stated are the requirements that the documents of a plan state.
type Stated struct {
	All      []planparse.Requirement
	repoWide map[string]bool // documents of the whole repository, whose requirements need not all be named by a task
}

// Read reads the requirements that belong to a plan: those of the plan itself, of spec.md, requirements.md and prd.md
// next to it, of specs/*/spec.md below its folder, and of the markdown files that the plan links to before its first
// batch. From requirements.md and docs/requirements.md of the repository, only requirements named by a task count.
//
// name is the plan's path in files. hide removes secrets from a text. Unreadable documents are ignored.
func Read(files fs.FS, name string, text []byte, hide func(string) string) Stated {
	plan, err := planparse.Parse(name, text)
	if err != nil {
		return Stated{}
	}
	s := Stated{repoWide: map[string]bool{}}
	taken := map[string]bool{}
	s.add(plan.Requirements(name, text), taken)
	dir := path.Dir(name)
	near := []string{path.Join(dir, "spec.md"), path.Join(dir, "requirements.md"), path.Join(dir, "prd.md")}
	if below, err := fs.Glob(files, path.Join(literal(dir), "specs/*/spec.md")); err == nil {
		near = append(near, below...)
	}
	near = append(near, linked(plan.Preamble, dir)...)
	seen := map[string]bool{name: true}
	read := func(list []string, repoWide bool) {
		for _, doc := range list {
			if seen[doc] || len(seen) > maxDocuments {
				continue
			}
			seen[doc], s.repoWide[doc] = true, repoWide
			if src, ok := document(files, doc); ok {
				s.add(planparse.Requirements(doc, []byte(hide(string(src)))), taken)
			}
		}
	}
	read(near, false)
	read([]string{"requirements.md", "docs/requirements.md"}, true)
	return s
}

// literal makes a path a pattern that only matches itself.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// document reads a file of at most maxDocument bytes.
func document(files fs.FS, name string) ([]byte, bool) {
	f, err := files.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxDocument {
		return nil, false
	}
	src, err := io.ReadAll(io.LimitReader(f, maxDocument))
	return src, err == nil
}

// linked lists the markdown files that a text names in links and in code, as paths from the root or from dir.
func linked(text, dir string) []string {
	var out []string
	for _, m := range regexp.MustCompile("\\]\\(<?([^)<>\\s#]+\\.md)|`([^`\\s]+\\.md)`").FindAllStringSubmatch(text, -1) {
		name := m[1] + m[2]
		for _, full := range []string{path.Join(dir, name), path.Clean(strings.TrimPrefix(name, "/"))} {
			if fs.ValidPath(full) && !slices.Contains(out, full) {
				out = append(out, full)
			}
		}
	}
	return out
}

// add adds the requirements of a document. An id that was stated before keeps its meaning; OpenSpec titles may
// occur in several capabilities.
func (s *Stated) add(list []planparse.Requirement, taken map[string]bool) {
	renamed := map[string]string{}
	for _, q := range list {
		if to, ok := renamed[q.Parent]; ok {
			q.ID, q.Parent = to+strings.TrimPrefix(q.ID, q.Parent), to
		} else if taken[q.ID] && q.Kind == planparse.KindRequirement && q.ID == q.Title {
			to := path.Base(path.Dir(q.Path)) + ": " + q.ID
			renamed[q.ID], q.ID = to, to
		}
		if !taken[q.ID] {
			taken[q.ID] = true
			s.All = append(s.All, q)
		}
	}
}

// Info returns the requirements that a run stores: those in the plan's own documents, and those that its batches name.
func (s Stated) Info(plan *planparse.Plan, text []byte) []runner.RequirementInfo {
	named := map[string][]string{}
	for _, m := range plan.Mentions(text, s.All) {
		if key := plan.Batches[m.Batch].Key; !slices.Contains(named[m.ID], key) {
			named[m.ID] = append(named[m.ID], key)
		}
	}
	var out []runner.RequirementInfo
	for _, q := range s.All {
		if s.repoWide[q.Path] && named[q.ID] == nil {
			continue
		}
		out = append(out, runner.RequirementInfo{
			ID: q.ID, Path: q.Path, Line: q.Line, Digest: runner.WordingDigest(q.Text), Text: q.Text, Batches: named[q.ID],
		})
	}
	return out
}
