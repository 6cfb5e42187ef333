package curate

import (
	"fmt"
	"io"
	"math"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training"
)

// Measure describes how the similarity of two examples is measured.
type Measure struct {
	Threshold float64  `json:"threshold"`
	Shingle   int      `json:"shingle"`
	Common    []uint64 `json:"common"` // shingles of nearly all examples, which do not count
}

// CheckLeaks checks a finished dataset. It returns an error that wraps [ErrLeak] if train and validation share an
// example, prompt, commit, task, file version or similar text. It shares only the measure with the split, and compares
// all pairs without sketches.
func CheckLeaks(train, validation io.Reader, m Measure) error {
	common := lists.Set(m.Common)
	keys := map[string]string{}
	var held []text
	index := map[uint64][]int{}
	for e, err := range training.Read("validation", validation) {
		if err != nil {
			return err
		}
		for _, k := range append(hardKeys(e), append(softKeys(e), "example "+e.ID)...) {
			keys[k] = e.ID
		}
		s := shinglesOf(e, m.Shingle).without(common)
		for _, x := range s[:prefix(len(s), m.Threshold)] {
			index[x] = append(index[x], len(held))
		}
		held = append(held, text{e.ID, s})
	}
	for e, err := range training.Read("train", train) {
		if err != nil {
			return err
		}
		for _, k := range append(hardKeys(e), append(softKeys(e), "example "+e.ID)...) {
			if other, both := keys[k]; both {
				return fmt.Errorf("%w: %s of train and %s of validation both have %s", ErrLeak, e.ID, other, k)
			}
		}
		// Two similar sets share one of their first elements, in any common order.
		s := shinglesOf(e, m.Shingle).without(common)
		var candidates []int
		for _, x := range s[:prefix(len(s), m.Threshold)] {
			candidates = append(candidates, index[x]...)
		}
		for _, i := range lists.Unique(candidates) {
			if l := like(s, held[i].shingles); l >= m.Threshold {
				return fmt.Errorf("%w: %s of train is %.3f like %s of validation", ErrLeak, e.ID, l, held[i].id)
			}
		}
	}
	return nil
}

type text struct {
	id       string
	shingles shingles
}

// prefix returns how many elements of a set of n must be compared to miss no similar set.
func prefix(n int, threshold float64) int {
	if n == 0 {
		return 0
	}
	return min(n, n-int(math.Ceil(threshold*float64(n)-1e-9))+1)
}

// hardKeys returns the keys that the split must never separate.
func hardKeys(e training.Example) []string {
	out := []string{"prompt " + PromptSum(e)}
	o := e.Origin
	if o.Commit != "" {
		out = append(out, "commit "+o.Commit)
	}
	if o.Task != "" {
		out = append(out, "task "+o.Task)
	}
	if o.Run != "" && o.Batch != "" {
		out = append(out, "batch "+o.Run+"/"+o.Batch)
	}
	return out
}

// softKeys returns the file versions whose text an example contains.
func softKeys(e training.Example) []string {
	var out []string
	for _, f := range e.Origin.Files {
		if f.Blob != "" {
			out = append(out, "file version "+f.Blob)
		}
	}
	return out
}
