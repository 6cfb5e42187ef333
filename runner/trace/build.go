package trace

import (
	"cmp"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// Build makes a report. [Report.Locate] adds the data from git.
func Build(in Input) (*Report, error) {
	newest := in.Runs[0]
	r := &Report{
		Run: newest.Summary.Run, Plan: newest.Summary.Plan, Title: newest.Summary.Title, Status: newest.Summary.Status,
		Branch: newest.Summary.Branch, Undone: newest.Summary.Undone, Tasks: []Task{}, Batches: []Batch{},
		Requirements: []Requirement{}, Unnamed: []string{}, Unstated: []Unstated{}, Drift: []Drift{},
	}
	text := in.Text
	if text == nil {
		text, r.PlanGone = newest.PlanText, true
	}
	plan, err := planparse.Parse(r.Plan, text)
	if err != nil {
		return nil, err
	}
	b := &building{Report: r, in: in, plan: plan, text: text}
	b.tasks()
	if err := b.proofs(); err != nil {
		return nil, err
	}
	b.batches()
	b.requirements()
	return r, nil
}

// building is a report on its way.
type building struct {
	*Report
	in   Input
	plan *planparse.Plan
	text []byte
}

// tasksOf lists the tasks of a plan with their wording. A batch without tasks is one.
func tasksOf(plan *planparse.Plan, text []byte) []Task {
	var out []Task
	wording := planparse.WordingOf(text)
	alike := !slices.ContainsFunc(plan.Batches, func(b planparse.Batch) bool { // each batch is one task
		return len(b.Tasks) > 1 || len(b.Tasks) == 1 && b.Tasks[0].Number != b.Number
	})
	for i := range plan.Batches {
		b := &plan.Batches[i]
		if b.Checkpoint != nil {
			continue
		}
		for _, t := range b.Tasks {
			name := b.Number + "/" + t.Number
			if alike {
				name = b.Number
			}
			out = append(out, Task{
				Name: name, Batch: b.Number, Number: t.Number, Title: t.Title, Line: t.Line, Ticked: t.Done,
				Requirements: []string{}, State: Open, key: b.Key, wording: wording(t.Line, max(t.Line, t.EndLine)),
			})
		}
		if len(b.Tasks) == 0 {
			out = append(out, Task{
				Name: b.Number, Batch: b.Number, Title: b.Title, Line: b.StartLine, Ticked: b.Done(), Requirements: []string{},
				State: Open, key: b.Key, wording: wording(b.StartLine, b.EndLine),
			})
		}
	}
	return out
}

// tasks lists the tasks with the requirements that they name. Requirements of a batch count for each of its tasks.
func (b *building) tasks() {
	b.Tasks = append(b.Tasks, tasksOf(b.plan, b.text)...)
	known := map[string]bool{}
	for _, m := range b.plan.Mentions(b.text, b.in.Stated.All) {
		batch := &b.plan.Batches[m.Batch]
		line := 0
		if m.Task >= 0 {
			line = batch.Tasks[m.Task].Line
		}
		task := batch.Number
		for i := range b.Tasks {
			t := &b.Tasks[i]
			if t.key != batch.Key || line > 0 && t.Line != line {
				continue
			}
			if line > 0 {
				task = t.Name
			}
			t.Requirements = lists.Add(t.Requirements, m.ID)
		}
		if at := m.ID + "\x00" + task; !m.Known && !known[at] {
			known[at] = true
			b.Unstated = append(b.Unstated, Unstated{m.ID, task, m.Line})
		}
	}
}

// proofs finds the newest run that proved each task. Tasks with the same wording are the same; otherwise the number
// within the batch decides.
func (b *building) proofs() error {
	for at, run := range b.in.Runs {
		then, err := planparse.Parse(run.Summary.Plan, run.PlanText)
		if err != nil {
			return err
		}
		old := tasksOf(then, run.PlanText)
		used := make([]bool, len(old))
		pair := make([]int, len(b.Tasks))
		match := func(same func(now, then Task) bool) {
			for i, t := range b.Tasks {
				for j := range old {
					if pair[i] == 0 && !used[j] && same(t, old[j]) {
						pair[i], used[j] = j+1, true
					}
				}
			}
		}
		match(func(now, then Task) bool {
			return now.key == then.key && now.Number == then.Number && now.wording == then.wording
		})
		match(func(now, then Task) bool { return now.wording == then.wording })
		match(func(now, then Task) bool { return now.key == then.key && now.Number == then.Number })
		for i := range b.Tasks {
			if pair[i] > 0 {
				b.prove(&b.Tasks[i], old[pair[i]-1], run, at == 0)
			}
		}
	}
	for i := range b.Tasks {
		if t := &b.Tasks[i]; t.Proof == nil && t.Ticked {
			t.State = Ticked
		}
	}
	return nil
}

// prove adds a run's proof of a task, unless a newer run has proved it.
func (b *building) prove(t *Task, then Task, run Run, newest bool) {
	sum, ok := batchOf(run, then.key)
	if !ok || t.Proof != nil || run.Summary.Undone != "" {
		return
	}
	if sum.State != string(runner.Passed) {
		switch {
		case newest && sum.State == string(runner.Failed):
			t.State = Failed
		case newest && sum.State == string(runner.Skipped):
			t.State = Skipped
		}
		return
	}
	t.Proof = &Proof{Run: run.Summary.Run, Batch: then.key, Commit: sum.Commit}
	t.State = Proven
	d := Drift{Kind: "task", ID: t.Name, Path: b.Plan, Line: t.Line, Run: run.Summary.Run, Commit: sum.Commit,
		Then: then.wording, Now: t.wording, Task: t.Name}
	switch {
	case accepted(run, then.key) && b.asAccepted(run, then.key, t.key): // the run continued with the present wording
	case accepted(run, then.key):
		d.Then = "" // and which wording that was the journal does not have
		fallthrough
	case d.Then != d.Now:
		t.State = Older
		b.Drift = append(b.Drift, d)
	}
	for _, id := range t.Requirements {
		b.requirementDrift(t, run, id, sum.Commit)
	}
}

// requirementDrift notes that a requirement was worded otherwise when a run proved a task of it.
func (b *building) requirementDrift(t *Task, run Run, id, commit string) {
	i := slices.IndexFunc(run.Info.Requirements, func(q runner.RequirementInfo) bool { return q.ID == id })
	if i < 0 {
		return // no document stated it then, or the run is older than stored requirements
	}
	then := run.Info.Requirements[i]
	d := Drift{Kind: "requirement", ID: id, Path: then.Path, Run: run.Summary.Run, Commit: commit, Then: then.Text,
		Task: t.Name}
	if j := slices.IndexFunc(b.in.Stated.All, func(q planparse.Requirement) bool { return q.ID == id }); j >= 0 {
		q := b.in.Stated.All[j]
		d.Path, d.Line, d.Now = q.Path, q.Line, q.Text
	}
	if d.Now != "" && runner.WordingDigest(d.Now) == then.Digest {
		return
	}
	t.State = Older
	b.Drift = append(b.Drift, d)
}

func batchOf(run Run, key string) (runner.BatchSummary, bool) {
	return lists.Find(run.Summary.Batches, func(s runner.BatchSummary) bool { return s.Key == key })
}

func digestOf(info runner.Info, key string) string {
	return lists.First(info.Batches, func(b runner.BatchInfo) bool { return b.Key == key }).Digest
}

// accepted reports whether a run continued with a changed text of a batch.
func accepted(run Run, key string) bool { return digestOf(run.Started, key) != digestOf(run.Info, key) }

// asAccepted reports whether the text accepted by a run equals the current one. It compares with the boxes in their
// present state, all open, and all ticked, because the digest of a batch includes their state.
func (b *building) asAccepted(run Run, key, now string) bool {
	batch, ok := b.plan.Batch(now)
	if !ok {
		return false
	}
	lines := lists.Set(batch.Boxes())
	ticked, _ := planparse.Tick(b.text, lines)
	for _, text := range [][]byte{b.text, planparse.Untick(b.text, lines), ticked} {
		if p, err := planparse.Parse(b.Plan, text); err == nil {
			if x, ok := p.Batch(now); ok && journal.BatchDigest(x) == digestOf(run.Info, key) {
				return true
			}
		}
	}
	return false
}

// batches lists the batches with the data of the run that proved their tasks, else of the newest run.
func (b *building) batches() {
	for i := range b.plan.Batches {
		pb := &b.plan.Batches[i]
		if pb.Checkpoint != nil {
			continue
		}
		run, key := b.in.Runs[0], pb.Key
		for _, t := range b.Tasks {
			if t.key != pb.Key || t.Proof == nil {
				continue
			}
			key = t.Proof.Batch
			run = b.in.Runs[slices.IndexFunc(b.in.Runs, func(r Run) bool { return r.Summary.Run == t.Proof.Run })]
			break
		}
		out := Batch{Key: pb.Key, Number: pb.Number, Title: pb.Title, Line: pb.StartLine, Run: run.Summary.Run,
			State: "unknown", Gates: []runner.GateResult{}, part: Part{run.Summary.Run, key}}
		if sum, ok := batchOf(run, key); ok {
			out.take(sum)
		} else {
			out.Reason = "the run does not have it"
		}
		b.Batches = append(b.Batches, out)
	}
}

// take adds a run's results of the batch.
func (b *Batch) take(s runner.BatchSummary) {
	b.State, b.Reason, b.Attempts, b.Agent = s.State, s.Reason, s.Attempts, s.Agent
	b.TestsBefore, b.TestsAfter, b.Receipt = s.TestsBefore, s.TestsAfter, s.Receipt
	b.Candidates, b.Sampling = s.Candidates, s.Sampling
	b.Gates = append(b.Gates, s.Gates...)
	for _, g := range s.Gates {
		if g.Proof != nil && g.Proof.Named {
			b.NewTests = append(b.NewTests, g.Proof.New...)
			if b.NewTests == nil {
				b.NewTests = []string{}
			}
			b.MoreNew += g.Proof.MoreNew
		}
	}
	if s.State == string(runner.Passed) && s.Commit != "" {
		b.Commit = &Commit{Hash: s.Commit}
	}
}

// requirements lists the requirements with their tasks. A task that names a requirement names its parts, and one that
// names a part names the whole.
func (b *building) requirements() {
	parent := map[string]string{}
	for _, q := range b.in.Stated.All {
		parent[q.ID] = q.Parent
	}
	for _, q := range b.in.Stated.All {
		out := Requirement{Requirement: q, Tasks: []string{}, State: Unnamed}
		var of []Task
		for _, t := range b.Tasks {
			if slices.ContainsFunc(t.Requirements,
				func(id string) bool { return id == q.ID || parent[id] == q.ID || q.Parent != "" && id == q.Parent }) {
				of = append(of, t)
				out.Tasks = append(out.Tasks, t.Name)
			}
		}
		if len(of) == 0 && b.in.Stated.repoWide[q.Path] {
			continue
		}
		if out.State = stateOf(of); out.State == Unnamed {
			b.Unnamed = append(b.Unnamed, q.ID)
		}
		b.Requirements = append(b.Requirements, out)
	}
	slices.SortStableFunc(b.Requirements,
		func(x, y Requirement) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Line, y.Line)) })
}

// stateOf is the state of a requirement whose tasks are these.
func stateOf(tasks []Task) State {
	n := map[State]int{}
	for _, t := range tasks {
		n[t.State]++
	}
	switch {
	case len(tasks) == 0:
		return Unnamed
	case n[Failed] > 0:
		return Failed
	case n[Older] > 0:
		return Older
	case n[Proven] == len(tasks):
		return Proven
	case n[Proven] > 0:
		return Partly
	}
	return Open
}
