package adapters

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/runplan/runplan/internal/store"
)

// Register writes the missing rows of versions: of the latest training, and of those whose process was killed
// afterwards. A dataset without a plan gets a placeholder plan, because the registry requires one.
func (s Registry) Register(ctx context.Context, ledger *store.Training, log *store.Log) error {
	all, err := s.All()
	if err != nil {
		return err
	}
	rows, err := log.TrainedAdapters(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		if registered(rows, v) {
			continue
		}
		dataset, err := s.dataset(ctx, ledger, log, v)
		if err != nil {
			return err
		}
		a := store.TrainedAdapter{Dataset: dataset, Stage: string(v.Stage), Base: string(v.Base), Tag: v.Tag, Loss: v.Loss,
			Metrics: string(v.Metrics), At: v.TrainedAt}
		if _, err := ledger.AddTrainedAdapter(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func registered(rows []store.TrainedAdapter, v Version) bool {
	return slices.ContainsFunc(rows,
		func(r store.TrainedAdapter) bool { return r.Tag == v.Tag && r.At.Equal(v.TrainedAt) })
}

// absolute resolves a data path relative to the repository.
func (s Registry) absolute(data string) string {
	if name := filepath.FromSlash(data); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Dir, "..", "..", "..", filepath.FromSlash(data))
}

// dataset returns the dataset row of a version: the last one for that folder before the training.
func (s Registry) dataset(ctx context.Context, ledger *store.Training, log *store.Log, v Version) (int64, error) {
	sets, err := log.Datasets(ctx)
	if err != nil {
		return 0, err
	}
	for i := len(sets) - 1; i >= 0; i-- {
		d := sets[i]
		here := d.Path == v.Data || filepath.Dir(d.Path) == s.absolute(v.Data)
		if here && d.Stage == string(v.Stage) && d.Base == string(v.Base) && d.Examples == v.Examples &&
			!d.At.After(v.TrainedAt) {
			return d.ID, nil
		}
	}
	criteria, err := json.Marshal(map[string]string{"folder": v.Data, "sha256": v.DataSHA256})
	if err != nil {
		return 0, err
	}
	plan, err := ledger.AddTrainingPlan(ctx, store.TrainingPlan{
		Task: "train " + v.Name(), Stage: string(v.Stage), Base: string(v.Base), Source: string(v.Source),
		Criteria:        string(criteria),
		Hyperparameters: string(v.Hyper), Raw: "trained by hand on " + v.Data, At: v.TrainedAt,
	})
	if err != nil {
		return 0, err
	}
	return ledger.AddDataset(ctx, store.Dataset{
		Plan: plan, Stage: string(v.Stage), Base: string(v.Base), Source: string(v.Source), Path: v.Data,
		Examples: v.Examples, Positive: v.Positive, Negative: v.Negative, At: v.TrainedAt,
	})
}

// Prune removes folders of old versions that were never deployed, so that unused trainings do not fill the disk.
// [Deployer] removes deployed versions together with their models.
func (s Registry) Prune(adapter string, keep int, deployed func(tag string) bool) error {
	all, err := s.Versions(adapter)
	if err != nil || keep <= 0 || len(all) <= keep {
		return err
	}
	for _, v := range all[:len(all)-keep] {
		if deployed(v.Tag) {
			continue
		}
		if err := os.RemoveAll(v.dir); err != nil {
			return fmt.Errorf("remove %s: %w", v.Name(), err)
		}
	}
	return nil
}
