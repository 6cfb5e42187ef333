package corpus

import (
	"fmt"
	"time"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training/curriculum"
)

// Watched is the state of a corpus (TRAIN-24).
type Watched struct {
	Adapter      string   `json:"adapter"`
	Pairs        int      `json:"pairs"`
	Retroactive  int      `json:"retroactive"`
	Forward      int      `json:"forward"`
	Minimum      int      `json:"minimum_corpus_size"`
	State        string   `json:"adapter_state"` // absent, stale or current
	Due          bool     `json:"due"`           // a training is recommended
	Note         string   `json:"note,omitempty"`
	Noted        bool     `json:"noted"` // this call wrote the note into the journal
	HighPriority []string `json:"high_priority"`
}

// The states of an adapter.
const (
	Absent  = "absent"
	Stale   = "stale"   // trained on another corpus
	Current = "current" // trained on this corpus
)

// Monitor checks whether there are enough pairs for an adapter that is absent or stale. If so, it writes a journal
// note with the figures and the command, once for each state of the corpus. It also returns the live units' open
// questions, because a training would learn the code that they ask about. It never starts a training.
func Monitor(root string, spec curriculum.Spec, pairs []Pair, state string, now time.Time) (Watched, error) {
	w := Watched{Adapter: spec.Name, Pairs: len(pairs), Minimum: spec.MinimumCorpusSize, State: state,
		HighPriority: []string{}}
	n := counted(pairs)
	w.Forward, w.Retroactive = n.Forward, n.Retroactive
	w.Due = w.Pairs >= w.Minimum && state != Current
	if !w.Due {
		return w, nil
	}
	w.Note = fmt.Sprintf(
		"the corpus of %s has %d pairs (%d retroactive, %d forward), %d are required, and the adapter is %s; train it: "+
			"runplan training train --adapter %s --yes",
		spec.Name, w.Pairs, w.Retroactive, w.Forward, w.Minimum, state, spec.Name)
	var err error
	if w.HighPriority, err = openQuestions(root); err != nil {
		return w, err
	}
	entries, err := lifecycle.Journal(root)
	if err != nil {
		return w, err
	}
	for _, e := range entries {
		if e.Kind == journalKind && e.Text == w.Note {
			return w, nil
		}
	}
	w.Noted = true
	return w, lifecycle.Note(root, lifecycle.Entry{At: now, Unit: "all", Kind: journalKind, Text: w.Note})
}

// journalKind is the kind of training entries in the journal of blueprints.
const journalKind = "training"

// openQuestions lists the open questions of live units.
func openQuestions(root string) ([]string, error) {
	units, err := live(root)
	out := []string{}
	for _, b := range units {
		out = append(out, lists.Map(b.Intent.OpenQuestions, func(q string) string { return b.Unit + ": " + q })...)
	}
	return out, err
}
