package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// Counts counts pairs by kind and granularity. Forward and retroactive pairs are never added up (TRAIN-21).
type Counts struct {
	Forward     int `json:"forward"`
	Retroactive int `json:"retroactive"`
	Service     int `json:"service"`
	File        int `json:"file"`
	Negative    int `json:"negative"`
}

func counted(pairs []Pair) (c Counts) {
	for _, p := range pairs {
		if p.Type == training.Forward {
			c.Forward++
		} else {
			c.Retroactive++
		}
		if p.Granularity == Service {
			c.Service++
		} else {
			c.File++
		}
		if p.Outcome == Failed {
			c.Negative++
		}
	}
	return c
}

// Metadata is generation_metadata.json. It has no timestamp, so that the same reviews give the same bytes.
type Metadata struct {
	Adapter    string            `json:"adapter_name"`
	Seed       uint64            `json:"seed"`
	Wanted     float64           `json:"validation_split"`
	Share      float64           `json:"validation_share"` // actual share: a unit is not split
	Pairs      int               `json:"pairs"`
	All        Counts            `json:"counts"`
	Train      Counts            `json:"train"`
	Validation Counts            `json:"validation"`
	Held       []string          `json:"validation_units"`
	Notes      []string          `json:"notes"`
	Refused    []Refused         `json:"refused"`
	SHA256     map[string]string `json:"sha256"` // of the files, by name
}

// ErrNoPairs reports that no review gave a pair.
var ErrNoPairs = errors.New("no review became a pair")

// Built is a corpus ready to be written.
type Built struct {
	Metadata
	files map[string][]byte
}

// Build builds the corpus of an adapter: the pairs and the examples of both sides. Idioms come only from units that
// are not held out, so that training sees nothing of validation.
func (b Builder) Build(ctx context.Context, spec curriculum.Spec, from training.Origin, guard training.Guard,
	seed uint64) (Built, error) {
	pairs, refused, err := b.Pairs(ctx, spec.Name)
	out := Built{Metadata: Metadata{Adapter: spec.Name, Seed: seed, Wanted: spec.ValidationSplit, Pairs: len(pairs),
		Held: []string{}, Notes: []string{}, Refused: refused, SHA256: map[string]string{}}}
	if err != nil {
		return out, err
	}
	if len(pairs) == 0 {
		return out, ErrNoPairs
	}
	s := split(pairs, spec.ValidationSplit, seed)
	out.Notes = append(out.Notes, s.Notes...)
	idioms, err := b.idioms(ctx, s)
	if err != nil {
		return out, err
	}
	var train, held bytes.Buffer
	out.files = map[string][]byte{}
	for _, p := range pairs {
		e, err := p.Example(spec, from, idioms)
		if err == nil {
			e, err = guard.Seal(e)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", p.ReviewFile, err)
		}
		line, err := e.Encode()
		if err != nil {
			return out, err
		}
		if s.Held[p.Service] {
			held.Write(line)
		} else {
			train.Write(line)
		}
		text, err := p.Encode()
		if err != nil {
			return out, err
		}
		if name, found := guard.Canary.Find(string(text)); found {
			return out, &training.LeakError{Name: name, Example: p.ID, Place: "pair"}
		}
		text = []byte(training.HideAddresses(string(text)))
		out.files[filepath.Join("pairs", p.ID+".json")] = text
	}
	out.Held = append(out.Held, slices.Sorted(maps.Keys(s.Held))...)
	isHeld := func(p Pair) bool { return s.Held[p.Service] }
	out.All, out.Validation = counted(pairs), counted(lists.Filter(pairs, isHeld))
	out.Train = counted(slices.DeleteFunc(slices.Clone(pairs), isHeld))
	out.Share = float64(out.Validation.Forward+out.Validation.Retroactive) / float64(len(pairs))
	out.files["train.jsonl"], out.files["validation.jsonl"] = train.Bytes(), held.Bytes()
	for _, name := range []string{"train.jsonl", "validation.jsonl"} {
		out.SHA256[name] = checksum.SHA256(out.files[name])
	}
	meta, err := json.MarshalIndent(out.Metadata, "", "  ")
	if err != nil {
		return out, err
	}
	out.files["generation_metadata.json"] = append(meta, '\n')
	return out, nil
}

// idioms returns the summaries of all live units that are not held out.
func (b Builder) idioms(ctx context.Context, s Split) ([]Idiom, error) {
	units, err := live(b.Root)
	if err != nil {
		return nil, err
	}
	var out []Idiom
	for _, d := range units {
		if s.Held[d.Unit] {
			continue
		}
		files, _, err := blueprint.Summaries(ctx, b.Summary, d, d.Paths()) // skip an unreadable unit
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			out = append(out, Idiom{d.Unit, f})
		}
	}
	return out, nil
}

// Write replaces the corpus folder. It writes all files to a temporary folder first. A failure before the replacement
// changes nothing.
func (b Built) Write(root string) error {
	dir := filepath.Join(root, filepath.FromSlash(curriculum.Dir(b.Adapter)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the corpus: %w", err)
	}
	for _, o := range glob.Below(dir, ".building-*") {
		if err := os.RemoveAll(o); err != nil {
			return fmt.Errorf("write the corpus: %w", err)
		}
	}
	stage, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return fmt.Errorf("write the corpus: %w", err)
	}
	defer os.RemoveAll(stage)
	if err := os.Mkdir(filepath.Join(stage, "pairs"), 0o755); err != nil {
		return fmt.Errorf("write the corpus: %w", err)
	}
	for name, text := range b.files {
		if err := atomicfile.Write(filepath.Join(stage, name), text, 0o644); err != nil {
			return fmt.Errorf("write the corpus: %w", err)
		}
	}
	pairs := filepath.Join(dir, "pairs")
	if err := os.Rename(pairs, filepath.Join(stage, "pairs-before")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the corpus: %w", err)
	}
	if err := os.Rename(filepath.Join(stage, "pairs"), pairs); err != nil {
		return fmt.Errorf("write the corpus: %w", err)
	}
	for _, name := range []string{"train.jsonl", "validation.jsonl", "generation_metadata.json"} { // ends with the marker
		if err := os.Rename(filepath.Join(stage, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("write the corpus: %w", err)
		}
	}
	return nil
}

// Read strictly reads the pairs of a stored corpus.
func Read(root, adapter string) ([]Pair, error) {
	dir := filepath.Join(root, filepath.FromSlash(curriculum.Dir(adapter)), "pairs")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the pairs of %s: %w", adapter, err)
	}
	var out []Pair
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the pairs of %s: %w", adapter, err)
		}
		p, err := ParsePair(filepath.Join(curriculum.Dir(adapter), "pairs", e.Name()), text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
