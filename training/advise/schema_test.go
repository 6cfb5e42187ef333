package advise

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/runplan/runplan/training"
)

// The schema of a plan offers exactly the given stages, and is short: the server counts its tokens.
func TestPlanSchemaOffersStages(t *testing.T) {
	text := planSchema([]training.Stage{"scope", "precision"})
	var schema struct {
		Properties struct {
			Stage struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if got := schema.Properties.Stage.Enum; !slices.Equal(got, []string{"scope", "precision"}) {
		t.Errorf("the stages are %v", got)
	}
	if slices.Contains(text, '\n') {
		t.Error("the schema has line breaks")
	}
}
