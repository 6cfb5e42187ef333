package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/corpus"
)

// Report is what a validation found, as it is kept beside the version (MET-08).
type Report struct {
	Adapter   string    `json:"adapter,omitempty"`
	Validator string    `json:"validator"`
	At        time.Time `json:"at"`
	Score     Score     `json:"score"`
	Units     []Score   `json:"units"`
	Broken    []string  `json:"broken"` // answers that are no code of their unit, and count as 0
}

// Write keeps a report in a file.
func (r Report) Write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(file, append(text, '\n'), 0o644)
}

// Last reads the report in a file; ok tells whether there is one.
func Last(file string) (r Report, ok bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, false, fmt.Errorf("read the validation %s: %w", file, err)
	}
	return r, true, nil
}

// Trial asks an adapter what was held back from it.
type Trial struct {
	Ask   llm.Completer
	Model llm.Model
	Stage llm.Stage
	Root  string // of the repository
	// Tree makes a checkout of the repository, to write into.
	Tree func(ctx context.Context) (dir string, remove func(), err error)
	// Measure holds the code of a unit in a checkout against its blueprint.
	Measure func(ctx context.Context, dir string, b *blueprint.Blueprint) (Score, error)
	Told    func(Score) // each unit; may be nil
}

// Answers asks all examples. One that was cut off is an answer; no schema is met by it.
func (t Trial) Answers(ctx context.Context, examples []training.Example) ([]string, error) {
	var out []string
	for _, e := range examples {
		res, err := t.Ask.Complete(ctx, t.question(e))
		if err != nil && !errors.Is(err, llm.ErrCutOff) {
			return nil, err
		}
		out = append(out, res.Text)
	}
	return out, nil
}

// question is the prompt of an example as a model is asked it.
func (t Trial) question(e training.Example) llm.Request {
	var system, prompt []string
	for _, m := range e.Prompt {
		if m.Role == "system" {
			system = append(system, m.Content)
		} else {
			prompt = append(prompt, m.Content)
		}
	}
	return llm.Request{Model: t.Model, Stage: t.Stage, System: strings.Join(system, "\n\n"), Prompt: strings.Join(prompt, "\n\n")}
}

// Units has the adapter write each unit that was held back, in a checkout of its own, and measures it there.
func (t Trial) Units(ctx context.Context, examples []training.Example, out *Report) error {
	seen := map[string]bool{}
	for _, e := range examples {
		unit := e.Origin.Unit
		if unit == "" || seen[unit] {
			continue
		}
		b, err := blueprint.Load(t.Root, unit, blueprint.Live)
		if errors.Is(err, blueprint.ErrNoBlueprint) {
			b, err = blueprint.Load(t.Root, unit, blueprint.Candidate)
		}
		if err != nil {
			return err
		}
		if len(e.Origin.Files) != len(b.SourceFiles) {
			continue // about one file; the unit is measured as a whole
		}
		seen[unit] = true
		score, broken, err := t.unit(ctx, e, b)
		if err != nil {
			return err
		}
		if broken != "" {
			out.Broken = append(out.Broken, unit+": "+broken)
		}
		out.Units = append(out.Units, score)
		if t.Told != nil {
			t.Told(score)
		}
	}
	out.Score = Mean(CodeThreshold, out.Units)
	return nil
}

// unit has one unit written. An answer that is no code of it is broken, and counts as nothing.
func (t Trial) unit(ctx context.Context, e training.Example, b *blueprint.Blueprint) (s Score, broken string, err error) {
	res, err := t.Ask.Complete(ctx, t.question(e))
	var files []corpus.Source
	if err == nil {
		files, err = corpus.ParseBlocks(b.Unit, res.Text, b.Paths())
	} else if !errors.Is(err, llm.ErrCutOff) {
		return s, "", err
	}
	if err != nil {
		return Score{Unit: b.Unit, Measures: []Measure{}, Threshold: CodeThreshold, Verdict: Fail, Why: "the answer is no code of the unit"}, err.Error(), nil
	}
	dir, remove, err := t.Tree(ctx)
	if err != nil {
		return s, "", err
	}
	defer remove()
	if err := replace(dir, b, files); err != nil {
		return s, "", fmt.Errorf("write what the adapter wrote of %s: %w", b.Unit, err)
	}
	s, err = t.Measure(ctx, dir, b)
	return s, "", err
}

// replace puts files in the place of those of a unit. What was not written is not there: nothing of the code that exists helps.
func replace(dir string, b *blueprint.Blueprint, files []corpus.Source) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range b.Paths() {
		if err := root.Remove(filepath.FromSlash(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(name, []byte(f.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
