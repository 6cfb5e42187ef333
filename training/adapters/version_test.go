package adapters

import (
	"testing"

	"github.com/runplan/runplan/training"
)

// TRAIN-28: the two examples of the requirement, and base names with fewer or more parts.
func TestTagOf(t *testing.T) {
	for _, c := range []struct {
		base  string
		stage training.Stage
		n     int
		want  string
	}{
		{"qwen3:4b", training.Scope, 1, "qwen3:4b-scope-v1"},
		{"qwen2.5-coder:3b", training.ExecuteCode, 2, "qwen2.5-coder:3b-code-v2"},
		{"tiny", training.ExecutePlan, 1, "tiny:latest-plan-v1"},
		{"host:5000/me/model", training.TaskAnalysis, 3, "host:5000/me/model:latest-analysis-v3"},
		{"hf.co/me/model:Q4_K_M", training.Precision, 12, "hf.co/me/model:Q4_K_M-precision-v12"},
	} {
		if got := TagOf(c.base, c.stage, c.n); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestParseRef(t *testing.T) {
	for text, want := range map[string]Ref{"code-architect": {"code-architect", 0}, "a@2": {"a", 2}, "a@v3": {"a", 3}} {
		if got, err := ParseRef(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "@1", "a@", "a@v", "a@0", "a@-1", "a@1@2", "A", "../a", "a@99999999999999999999"} {
		if got, err := ParseRef(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
