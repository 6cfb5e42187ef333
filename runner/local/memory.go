package local

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
)

// memory holds the data of the journal's events that later commands need.
type memory struct {
	mu     sync.Mutex
	fold   runner.Fold
	facts  map[string]*facts
	merged map[string]merge            // by batch
	tip    seen                        // facts of the last merged batch
	tests  map[string]*gates.TestCount // by commit of the run branch
}

// add applies an event of the journal. live says that it happens now.
func (m *memory) add(ev runner.Event, live bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fold.Apply(ev); err != nil || ev.Batch == "" {
		return err
	}
	if m.facts == nil {
		m.facts, m.merged, m.tests = map[string]*facts{}, map[string]merge{}, map[string]*gates.TestCount{}
	}
	f := m.facts[ev.Batch]
	if f == nil {
		f = &facts{}
		m.facts[ev.Batch] = f
	}
	f.add(ev)
	switch ev.Kind {
	case runner.Merged:
		if ev.Outcome == runner.OutcomeOK {
			m.merged[ev.Batch] = merge{ev.Base, ev.Commit, ev.Tree, ev.Fingerprint}
			f.before, f.merged = m.tests[ev.Base], true
			m.tip, f.last = f.last, seen{}
			if m.tests[ev.Commit] = f.after; f.after == nil {
				m.tests[ev.Commit] = f.before // no test count is known for this commit; the older one stays
			}
		}
	case runner.BatchPassed:
		if live { // no longer needed: the receipt is written, and a resume reads the facts from the journal
			delete(m.facts, ev.Batch)
			delete(m.merged, ev.Batch)
		}
	case runner.Reopened:
		delete(m.merged, ev.Batch)
		delete(m.facts, ev.Batch)
	}
	return nil
}

// summary returns the summary of the run.
func (m *memory) summary() runner.Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.fold.Summary()
	sum.Batches = slices.Clone(sum.Batches) // the next event changes them
	return sum
}

// atTip returns the facts of the last merged batch.
func (m *memory) atTip() seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tip
}

// factsOf returns the known facts of a batch that is, or will be, merged on commit base.
func (m *memory) factsOf(batch, base string) facts {
	m.mu.Lock()
	defer m.mu.Unlock()
	var now facts
	if f := m.facts[batch]; f != nil {
		now = *f
	}
	if !now.merged {
		now.before = m.tests[base]
	}
	return now
}

// digest returns the failure digest of an earlier event, and the path of its patch file ("" if it does not exist).
func (w *work) digest(seq int) (text, patch string) {
	for ev, err := range journal.Events(context.Background(), w.Journal, w.run, seq) {
		if err != nil {
			w.Note("the failure of the last attempt could not be read: " + err.Error())
			return "", ""
		}
		path := filepath.Join(w.Layout.AttemptOf(ev), journal.PatchFile)
		if _, err := os.Stat(path); err != nil {
			path = ""
		}
		return gates.Digest(gates.Verdict{Reports: ev.Reports}, digestBytes), path
	}
	return "", ""
}

const digestBytes = 6 << 10
