package adapters

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// TRAIN-05: exported data names its stage; training refuses data of another stage, and data that was changed after
// the export.
func TestTrainingRefusesChangedExport(t *testing.T) {
	spec := curriculum.Default(curriculum.CodeArchitect)
	spec.MinimumCorpusSize = 1
	const line = `{"messages":[]}` + "\n"
	sum := sha256.Sum256([]byte(line))
	manifest := func(stage, sum string) string {
		return fmt.Sprintf(`{"plan": {"stage": %q}, "train": {"positive": 0, "negative": 1, "synthetic": 1}, "files": {"train.jsonl": %q}}`, stage, sum)
	}
	right := hex.EncodeToString(sum[:])
	for name, c := range map[string]struct{ manifest, want string }{
		"of the stage":     {manifest("execute_code", right), ""},
		"of another stage": {manifest("scope", right), "export data of its own stage"},
		"changed since":    {manifest("execute_code", "0"), "was changed after its export"},
		"made otherwise":   {"", ""},
		"no JSON":          {"{", "export.json"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{TrainFile: line, exportFile: c.manifest} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			d, err := ReadData(dir, "set", spec)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !d.Exported || d.Examples != 1 || d.HeldFile != "" {
				t.Errorf("%+v, %v", d, err)
			}
			if c.manifest != "" && (d.Negative != 1 || d.Positive != 0 || d.Source != training.Synthetic) {
				t.Errorf("the manifest was not read: %+v", d)
			}
		})
	}
}
