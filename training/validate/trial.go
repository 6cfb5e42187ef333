package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/internal/schema"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/corpus"
)

// Report is the result of a validation, stored next to the version (MET-08).
type Report struct {
	Adapter   string    `json:"adapter,omitempty"`
	Validator string    `json:"validator"`
	At        time.Time `json:"at"`
	Score     Score     `json:"score"`
	Units     []Score   `json:"units"`
	Broken    []string  `json:"broken"` // answers that are not code of their unit; they score 0
}

// Write writes a report to a file.
func (r Report) Write(file string) error {
	return atomicfile.WriteJSON(file, r, 0o644)
}

// Last reads the report in a file. ok is false if there is none.
func Last(file string) (r Report, ok bool, err error) {
	err = atomicfile.ReadJSON(file, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("read the validation %s: %w", file, err)
	}
	return r, true, nil
}

// Trial asks an adapter its held-out examples.
type Trial struct {
	Ask   llm.Completer
	Model llm.Model
	Stage llm.Stage
	Root  string // of the repository
	// Tree creates a checkout of the repository.
	Tree func(ctx context.Context) (dir string, remove func(), err error)
	// Measure compares the code of a unit in a checkout with its blueprint.
	Measure func(ctx context.Context, dir string, b *blueprint.Blueprint) (Score, error)
	OnScore func(Score) // receives each unit; may be nil
}

// Answers asks all examples. A truncated answer counts as an answer, which matches no schema.
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

// question builds the request for an example.
func (t Trial) question(e training.Example) llm.Request {
	var system, prompt []string
	for _, m := range e.Prompt {
		if m.Role == "system" {
			system = append(system, m.Content)
		} else {
			prompt = append(prompt, m.Content)
		}
	}
	return llm.Request{Model: t.Model, Stage: t.Stage, System: strings.Join(system, "\n\n"),
		Prompt: strings.Join(prompt, "\n\n")}
}

// Units has the adapter write each held-out unit in a separate checkout, and measures it there.
func (t Trial) Units(ctx context.Context, examples []training.Example, out *Report) error {
	seen := map[string]bool{}
	for _, e := range examples {
		unit := e.Origin.Unit
		if unit == "" || seen[unit] {
			continue
		}
		b, _, err := corpus.Design(t.Root, unit)
		if err != nil {
			return err
		}
		if len(e.Origin.Files) != len(b.SourceFiles) {
			continue // about a single file; units are measured as a whole
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
		if t.OnScore != nil {
			t.OnScore(score)
		}
	}
	out.Score = Mean(CodeThreshold, out.Units)
	return nil
}

// unit has one unit written. An answer that is not code of the unit is broken and scores 0.
func (t Trial) unit(ctx context.Context, e training.Example, b *blueprint.Blueprint) (s Score, broken string,
	err error) {
	res, err := t.Ask.Complete(ctx, t.question(e))
	var files []corpus.Source
	if err == nil {
		files, err = corpus.ParseBlocks(b.Unit, res.Text, b.Paths())
	} else if !errors.Is(err, llm.ErrCutOff) {
		return s, "", err
	}
	if err != nil {
		return Score{Unit: b.Unit, Measures: []Measure{}, Threshold: CodeThreshold, Verdict: Fail,
			Why: "the answer is not code of the unit"}, err.Error(), nil
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

// replace replaces all files of a unit. Files that the answer omits are deleted, so that existing code cannot help.
func replace(dir string, b *blueprint.Blueprint, files []corpus.Source) error {
	for _, f := range b.Paths() {
		if err := rooted.Remove(dir, f); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := rooted.Write(dir, f.Path, []byte(f.Text)); err != nil {
			return err
		}
	}
	return nil
}

// JSONSchemaValidator measures the share of answers that are JSON and match a schema.
type JSONSchemaValidator struct{ schema *schema.Schema }

// NewJSONSchema parses a schema.
func NewJSONSchema(text []byte) (JSONSchemaValidator, error) {
	s, err := schema.Compile(text)
	if err != nil {
		return JSONSchemaValidator{}, fmt.Errorf("read the schema: %w", err)
	}
	return JSONSchemaValidator{s}, nil
}

// Validate measures answers.
func (v JSONSchemaValidator) Validate(answers []string) Score {
	good := lists.Count(answers, func(a string) bool { return v.schema.Check([]byte(a)) == nil })
	return Of("", JSONThreshold, []Measure{exact("valid", 1, good, len(answers), "the answer is empty")})
}
