package logged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/training"
)

// blueprintCall is the type of the calls of cold reviewers.
const blueprintCall = "blueprint_review"

// stages maps the type of a call in the log to the stage that its examples train.
var stages = map[string]training.Stage{
	"task_analysis":      training.TaskAnalysis,
	"scope_judgment":     training.Scope,
	"precision_judgment": training.Precision,
	"execute_plan":       training.ExecutePlan,
	"execute_code":       training.ExecuteCode,
	"review":             training.Review,
	blueprintCall:        training.Review,
}

// task holds the data of a logged task.
type task struct {
	run       string
	proof     *proof
	why       error // why it has no proof
	after     aftermath
	decisions []store.FileDecision
	attempts  []store.Attempt
	files     []training.File // files that retrieval selected, in their state before the change
}

// calls yields the model calls in order.
func (b *build) calls(ctx context.Context) error {
	for c, err := range b.Log.Calls(ctx) {
		if err != nil {
			return err
		}
		if c.At.Before(b.Since) || !b.wantsTask(c.Task) {
			continue
		}
		stage, known := stages[c.Type]
		if known && !b.wants(stage) || !known && len(b.Stages) > 0 {
			continue
		}
		where := fmt.Sprintf("call %d of task %s", c.ID, c.Task)
		switch {
		case !known:
			err = noStage
		case strings.TrimSpace(c.Response) == "":
			err = noAnswer
		case stage == training.Review:
			err = b.review(where, c.Call)
		default:
			err = b.call(ctx, where, stage, c.Call)
		}
		if err := b.refuse(where, err); err != nil {
			return err
		}
	}
	return nil
}

// taskOf looks a task up.
func (b *build) taskOf(ctx context.Context, id string) (*task, error) {
	return b.tasks.Load(id, func() (*task, error) {
		list, err := b.Log.Tasks(ctx, store.TaskFilter{Task: id})
		if err != nil {
			return nil, unreadable("the row of task "+id, err)
		}
		plan := ""
		if len(list) == 1 {
			plan = list[0].FinalPlan
		}
		r, p, err := b.ofTask(ctx, id, plan)
		if why, refused := errors.AsType[refusal](err); refused {
			return &task{why: why}, nil
		}
		if err != nil {
			return nil, err
		}
		t := &task{run: r.id, proof: p}
		if t.after, err = b.became(ctx, r.id, t.proof); err != nil {
			return nil, err
		}
		all, err := b.Log.Decisions(ctx, id)
		if err != nil {
			return nil, unreadable("decisions of task "+id, err)
		}
		t.decisions = lastWord(all)
		if t.attempts, err = b.Log.Attempts(ctx, id); err != nil {
			return nil, unreadable("attempts of task "+id, err)
		}
		t.files, err = b.taken(t)
		return t, err
	})
}

// unreadable returns an error about unreadable rows. It does not apply to a database that is damaged or in use.
func unreadable(which string, err error) error {
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrBusy) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", store.ErrRow, which, err)
}

// taken lists the file versions that retrieval selected.
func (b *build) taken(t *task) ([]training.File, error) {
	var paths, names []string
	for _, d := range t.decisions {
		if d.Included && !slices.Contains(paths, d.Path) && !strings.Contains(d.Path, "\n") {
			paths = append(paths, d.Path)
			names = append(names, t.proof.base+":"+d.Path)
		}
	}
	found, err := b.objects.Read(names)
	if err != nil {
		return nil, err
	}
	var out []training.File
	for i, o := range found {
		if o.Kind == "blob" {
			out = append(out, training.File{Path: paths[i], Blob: o.Hash})
		}
	}
	return out, nil
}

// call yields one question of a stage with its answer.
func (b *build) call(ctx context.Context, where string, stage training.Stage, c store.Call) error {
	t, err := b.taskOf(ctx, c.Task)
	if err != nil {
		return err
	}
	if t.why != nil {
		return t.why
	}
	p := t.proof
	key := ""
	if len(p.batches) == 1 {
		key = p.batches[0]
	}
	e := training.Example{
		Stage: stage, Prompt: training.Question(c.System, c.Prompt), Completion: c.Response,
		Origin: training.Origin{
			Run: t.run, Batch: key, Task: c.Task, Call: c.ID, Receipt: p.sum, Commit: p.head, Parent: p.base, Model: c.Model,
			At: c.At, Files: t.files,
		},
	}
	if stage == training.ExecuteCode {
		for _, x := range p.changed {
			old, now := x.Blobs()
			for _, blob := range []string{old, now} {
				if blob != "" {
					e.Origin.Files = append(slices.Clip(e.Origin.Files), training.File{Path: x.Path, Blob: blob})
				}
			}
		}
	}
	e.Origin.Files = training.SortedFiles(e.Origin.Files)
	quality, signals, err := t.measure(stage, c)
	if err != nil {
		return err
	}
	e.Signals = append(signals, t.after.signals()...)
	e.Quality = t.after.worth(quality)
	e.Positive = !t.after.reverted()
	return b.answer(where, c, e)
}

// answer passes on the example of a call. An answer that could not be used is worth nothing.
func (b *build) answer(where string, c store.Call, e training.Example) error {
	if c.Error != "" {
		e.Signals = append([]training.Signal{training.Known("usable", 0, c.Error)}, e.Signals...)
		e.Quality = new(0.0)
	}
	e.Positive = e.Positive && (e.Quality == nil || *e.Quality >= goodEnough)
	return b.emit(where, e)
}

// goodEnough is the least quality of a positive example. An answer of unknown quality in a successful task is positive
// too; later selection may drop it.
const goodEnough = 0.5

// measure returns the quality of an answer, by the table of TRAIN-04.
func (t *task) measure(stage training.Stage, c store.Call) (*float64, []training.Signal, error) {
	j := judge(t.decisions, t.proof)
	switch stage {
	case training.TaskAnalysis:
		return j.found.Value, []training.Signal{j.found}, nil
	case training.Scope:
		return both(j.found.Value, j.needed.Value), []training.Signal{j.found, j.needed}, nil
	case training.Precision:
		first := training.Signal{Name: "attempts",
			Value: share(t.proof.merged, t.proof.merged*max(1, t.proof.receipt.Attempts)),
			Note:  fmt.Sprintf("merged with attempt %d", t.proof.receipt.Attempts)}
		return mean(j.primary.Value, first.Value), []training.Signal{j.primary, first}, nil
	case training.ExecutePlan:
		s := shareOf("plan_success", t.proof.merged, t.proof.of, "%d of %d batches merged")
		return s.Value, []training.Signal{s}, nil
	}
	if c.Error != "" {
		return new(0.0), nil, nil // an unusable answer never reached a gate
	}
	passed := t.verdict(c)
	if passed == nil {
		return nil, nil, noVerdict
	}
	v := verdictOf(passed)
	return v, []training.Signal{{Name: "gates", Value: v, Note: fmt.Sprintf("attempt %d", c.Attempt)}}, nil
}

// verdict returns the gate verdict of the attempt that an answer was part of. In a tournament it is the verdict of the
// candidate with this answer.
func (t *task) verdict(c store.Call) *bool {
	of := lists.Filter(t.attempts, func(a store.Attempt) bool { return a.Number == c.Attempt && !a.Unjudged })
	if len(of) == 1 {
		return &of[0].Success
	}
	for _, a := range of {
		if strings.TrimSpace(a.Response) == strings.TrimSpace(c.Response) {
			return &a.Success
		}
	}
	return nil
}
