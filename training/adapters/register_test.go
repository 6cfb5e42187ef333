package adapters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/training"
)

// TRAIN-28: a process that is killed after it saved a version and before it wrote the row leaves a version that the
// registry does not know. The next command writes the row once, with the dataset of that training; rows of other
// versions stay unchanged.
func TestNextCommandWritesMissingRow(t *testing.T) {
	repo := t.TempDir()
	registry := RegistryOf(filepath.Join(repo, ".runplan"))
	trained := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	keep := func(n int, data string, at time.Time) {
		v := Version{
			Adapter: "code-architect", Number: n, Stage: training.ExecuteCode, Base: training.Coding, BaseModel: "coder:3b",
			Tag:  TagOf("coder:3b", training.ExecuteCode, n),
			Data: data, DataSHA256: "d", Examples: 7, Source: training.Logged, Positive: 5, Negative: 2,
			Hyper: json.RawMessage(`{"rank":32}`), TrainedAt: at,
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(registry.Dir, v.Adapter, "v"+string(rune('0'+n)))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, versionFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	journal := filepath.Join(repo, ".runplan", "raw.sqlite")
	if err := os.MkdirAll(filepath.Dir(journal), 0o755); err != nil {
		t.Fatal(err)
	}
	ledger, err := training.OpenLedger(t.Context(), journal)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	log, err := store.OpenLog(t.Context(), journal)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	plan, err := ledger.AddTrainingPlan(t.Context(),
		store.TrainingPlan{Task: "t", Stage: "execute_code", Base: "coding", Criteria: "{}", Hyperparameters: "{}", Raw: "x",
			At: trained})
	if err != nil {
		t.Fatal(err)
	}
	exported, err := ledger.AddDataset(t.Context(), store.Dataset{
		Plan: plan, Stage: "execute_code", Base: "coding", Path: filepath.Join(repo, "for-trl", "train.jsonl"), Examples: 7,
		Positive: 5, Negative: 2, At: trained.Add(-time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	register := func(want ...int64) {
		t.Helper()
		if err := registry.Register(t.Context(), ledger, log); err != nil {
			t.Fatal(err)
		}
		rows, err := log.TrainedAdapters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, r := range rows {
			got = append(got, r.Dataset)
		}
		if len(got) != len(want) {
			t.Fatalf("rows are of datasets %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("rows are of datasets %v, want %v", got, want)
			}
		}
	}
	register()
	keep(1, "for-trl", trained)
	register(exported)
	register(exported) // once is enough
	keep(2, "by-hand", trained.Add(time.Hour))
	register(exported, exported+1) // no plan chose its data, so it has a dataset of its own
	// The same folder, exported again after the training: the version was not trained on this dataset.
	if _, err := ledger.AddDataset(t.Context(), store.Dataset{
		Plan: plan, Stage: "execute_code", Base: "coding", Path: filepath.Join(repo, "for-trl", "train.jsonl"), Examples: 7,
		Positive: 5, Negative: 2, At: trained.Add(9 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	keep(3, "for-trl", trained.Add(2*time.Hour))
	register(exported, exported+1, exported)
}
