package trace

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
)

// Answer lists the links of one line, commit, requirement, task or test.
type Answer struct {
	Asked  string    `json:"asked"`
	Kind   string    `json:"kind"` // line, commit, requirement, task or test
	Made   bool      `json:"made"` // by a run
	Note   string    `json:"note,omitempty"`
	Line   *Line     `json:"line,omitempty"`
	Commit *Authored `json:"commit,omitempty"`
	// batches in the commit's trailers, if the journal does not have their run
	Parts        []Part        `json:"parts,omitempty"`
	Run          string        `json:"run,omitempty"`
	Plan         string        `json:"plan,omitempty"`
	Batches      []Batch       `json:"batches"`
	Tasks        []Task        `json:"tasks"`
	Requirements []Requirement `json:"requirements"`
	Drift        []Drift       `json:"drift"`
}

// Line is a line of a file.
type Line struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Authored holds the author and the message of a commit.
type Authored struct {
	Hash    string    `json:"hash"`
	Author  string    `json:"author"`
	At      time.Time `json:"at"`
	Subject string    `json:"subject"`
	Message string    `json:"-"`
}

// ErrNotCommitted reports that a line is not committed yet.
var ErrNotCommitted = errors.New("the line is not committed yet")

// Blame finds the commit that last changed a line of a file, in the checkout, or in commit rev if it is set.
func Blame(ctx context.Context, repo *git.Repo, rev, file string, line int) (Line, Authored, error) {
	at := fmt.Sprintf("%d,%d", line, line)
	args := []string{"blame", "--porcelain", "-L", at}
	if rev != "" {
		args = append(args, rev)
	}
	out, err := repo.Run(ctx, append(args, "--", file)...)
	if err != nil {
		return Line{}, Authored{}, fmt.Errorf("find the commit of %s:%d: %w", file, line, err)
	}
	hash, _, _ := strings.Cut(out, " ")
	found := Line{Path: file, Line: line}
	for l := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(l, "\t"); ok {
			found.Text = strings.TrimRight(text, "\r\n")
		}
	}
	if strings.Trim(hash, "0") == "" {
		return found, Authored{}, ErrNotCommitted
	}
	c, err := ReadCommit(ctx, repo, hash)
	return found, c, err
}

// ReadCommit reads who made a commit, and its message.
func ReadCommit(ctx context.Context, repo *git.Repo, hash string) (Authored, error) {
	out, err := repo.Run(ctx, "show", "-s", "--no-show-signature", "--format=%H%x1f%an%x1f%at%x1f%s%x1f%B", hash, "--")
	if err != nil {
		return Authored{}, fmt.Errorf("read commit %s: %w", hash, err)
	}
	f := strings.SplitN(out, "\x1f", 5)
	if len(f) < 5 {
		return Authored{}, fmt.Errorf("read commit %s: git printed %q", hash, out)
	}
	at, _ := strconv.ParseInt(f[2], 10, 64)
	return Authored{Hash: f[0], Author: f[1], At: time.Unix(at, 0).UTC(), Subject: f[3], Message: f[4]}, nil
}

// NoRun returns the answer about a commit, file or line that no known run made.
func NoRun(asked, kind, note string) *Answer {
	return &Answer{Asked: asked, Kind: kind, Note: note, Batches: []Batch{}, Tasks: []Task{},
		Requirements: []Requirement{}, Drift: []Drift{}}
}

func (r *Report) answer(asked, kind string, batch func(Batch) bool, task func(Task) bool) Answer {
	a := *NoRun(asked, kind, "")
	a.Run, a.Plan = r.Run, r.Plan
	named := map[string]bool{}
	for _, t := range r.Tasks {
		if !task(t) {
			continue
		}
		a.Tasks = append(a.Tasks, t)
		for _, id := range t.Requirements {
			named[id] = true
		}
	}
	for _, b := range r.Batches {
		if batch(b) || slices.ContainsFunc(a.Tasks, func(t Task) bool { return t.key == b.Key }) {
			a.Batches = append(a.Batches, b)
			a.Made = a.Made || b.merged()
		}
	}
	a.Requirements = append(a.Requirements, lists.Filter(r.Requirements,
		func(q Requirement) bool { return named[q.ID] || asked == q.ID && kind == "requirement" })...)
	a.Drift = append(a.Drift, lists.Filter(r.Drift, func(d Drift) bool {
		return slices.ContainsFunc(a.Tasks, func(t Task) bool { return t.Name == d.Task })
	})...)
	return a
}

// OfBatches returns the answer for batches of the traced run. If a squashed commit contains several batches, only those
// that changed the file count. Tasks that name the file come first.
func (r *Report) OfBatches(asked, kind, file string, parts []Part) Answer {
	if file != "" && len(parts) > 1 {
		var touched []Part
		for _, b := range r.Batches {
			if slices.Contains(parts, b.part) && slices.ContainsFunc(b.Files, func(f File) bool { return f.Path == file }) {
				touched = append(touched, b.part)
			}
		}
		if len(touched) > 0 {
			parts = touched
		}
	}
	a := r.answer(asked, kind, func(b Batch) bool { return slices.Contains(parts, b.part) }, func(t Task) bool {
		return t.Proof != nil && slices.Contains(parts, Part{t.Proof.Run, t.Proof.Batch})
	})
	names := func(t Task) bool {
		return file != "" && (strings.Contains(t.wording, file) || strings.Contains(t.wording, path.Base(file)))
	}
	first := lists.Filter(a.Tasks, names)
	if n := len(first); n > 0 && n < len(a.Tasks) {
		a.Tasks = append(first, slices.DeleteFunc(a.Tasks, names)...)
		said := "names"
		if n > 1 {
			said = fmt.Sprintf("%d name", n)
		}
		a.Note = fmt.Sprintf("the commit belongs to all tasks of the batch; the first %s %s", said, file)
	}
	return a
}

// OfRequirement returns the answer for a requirement, with its parts. A requirement is known if a document states it or
// a task names it.
func (r *Report) OfRequirement(id string) (Answer, bool) {
	q, stated := r.Requirement(id)
	a := r.answer(id, "requirement", func(Batch) bool { return false }, func(t Task) bool {
		return slices.Contains(t.Requirements, id) || slices.Contains(q.Tasks, t.Name)
	})
	if !stated {
		a.Note = "no document states " + id
	}
	a.Requirements = slices.DeleteFunc(a.Requirements,
		func(x Requirement) bool { return x.ID != id && x.Parent != id && x.ID != q.Parent })
	return a, stated || len(a.Tasks) > 0
}

// OfTask returns the answer for a task: "1/2", or only the number if it is unique.
func (r *Report) OfTask(name string) (a Answer, found []Task) {
	is := func(t Task) bool { return t.Name == name }
	if !slices.ContainsFunc(r.Tasks, is) {
		is = func(t Task) bool { return t.Number == name }
	}
	found = append(found, lists.Filter(r.Tasks, is)...)
	return r.answer(name, "task", func(Batch) bool { return false }, is), found
}

// OfTest returns the answer for a test that was new in a batch. name is the whole name, or the part after the last "/",
// "." or "::".
func (r *Report) OfTest(name string) (Answer, bool) {
	is := func(test string) bool {
		rest, ok := strings.CutSuffix(test, name)
		return ok && (rest == "" || strings.HasSuffix(rest, "/") || strings.HasSuffix(rest, ".") ||
			strings.HasSuffix(rest, "::") || strings.HasSuffix(rest, " "))
	}
	brought := func(b Batch) bool { return slices.ContainsFunc(b.NewTests, is) }
	if name == "" || !slices.ContainsFunc(r.Batches, brought) {
		return Answer{}, false
	}
	of := map[string]bool{}
	for _, b := range r.Batches {
		of[b.Key] = brought(b)
	}
	return r.answer(name, "test", brought, func(t Task) bool { return of[t.key] }), true
}
