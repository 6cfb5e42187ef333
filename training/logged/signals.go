package logged

import (
	"context"
	"fmt"
	"slices"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/outcomes"
)

// share returns part/whole, or nil if whole is 0.
func share(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

// shareOf returns the signal of a share. note has a place for each number.
func shareOf(name string, part, whole int, note string) training.Signal {
	return training.Signal{Name: name, Value: share(part, whole), Note: fmt.Sprintf(note, part, whole)}
}

// aftermath holds the later outcomes of code, as far as they were recorded (see training outcomes sync).
type aftermath struct{ list []store.TrainingSignal }

// became reads the later outcomes of the code of a proof.
func (b *build) became(ctx context.Context, run string, p *proof) (aftermath, error) {
	var a aftermath
	for _, key := range p.batches {
		list, err := b.Log.Signals(ctx, run+"/"+key)
		if err != nil {
			return a, err
		}
		a.list = append(a.list, lists.Filter(list,
			func(s store.TrainingSignal) bool { return s.Commit == p.receipt.Head || len(p.batches) > 1 })...)
	}
	return a, nil
}

// of returns the worst known value of a signal, because a plan is as good as its worst batch. Of the signal that code
// was merged, the lowest is the worst.
func (a aftermath) of(name string) (out store.TrainingSignal, found bool) {
	worse := func(v, than float64) bool { return v > than }
	if name == outcomes.Merged {
		worse = func(v, than float64) bool { return v < than }
	}
	for _, s := range a.list {
		if s.Name != name {
			continue
		}
		if !found || s.Value != nil && (out.Value == nil || worse(*s.Value, *out.Value)) {
			out, found = s, true
		}
	}
	return out, found
}

func (a aftermath) reverted() bool {
	s, ok := a.of(outcomes.Reverted)
	return ok && s.Value != nil && *s.Value >= 0.5
}

func (a aftermath) signals() []training.Signal {
	var out []training.Signal
	for _, name := range []string{outcomes.Merged, outcomes.Reverted, outcomes.Rewritten} {
		if s, ok := a.of(name); ok {
			out = append(out, training.Signal{Name: s.Name, Value: s.Value, Note: s.Note})
		}
	}
	return out
}

// worth adjusts the quality of an example: reverted code is worth 0, and rewritten code its remaining share. Without
// data the quality is unchanged.
func (a aftermath) worth(quality *float64) *float64 {
	if a.reverted() {
		return new(0.0)
	}
	if s, ok := a.of(outcomes.Rewritten); ok && s.Value != nil && quality != nil {
		return new(*quality * (1 - *s.Value))
	}
	return quality
}

// mean returns the mean of the known values, or nil.
func mean(list ...*float64) *float64 {
	sum, n := 0.0, 0
	for _, v := range list {
		if v != nil {
			sum += *v
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / float64(n))
}

// both returns the harmonic mean of two shares, so that one is worthless without the other. If only one is known, it
// returns that one.
func both(a, b *float64) *float64 {
	switch {
	case a == nil || b == nil:
		return mean(a, b)
	case *a+*b == 0:
		return new(0.0)
	}
	return new(2 * *a * *b / (*a + *b))
}

// judged rates the decisions of retrieval by the files that the merged change touched.
type judged struct {
	found   training.Signal // share of the touched files that were selected
	needed  training.Signal // share of the selected files that were touched
	primary training.Signal // share of the files with a primary symbol that were touched
}

// Stages of decisions in the log.
const (
	scope     = "scope"
	precision = "precision"
)

// judge compares decisions with the change. Files that the change created could not be found and do not count.
func judge(decisions []store.FileDecision, p *proof) judged {
	before, all := p.touched()
	was, touched := lists.Set(before), lists.Set(all)
	taken, primary := map[string]bool{}, map[string]bool{}
	precise := slices.ContainsFunc(decisions, func(d store.FileDecision) bool { return d.Stage == precision })
	for _, d := range decisions {
		if d.Included && (d.Stage == precision || d.Stage == scope && !precise) {
			taken[d.Path] = true
		}
		if d.Stage == precision && d.Tier == "primary" {
			primary[d.Path] = true
		}
	}
	j := judged{
		shareOf("files_found", common(was, taken), len(was), "%d of %d changed files were in the context"),
		shareOf("files_needed", common(touched, taken), len(taken), "%d of %d files of the context were changed"),
		shareOf("primary_changed", common(touched, primary), len(primary),
			"%d of %d files with primary symbols were changed"),
	}
	if len(decisions) == 0 {
		j.found.Value, j.found.Note = nil, "no decision was logged"
	}
	return j
}

func common(a, b map[string]bool) int {
	n := 0
	for k := range a {
		if b[k] {
			n++
		}
	}
	return n
}

// lastWord keeps the last of several decisions about the same item in one stage.
func lastWord(all []store.FileDecision) []store.FileDecision {
	type thing struct{ stage, path, symbol string }
	at := map[thing]int{}
	var out []store.FileDecision
	for _, d := range all {
		k := thing{d.Stage, d.Path, d.Symbol}
		if i, ok := at[k]; ok {
			out[i] = d
			continue
		}
		at[k] = len(out)
		out = append(out, d)
	}
	return out
}
