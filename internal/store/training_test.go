package store

import (
	"database/sql"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func trained(t *testing.T) (*Training, *Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.sqlite")
	tr, err := OpenTraining(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	l, err := OpenLog(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return tr, l, path
}

func aPlan() TrainingPlan {
	return TrainingPlan{Task: "t", Stage: "scope", Base: "reasoning", Criteria: `{"quality":0.5}`, Targets: "[]",
		Raw: "text", At: at(1)}
}

// Plans, datasets, adapters and their deployment state are read back as they were written.
func TestTrainingRowsRoundTrip(t *testing.T) {
	tr, l, _ := trained(t)
	ctx := t.Context()
	plan, err := tr.AddTrainingPlan(ctx, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	data, err := tr.AddDataset(ctx,
		Dataset{Plan: plan, Stage: "scope", Base: "reasoning", Source: "synthetic", Path: "d/train.jsonl", Examples: 10,
			Positive: 6, Negative: 3, At: at(2)})
	if err != nil {
		t.Fatal(err)
	}
	loss := 0.25
	one, err := tr.AddTrainedAdapter(ctx,
		TrainedAdapter{Dataset: data, Stage: "scope", Base: "reasoning", Tag: "qwen3:4b-scope-v1", Loss: &loss,
			Metrics: `{"v":0.8}`, At: at(3)})
	if err != nil {
		t.Fatal(err)
	}
	two, err := tr.AddTrainedAdapter(ctx,
		TrainedAdapter{Dataset: data, Stage: "scope", Base: "reasoning", Tag: "qwen3:4b-scope-v2", At: at(4)})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct {
		id int64
		on bool
	}{{one, true}, {two, true}, {one, false}} {
		if err := tr.AddDeployment(ctx, d.id, d.on, at(5)); err != nil {
			t.Fatal(err)
		}
	}
	plans, err := l.TrainingPlans(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := aPlan()
	want.ID, want.Source = plan, "logged"
	if d := cmp.Diff([]TrainingPlan{want}, plans); d != "" {
		t.Error(d)
	}
	sets, err := l.Datasets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Dataset{{ID: data, Plan: plan, Stage: "scope", Base: "reasoning", Source: "synthetic",
		Path: "d/train.jsonl", Examples: 10, Positive: 6, Negative: 3, Format: "jsonl", At: at(2)}}, sets); d != "" {
		t.Error(d)
	}
	adapters, err := l.TrainedAdapters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]TrainedAdapter{
		{ID: one, Dataset: data, Stage: "scope", Base: "reasoning", Tag: "qwen3:4b-scope-v1", Loss: &loss,
			Metrics: `{"v":0.8}`, At: at(3)},
		{ID: two, Dataset: data, Stage: "scope", Base: "reasoning", Tag: "qwen3:4b-scope-v2", Deployed: true, At: at(4)},
	}, adapters); d != "" {
		t.Error(d)
	}
}

// A row without a purpose or with a missing reference is refused, and nothing is written.
func TestTrainingRefusesInvalidRows(t *testing.T) {
	tr, l, _ := trained(t)
	ctx := t.Context()
	nan := math.NaN()
	plan := func(change func(*TrainingPlan)) func() error {
		return func() error {
			p := aPlan()
			change(&p)
			_, err := tr.AddTrainingPlan(ctx, p)
			return err
		}
	}
	for name, tt := range map[string]struct {
		do   func() error
		want string
	}{
		"no stage":         {plan(func(p *TrainingPlan) { p.Stage = "" }), "stage is missing"},
		"another base":     {plan(func(p *TrainingPlan) { p.Base = "vision" }), "neither coding nor reasoning"},
		"another source":   {plan(func(p *TrainingPlan) { p.Source = "bought" }), "neither logged nor synthetic"},
		"criteria no JSON": {plan(func(p *TrainingPlan) { p.Criteria = "all" }), "data criteria are not JSON"},
		"no criteria":      {plan(func(p *TrainingPlan) { p.Criteria = "" }), "data criteria are not JSON"},
		"no text":          {plan(func(p *TrainingPlan) { p.Raw = "" }), "its text"},
		"dataset of no plan": {func() error {
			_, err := tr.AddDataset(ctx, Dataset{Plan: 9, Stage: "s", Base: "coding", Path: "p"})
			return err
		}, "FOREIGN KEY"},
		"more than all": {func() error {
			_, err := tr.AddDataset(ctx,
				Dataset{Plan: 1, Stage: "s", Base: "coding", Path: "p", Examples: 2, Positive: 2, Negative: 1})
			return err
		}, "impossible counts: 2 positive and 1 negative of 2 examples"},
		"adapter of no data": {func() error {
			_, err := tr.AddTrainedAdapter(ctx, TrainedAdapter{Dataset: 9, Stage: "s", Base: "coding", Tag: "m"})
			return err
		}, "FOREIGN KEY"},
		"loss no number": {func() error {
			_, err := tr.AddTrainedAdapter(ctx, TrainedAdapter{Dataset: 1, Stage: "s", Base: "coding", Tag: "m", Loss: &nan})
			return err
		}, "is not a number"},
		"deploy nothing":   {func() error { return tr.AddDeployment(ctx, 9, true, at(1)) }, "FOREIGN KEY"},
		"signal above one": {func() error { return signalOf(t, tr, 1.5) }, "not between 0 and 1"},
		"signal no number": {func() error { return signalOf(t, tr, nan) }, "not between 0 and 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tt.do(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	plans, err1 := l.TrainingPlans(ctx)
	sets, err2 := l.Datasets(ctx)
	adapters, err3 := l.TrainedAdapters(ctx)
	if err := errors.Join(err1, err2, err3); err != nil || len(plans)+len(sets)+len(adapters) > 0 {
		t.Errorf("%d, %d and %d rows, %v", len(plans), len(sets), len(adapters), err)
	}
}

func signalOf(t *testing.T, tr *Training, v float64) error {
	_, err := tr.AddSignals(t.Context(), []TrainingSignal{{Task: "r/1", Commit: "c", Name: "merged", Value: &v}})
	return err
}

// The latest value of a signal counts; a signal that repeats the stored value adds no row.
func TestLatestSignalCounts(t *testing.T) {
	tr, l, _ := trained(t)
	ctx := t.Context()
	yes, no := 1.0, 0.0
	first := []TrainingSignal{{Task: "r/1", Commit: "a", Name: "merged", Value: &no, At: at(1)},
		{Task: "r/1", Commit: "a", Name: "reverted", Note: "not known", At: at(1)},
		{Task: "r/2", Commit: "b", Name: "merged", Value: &yes, At: at(1)}}
	for i, want := range []int{3, 0} {
		added, err := tr.AddSignals(ctx, first)
		if err != nil || len(added) != want {
			t.Fatalf("time %d: %d added, %v; want %d", i+1, len(added), err, want)
		}
	}
	second := TrainingSignal{Task: "r/1", Commit: "a", Name: "merged", Value: &yes, At: at(2)}
	if added, err := tr.AddSignals(ctx, []TrainingSignal{second, second}); err != nil || len(added) != 1 {
		t.Fatalf("%d added, %v", len(added), err)
	}
	got, err := l.Signals(ctx, "r/1")
	if err != nil {
		t.Fatal(err)
	}
	second.ID = 4
	if d := cmp.Diff([]TrainingSignal{second,
		{ID: 2, Task: "r/1", Commit: "a", Name: "reverted", Note: "not known", At: at(1)}}, got); d != "" {
		t.Error(d)
	}
	// Either all signals are written, or none.
	if _, err := tr.AddSignals(ctx,
		[]TrainingSignal{{Task: "r/9", Commit: "a", Name: "merged", Value: &yes}, {Task: "r/9"}}); err == nil {
		t.Error("a signal without a name was taken")
	}
	if got, err := l.Signals(ctx, "r/9"); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// Training rows cannot be updated or deleted; a deployment is a row of its own.
func TestTrainingIsAppendOnly(t *testing.T) {
	tr, _, path := trained(t)
	ctx := t.Context()
	plan, err1 := tr.AddTrainingPlan(ctx, aPlan())
	data, err2 := tr.AddDataset(ctx, Dataset{Plan: plan, Stage: "scope", Base: "reasoning", Path: "p", At: at(1)})
	one, err3 := tr.AddTrainedAdapter(ctx,
		TrainedAdapter{Dataset: data, Stage: "scope", Base: "reasoning", Tag: "m", At: at(1)})
	if err := errors.Join(err1, err2, err3, tr.AddDeployment(ctx, one, true, at(1)), signalOf(t, tr, 1)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"UPDATE training_plans SET raw_plan = ''", "DELETE FROM training_plans",
		"UPDATE training_datasets SET example_count = 9", "DELETE FROM training_datasets",
		"UPDATE adapter_registry SET model_tag = 'x'", "UPDATE adapter_registry SET deployed = 0",
		"DELETE FROM adapter_registry",
		"UPDATE adapter_deployments SET deployed = 0", "DELETE FROM adapter_deployments",
		"UPDATE training_signals SET value = 0", "DELETE FROM training_signals",
		"INSERT INTO adapter_registry (dataset_id, stage_name, base_model, model_tag, deployed, trained_at) VALUES (1, " +
			"'s', 'coding', 'n', 1, '')",
	} {
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(ctx, s); err == nil {
			t.Errorf("%s: it was done", s)
		}
		db.Close()
	}
}

// The error about an unreadable call contains its id.
func TestDamagedCallErrorNamesID(t *testing.T) {
	_, l, path := trained(t)
	raw(t, path,
		"INSERT INTO retrieval_llm_calls (id, task_id, call_type, model, prompt, response, latency_ms, timestamp) VALUES "+
			"(7, 'x', 'scope_judgment', 'm', 'p', 'r', 1, 'yesterday')")
	for _, err := range l.Calls(t.Context()) {
		if !errors.Is(err, ErrRow) || !strings.Contains(err.Error(), "call 7") {
			t.Errorf("error %v does not name the row", err)
		}
	}
}
