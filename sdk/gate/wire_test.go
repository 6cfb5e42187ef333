package gate

import (
	"testing"

	"github.com/runplan/runplan/sdk/internal/gatev1"
)

// A host may omit the files of a batch.
func TestBatchWithoutFiles(t *testing.T) {
	s := subjectFrom(&gatev1.CheckRequest{Batch: &gatev1.Batch{Key: "1"}})
	if s.Batch == nil || s.Batch.Key != "1" || s.Batch.Files.Create != nil {
		t.Errorf("the batch is %+v", s.Batch)
	}
}
