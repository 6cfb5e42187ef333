// Package cache stores the results of gates for trees, so that an unchanged tree is not checked again.
//
// The key of a report contains everything that it depends on: the gate, its configuration, the tree and its changes,
// the installed programs and the environment. Only gates with [gates.Info.Pure] are cached. For test suites only passes
// are stored: a failed suite runs again. Skips and errors are never stored.
package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/seal"
)

// Store is a folder of reports. Without a folder it stores nothing.
type Store struct {
	Dir  string
	Seal *seal.Seal // signs entries; nil signs and checks nothing
}

// mostKept limits the number of entries; the oldest are removed first.
const mostKept = 500

// entry is the content of a cache file.
type entry struct {
	Version int             `json:"version"`
	Answer  json.RawMessage `json:"answer"`
	Seal    string          `json:"seal,omitempty"` // signature of the key and the answer
}

// answer is a report with its list of tests, which the JSON of a report omits.
type answer struct {
	Report gates.Report   `json:"report"`
	Cases  []testout.Case `json:"cases,omitempty"`
}

const version = 3

// Get returns the report of a key. An unreadable entry counts as missing.
func (s Store) Get(key string) (gates.Report, bool) {
	var e entry
	var a answer
	if s.Dir == "" || atomicfile.ReadJSON(s.file(key), &e) != nil || e.Version != version ||
		s.Seal != nil && !s.Seal.Check(e.Seal, seal.Cache, key, string(e.Answer)) || // written by another program
		json.Unmarshal(e.Answer, &a) != nil || !decided(a.Report) {
		return gates.Report{}, false
	}
	a.Report.Cases = a.Cases
	return a.Report, true
}

// decided reports whether a gate checked the tree.
func decided(r gates.Report) bool {
	return r.Status == gates.Pass || r.Status == gates.Warn || r.Status == gates.Fail
}

// Put stores a report.
func (s Store) Put(key string, r gates.Report) error {
	if s.Dir == "" {
		return nil
	}
	kept, err := json.Marshal(answer{r, r.Cases})
	var data []byte
	if err == nil {
		data, err = json.Marshal(entry{version, kept, s.Seal.Sum(seal.Cache, key, string(kept))})
	}
	if err == nil {
		err = os.MkdirAll(s.Dir, 0o755)
	}
	if err == nil {
		err = atomicfile.WriteLoose(s.file(key), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cache the report of %s: %w", r.Gate, err)
	}
	atomicfile.Prune(s.Dir, mostKept)
	return nil
}

func (s Store) file(key string) string { return filepath.Join(s.Dir, key+".json") }

// Key returns the cache key of a gate's report about a subject. surroundings is the part that all gates share, see
// [Surroundings]. It returns "" if the tree is unknown.
func Key(info gates.Info, s gates.Subject, surroundings string) string {
	if s.Tree == "" || surroundings == "" {
		return ""
	}
	// The key formats the batch with %#v, because its JSON omits the literal blocks of the plan, which gates read. The
	// checkpoint is formatted separately, since %#v would print only its address.
	batch, checkpoint := s.Batch, ""
	if batch.Checkpoint != nil {
		checkpoint = fmt.Sprintf("%#v", *batch.Checkpoint)
		batch.Checkpoint = nil
	}
	data, err := json.Marshal(struct {
		Info         gates.Info
		Surroundings string
		Tree, Base   string
		All          bool
		Changed      []string
		Batch        string
		Checkpoint   string `json:",omitempty"`
		Literal      bool
		Before       *gates.TestCount
	}{info, surroundings, s.Tree, s.Base, s.Changed == nil, s.Changed, fmt.Sprintf("%#v", batch), checkpoint, s.Literal,
		s.Before})
	if err != nil {
		return ""
	}
	return checksum.SHA256(data)
}

// Around wraps g so that it runs only if the store does not have its report.
func Around(g gates.Gate, s Store, surroundings string) gates.Gate {
	if !g.Info().Pure || s.Dir == "" {
		return g
	}
	return kept{g, s, surroundings}
}

type kept struct {
	gates.Gate
	store        Store
	surroundings string
}

// Known reports whether the store has the answer of a gate of [Around] about s, so that the gate will not run.
func Known(g gates.Gate, s gates.Subject) bool {
	k, ok := g.(kept)
	if !ok {
		return false
	}
	_, ok = k.recall(k.Info(), s)
	return ok
}

// recall returns the answer in the store.
func (k kept) recall(info gates.Info, s gates.Subject) (gates.Report, bool) {
	key := Key(info, s, k.surroundings)
	if key == "" {
		return gates.Report{}, false
	}
	rep, ok := k.store.Get(key)
	return rep, ok && rep.Gate == info.Name
}

// Note returns the note of a stored report.
const Note = "cached"

func (k kept) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	info := k.Info()
	began := time.Now()
	if rep, ok := k.recall(info, s); ok {
		if _, err := os.Stat(rep.Log); err != nil {
			rep.Log, rep.LogHash = "", ""
		}
		rep.Note = strings.TrimSuffix(Note+"; "+rep.Note, "; ")
		rep.Duration = max(time.Since(began), 1)
		return rep, nil
	}
	rep, err := k.Gate.Check(ctx, s)
	key := Key(info, s, k.surroundings)
	if err == nil && key != "" && keepable(info, rep) {
		rep.Gate = info.Name
		if err := k.store.Put(key, rep); err != nil {
			rep.AddNote(err.Error())
		}
	}
	return rep, err
}

// keepable reports whether a report may be reused. Test suites may be flaky, so only their passes are.
func keepable(info gates.Info, r gates.Report) bool {
	if family, _, _ := strings.Cut(info.Name, ":"); family == "tests" || r.Tests != nil {
		return r.Status == gates.Pass
	}
	return decided(r)
}
