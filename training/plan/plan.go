// Package plan describes what to train next and why (TRAIN-06): a weak stage, the examples to use, the
// hyperparameters, and the expected improvement. A plan is a TOML file that people edit. [Analyse] drafts it from the
// data of earlier runs.
package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// Plan is a training plan. It contains everything that determines a dataset.
type Plan struct {
	Stage training.Stage `toml:"stage" json:"stage"`
	Base  training.Base  `toml:"base" json:"base" comment:"kind of model; it follows from the stage"`
	Seed  uint64         `toml:"seed" json:"seed" comment:"random seed of the plan"`

	Data            Data            `toml:"data" json:"data"`
	Hyperparameters Hyperparameters `toml:"hyperparameters" json:"hyperparameters"`
	Improvements    []Improvement   `toml:"improvement,omitempty" json:"improvement"`
	Decision        *Decision       `toml:"decision,omitempty" json:"decision,omitempty"` // nil: no model was asked
}

// Decision records what a model that was asked about a plan decided, and why.
type Decision struct {
	Model    string  `toml:"model" json:"model" comment:"model that was asked; it is not used again"`
	Reasons  Reasons `toml:"reasons,omitempty" json:"reasons,omitzero"`
	Unusable string  `toml:"unusable,omitempty" json:"unusable,omitempty"` // why its answer changed nothing
}

// Reasons holds a model's reasons for the parts of a plan.
type Reasons struct {
	Stage           string `toml:"stage,omitempty" json:"stage"`
	Data            string `toml:"data,omitempty" json:"data"`
	Hyperparameters string `toml:"hyperparameters,omitempty" json:"hyperparameters"`
	Targets         string `toml:"targets,omitempty" json:"targets"`
}

// Data selects the examples. An empty or zero field has no effect unless noted.
type Data struct {
	Sources []training.Source `toml:"sources" json:"sources" comment:"logged, synthetic"`

	MinQuality float64 `toml:"min_quality" json:"min_quality" comment:"minimum quality of positive examples"`

	UnknownQuality string   `toml:"unknown_quality" json:"unknown_quality" comment:"keep or drop"`
	Repos          []string `toml:"repos" json:"repos" comment:"empty: all"`

	Licenses []string  `toml:"licenses" json:"licenses" comment:"SPDX ids; empty: all, also unknown ones"`
	Since    time.Time `toml:"since,omitzero" json:"since" comment:"ignore older commits and calls"`

	MaxTokens int `toml:"max_tokens" json:"max_tokens" comment:"maximum estimated tokens of prompt and completion; 0: no limit"`

	NegativeRatio float64 `toml:"negative_ratio" json:"negative_ratio" comment:"maximum number of negative examples for each positive one"`

	TrimPositive bool `toml:"trim_positive" json:"trim_positive" comment:"drop positive examples if there are too few negative ones"`

	NearDuplicate float64 `toml:"near_duplicate" json:"near_duplicate" comment:"minimum share of equal word groups in near-duplicates"`

	Shingle     int `toml:"shingle" json:"shingle" comment:"number of words in a word group"`
	MaxExamples int `toml:"max_examples" json:"max_examples,omitempty" comment:"maximum number of examples, newest first; 0: all"`

	ValidationSplit float64 `toml:"validation_split" json:"validation_split" comment:"share of held-out examples"`
}

// Hyperparameters holds the parameters of the training (TRAIN-22).
type Hyperparameters struct {
	curriculum.Hyperparameters

	QuantizationBits int `toml:"quantization_bits" json:"quantization_bits" comment:"of the base: 4, 8, or 0 for none"`

	BetaOfPreferences     float64 `toml:"beta" json:"beta" comment:"of preference training"`
	EvaluateEverySteps    int     `toml:"eval_steps" json:"eval_steps"`
	SaveCheckpointsToKeep int     `toml:"save_total_limit" json:"save_total_limit"`
}

// Improvement is an expected improvement and its basis.
type Improvement struct {
	Metric string   `toml:"metric" json:"metric"`
	Now    *float64 `toml:"now" json:"now"` // nil: unknown
	Target float64  `toml:"target" json:"target"`
	Rests  string   `toml:"rests_on" json:"rests_on"` // the data, in words
}

// Keep and Drop are the choices for examples of unknown quality.
const (
	Keep = "keep"
	Drop = "drop"
)

// For returns the default plan of a stage.
func For(s training.Stage) Plan {
	return Plan{
		Stage: s, Base: training.BaseOf(s), Seed: 1,
		Data: Data{
			Sources: []training.Source{training.Logged, training.Synthetic}, MinQuality: 0.5, UnknownQuality: Keep,
			NegativeRatio: 1, NearDuplicate: 0.85, Shingle: 5, ValidationSplit: curriculum.DefaultValidationSplit,
		},
		Hyperparameters: DefaultHyperparameters(),
	}
}

// DefaultHyperparameters returns the hyperparameters of the first curriculum (TRAIN-22), and the hyperparameters that a
// curriculum leaves to its trainer. Sequences are longer than in a curriculum, because the examples of bootstrap can be
// that long.
func DefaultHyperparameters() Hyperparameters {
	h := Hyperparameters{Hyperparameters: curriculum.DefaultHyperparameters(), QuantizationBits: 4,
		BetaOfPreferences: 0.1, EvaluateEverySteps: 50, SaveCheckpointsToKeep: 3}
	h.MaxSequenceLength = 16384
	return h
}

// ErrPlan reports an invalid plan. Its text gives the position.
var ErrPlan = errors.New("not a training plan")

// Parse parses a plan. Missing fields have the value of [For]; an unknown field is an error with its line. name is the
// file's name in errors.
func Parse(name string, text []byte) (Plan, error) {
	var which struct {
		Stage training.Stage `toml:"stage"`
	}
	if err := toml.Unmarshal(text, &which); err != nil {
		return Plan{}, at(name, text, err)
	}
	if which.Stage == "" {
		return Plan{}, fmt.Errorf("%s:1: %w: it names no stage; stages are %s", name, ErrPlan, phrase.List(training.Stages()))
	}
	p := For(which.Stage)
	// A list in the file replaces the default list, even if it is shorter.
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Plan{}, at(name, text, err)
	}
	if err := p.Check(); err != nil {
		if wrong, ok := errors.AsType[*fieldError](err); ok {
			return Plan{}, fmt.Errorf("%s:%d: %w: %w", name, lineOf(text, wrong.table, wrong.key), ErrPlan, err)
		}
		return Plan{}, fmt.Errorf("%s: %w: %w", name, ErrPlan, err)
	}
	return p, nil
}

// Encode formats a plan as a commented file that [Parse] reads back unchanged. why becomes the comment at the top.
func (p Plan) Encode(why []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(
		"# A training plan: what to train, on which examples, and what for. Edit it as you like; then\n#\n#   runplan " +
			"training curate --plan THIS --in DIR --out DIR\n")
	if len(why) > 0 {
		b.WriteString("#\n")
		for line := range strings.Lines(strings.Join(why, "\n")) {
			fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(line))
		}
	}
	b.WriteString("\n")
	if err := toml.NewEncoder(&b).Encode(p); err != nil {
		return nil, fmt.Errorf("write the training plan: %w", err)
	}
	return b.Bytes(), nil
}

// at adds the position in the file to an error of the library.
func at(name string, text []byte, err error) error {
	var strict *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		e := strict.Errors[0]
		row, _ := e.Position()
		return fmt.Errorf("%s:%d: %w: unknown key %s", name, row, ErrPlan, strings.Join(e.Key(), "."))
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		return fmt.Errorf("%s:%d: %w: %s", name, row, ErrPlan, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return fmt.Errorf("%s:%d: %w: %s", name, 1+bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")), ErrPlan,
		strings.TrimPrefix(err.Error(), "toml: "))
}

// fieldError reports an invalid value.
type fieldError struct {
	table, key string
	why        string
}

func (e *fieldError) Error() string {
	return strings.TrimPrefix(e.table+"."+e.key, ".") + " " + e.why
}

// Check returns an error if a plan is invalid.
func (p Plan) Check() error {
	wrong := func(table, key, why string, args ...any) error {
		return &fieldError{table, key, fmt.Sprintf(why, args...)}
	}
	d, h := p.Data, p.Hyperparameters
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	switch {
	case !slices.Contains(training.Stages(), p.Stage):
		return wrong("", "stage", "%q is not one of %s", p.Stage, phrase.List(training.Stages()))
	case p.Base != training.BaseOf(p.Stage):
		return wrong("", "base", "must be %s for stage %s, not %q: an adapter works only with its own base",
			training.BaseOf(p.Stage), p.Stage, p.Base)
	case len(d.Sources) == 0:
		return wrong("data", "sources", "is empty; use logged, synthetic or both")
	case !share(d.MinQuality):
		return wrong("data", "min_quality", "is %v; it must be from 0 to 1", d.MinQuality)
	case d.UnknownQuality != Keep && d.UnknownQuality != Drop:
		return wrong("data", "unknown_quality", "is %q; use %s or %s", d.UnknownQuality, Keep, Drop)
	case d.MaxTokens < 0:
		return wrong("data", "max_tokens", "is %d; it must not be below 0", d.MaxTokens)
	case !finite(d.NegativeRatio) || d.NegativeRatio < 0:
		return wrong("data", "negative_ratio", "is %v; it must not be below 0", d.NegativeRatio)
	case !(d.NearDuplicate >= 0.5 && d.NearDuplicate <= 1):
		return wrong("data", "near_duplicate", "is %v; it must be from 0.5 to 1", d.NearDuplicate)
	case d.Shingle < 1 || d.Shingle > 50:
		return wrong("data", "shingle", "is %d; it must be from 1 to 50", d.Shingle)
	case !(d.ValidationSplit > 0 && d.ValidationSplit <= 0.5):
		return wrong("data", "validation_split", "is %v; it must be above 0, and at most 0.5", d.ValidationSplit)
	case d.MaxExamples < 0:
		return wrong("data", "max_examples", "is %d; it must not be below 0", d.MaxExamples)
	case h.Rank < 1 || h.Alpha < 1:
		return wrong("hyperparameters", cond(h.Rank < 1, "rank", "alpha"), "must be above 0")
	case !(h.Dropout >= 0 && h.Dropout < 1):
		return wrong("hyperparameters", "dropout", "is %v; it must be at least 0 and below 1", h.Dropout)
	case len(h.TargetModules) == 0:
		return wrong("hyperparameters", "target_modules", "is empty; name at least one module")
	case h.BatchSize < 1 || h.GradientAccumulation < 1:
		return wrong("hyperparameters", cond(h.BatchSize < 1, "batch_size", "gradient_accumulation_steps"),
			"must be above 0")
	case !finite(h.LearningRate) || h.LearningRate <= 0:
		return wrong("hyperparameters", "learning_rate", "is %v; it must be above 0", h.LearningRate)
	case h.MaxSteps < 1 || h.MaxSequenceLength < 1:
		return wrong("hyperparameters", cond(h.MaxSteps < 1, "max_steps", "max_sequence_length"), "must be above 0")
	case h.QuantizationBits != 0 && h.QuantizationBits != 4 && h.QuantizationBits != 8:
		return wrong("hyperparameters", "quantization_bits", "is %d; it must be 4, 8, or 0 for none", h.QuantizationBits)
	case !finite(h.BetaOfPreferences) || h.BetaOfPreferences <= 0:
		return wrong("hyperparameters", "beta", "is %v; it must be above 0", h.BetaOfPreferences)
	case h.EvaluateEverySteps < 1 || h.SaveCheckpointsToKeep < 1:
		return wrong("hyperparameters", cond(h.EvaluateEverySteps < 1, "eval_steps", "save_total_limit"), "must be above 0")
	}
	for _, s := range d.Sources {
		if s != training.Logged && s != training.Synthetic {
			return wrong("data", "sources", "has %q; it may have %s and %s", s, training.Logged, training.Synthetic)
		}
	}
	for _, m := range h.TargetModules {
		if m == "" || strings.Trim(m, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != "" {
			return wrong("hyperparameters", "target_modules", "has %q, which is not the name of a module", m)
		}
	}
	for i, t := range p.Improvements {
		if t.Metric == "" || !finite(t.Target) || t.Now != nil && !finite(*t.Now) {
			return wrong("", "improvement", "%d needs a metric and figures", i+1)
		}
	}
	return nil
}

func cond(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// lineOf returns the line of a key in a table, else of the table, else 1.
func lineOf(text []byte, table, key string) int {
	in, found, n := "", 1, 0
	for line := range bytes.Lines(text) {
		n++
		s := strings.TrimSpace(string(line))
		if strings.HasPrefix(s, "[") {
			in = strings.Trim(s, "[] ")
			if in == table || in == key {
				found = n
			}
			continue
		}
		name, _, _ := strings.Cut(s, "=")
		name = strings.TrimSpace(name)
		if in == table && name == key || in == "" && name == strings.TrimPrefix(table+"."+key, ".") {
			return n
		}
	}
	return found
}

// Source returns the source for the log, which stores only one: the first.
func (p Plan) Source() training.Source { return cmp.Or(p.Data.Sources...) }

// JSON returns the three parts of a plan that the log stores in separate columns (DB-03).
func (p Plan) JSON() (criteria, hyperparameters, targets string, err error) {
	var out [3]string
	for i, v := range []any{p.Data, p.Hyperparameters, p.Improvements} {
		b, err := json.Marshal(v)
		if err != nil {
			return "", "", "", fmt.Errorf("write the plan as JSON: %w", err)
		}
		out[i] = string(b)
	}
	return out[0], out[1], out[2], nil
}
