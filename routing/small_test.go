package routing

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/runplan/runplan/planparse"
)

func TestUnreadableLogIsAnError(t *testing.T) {
	broken := errors.New("broken disk")
	if _, err := ReadLog(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// A number stands for all parts of a batch, also if there is only one, but not for batches that begin with its digits.
func TestFindReturnsPartsOfBatch(t *testing.T) {
	p := &planparse.Plan{}
	for _, n := range []string{"1a", "2.1", "2.2", "31"} {
		p.Batches = append(p.Batches, planparse.Batch{Key: n, Number: n})
	}
	for name, want := range map[string][]int{"1": {0}, "B1": {0}, "2": {1, 2}, "2.2": {2}, "3": nil, "B": nil} {
		if got, err := find(p, "--from", name); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestRangesOfMentionedBatches(t *testing.T) {
	u := unitsOf(&planparse.Plan{Format: planparse.FormatRunPlan,
		Batches: []planparse.Batch{{Number: "1"}, {Number: "2"}}})
	for text, want := range map[string]string{
		"after batches 1, 3-6 are merged": "batch 1,batch 3,batch 4,batch 5,batch 6",
		"after batches 2-3 are done":      "batch 2,batch 3",
		"after batch 5":                   "batch 5",
	} {
		got := ""
		if m := u.at.FindStringSubmatchIndex(text); m != nil {
			got = strings.Join(idsOf(text, m), ",")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
