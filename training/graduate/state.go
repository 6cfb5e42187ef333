package graduate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/training/curriculum"
)

// State is graduation.json: when an adapter graduated and on which data.
type State struct {
	Adapter string     `json:"adapter_name"`
	Since   *time.Time `json:"graduated_at"` // null: not graduated
	Cycles  []Cycle    `json:"cycles"`
}

func stateFile(adapter string) string {
	return path.Join(curriculum.Dir(adapter), "graduation.json")
}

// Load reads the stored state.
func Load(root, adapter string) (State, error) {
	s := State{Adapter: adapter}
	err := atomicfile.ReadJSON(filepath.Join(root, filepath.FromSlash(stateFile(adapter))), &s)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read %s: %w", stateFile(adapter), err)
	}
	return s, nil
}

// Record stores the state of the cycles and writes a journal note. An adapter that no longer meets the criteria loses
// its graduation.
func Record(root string, before State, cycles []Cycle, now time.Time) (State, error) {
	s := State{Adapter: before.Adapter, Since: before.Since, Cycles: cycles}
	at := now.UTC().Truncate(time.Second)
	switch met := Graduated(cycles); {
	case met && s.Since == nil:
		s.Since = &at
	case !met:
		s.Since = nil
	}
	name := filepath.Join(root, filepath.FromSlash(stateFile(s.Adapter)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return s, fmt.Errorf("write %s: %w", stateFile(s.Adapter), err)
	}
	if err := atomicfile.WriteJSON(name, s, 0o644); err != nil {
		return s, fmt.Errorf("write %s: %w", stateFile(s.Adapter), err)
	}
	return s, lifecycle.Note(root, lifecycle.Entry{At: now, Unit: "all", Kind: "training", Text: s.text()})
}

func (s State) text() string {
	word := "has not graduated"
	if s.Since != nil {
		word = "has graduated; every fifth generation is reviewed"
	}
	var parts []string
	if len(s.Cycles) > 0 {
		c := s.Cycles[len(s.Cycles)-1]
		for _, f := range c.Figures {
			parts = append(parts, f.Name+" "+phrase.Known("%.2f", f.Value))
		}
		word += fmt.Sprintf("; cycle v%d, %d generations: %s", c.Version, c.Generations, strings.Join(parts, ", "))
	}
	return "adapter " + s.Adapter + " " + word
}

// Trained is one training cycle: a version and its time.
type Trained struct {
	Version int
	At      time.Time
}

// ByCycle judges the generations of each cycle, from its training to the next. trained must be in order.
func ByCycle(list []Generation, trained []Trained, seed uint64) []Cycle {
	out := []Cycle{}
	for i, t := range trained {
		own := lists.Filter(list,
			func(g Generation) bool {
				return !g.At.Before(t.At) && (i+1 == len(trained) || g.At.Before(trained[i+1].At))
			})
		out = append(out, Judge(t.Version, own, seed+uint64(t.Version)))
	}
	return out
}
