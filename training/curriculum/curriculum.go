// Package curriculum specifies the training of an adapter: the file curriculum.json in the folder of its corpus
// (TRAIN-17, TRAIN-22). Missing fields have defaults; unknown fields are errors.
package curriculum

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/training"
)

// Folder is the parent folder of all corpora, relative to the repository root.
const Folder = "knowledge/curricula"

// Adapters with their own defaults.
const (
	CodeArchitect = "code-architect"
	JSONArchitect = "json-architect"
)

// Spec specifies the training of an adapter.
type Spec struct {
	Name               string          `json:"adapter_name"`
	Version            int             `json:"adapter_version"` // the first; each training increments it
	Tier               int             `json:"tier"`
	Pillar             string          `json:"pillar"`
	Priority           string          `json:"priority"`
	Description        string          `json:"description"`
	BaseModel          string          `json:"base_model"` // role: coding or reasoning; the settings name its model
	Stage              training.Stage  `json:"stage"`      // stage of the adapter
	Hyperparameters    Hyperparameters `json:"hyperparameters"`
	ChatTemplate       string          `json:"chat_template"` // auto: template of the base model (TRAIN-20)
	TrainingObjective  string          `json:"training_objective"`
	MinimumCorpusSize  int             `json:"minimum_corpus_size"`
	ValidationSplit    float64         `json:"validation_split"`
	ActivationTriggers []string        `json:"activation_triggers"`
	RoutingKeywords    []string        `json:"routing_keywords"`
	Versioning         Versioning      `json:"versioning"`
}

// Hyperparameters are passed to the trainer unchanged.
type Hyperparameters struct {
	Rank                 int      `toml:"rank" json:"rank"`
	Alpha                int      `toml:"alpha" json:"alpha"`
	Dropout              float64  `toml:"dropout" json:"dropout"`
	TargetModules        []string `toml:"target_modules" json:"target_modules"`
	BatchSize            int      `toml:"batch_size" json:"batch_size"`
	GradientAccumulation int      `toml:"gradient_accumulation_steps" json:"gradient_accumulation_steps"`
	LearningRate         float64  `toml:"learning_rate" json:"learning_rate"`
	MaxSteps             int      `toml:"max_steps" json:"max_steps"`
	MaxSequenceLength    int      `toml:"max_sequence_length" json:"max_sequence_length" comment:"longer ones are not cut"`
}

// Versioning selects the versions to keep.
type Versioning struct {
	Strategy          string `json:"strategy"`        // incremental
	RetentionCount    int    `json:"retention_count"` // number of versions to keep
	RollbackSupported bool   `json:"rollback_supported"`
}

// Default returns the default specification. code-architect writes code, so its base is coding (C-27). For another
// adapter the author must set the stage.
func Default(name string) Spec {
	s := Spec{
		Name: name, Version: 1, Tier: 1, Pillar: "cognition", Priority: "high",
		Hyperparameters: DefaultHyperparameters(),
		ChatTemplate:    "auto", MinimumCorpusSize: 50, ValidationSplit: DefaultValidationSplit,
		ActivationTriggers: []string{"builder_panel", "gaia_initiated"},
		RoutingKeywords:    []string{"generate service", "implement blueprint", "write the code for"},
		Versioning:         Versioning{Strategy: "incremental", RetentionCount: 3, RollbackSupported: true},
	}
	switch name {
	case CodeArchitect:
		s.Stage, s.BaseModel = training.ExecuteCode, string(training.Coding)
		s.Description = "writes the code of a unit from its blueprint"
		s.TrainingObjective = "given a blueprint and its context, write code that keeps all promises of the blueprint"
	case JSONArchitect:
		s.Hyperparameters.Rank = 16
	}
	return s
}

// DefaultValidationSplit is the default share of held-out examples.
const DefaultValidationSplit = 0.15

// DefaultHyperparameters returns the hyperparameters of the first curriculum (TRAIN-22). Training plans use the same.
func DefaultHyperparameters() Hyperparameters {
	return Hyperparameters{
		Rank: 32, Alpha: 64, Dropout: 0.05,
		TargetModules: []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj"},
		BatchSize:     1, GradientAccumulation: 8, LearningRate: 1e-4, MaxSteps: 500, MaxSequenceLength: 2048,
	}
}

// Dir returns the corpus folder of an adapter, with slashes, relative to the repository root.
func Dir(name string) string { return path.Join(Folder, name) }

// File returns the path of the specification.
func File(name string) string { return path.Join(Dir(name), "curriculum.json") }

// nameForm is the form of adapter names, which become folder names.
var nameForm = lazyre.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ErrName reports an invalid adapter name.
var ErrName = errors.New("no name of an adapter")

// ValidName checks an adapter name.
func ValidName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%.60q is %w; use lower-case letters, digits, - and _, such as %s", name, ErrName, CodeArchitect)
	}
	return nil
}

// ErrNone reports that an adapter has no specification.
var ErrNone = errors.New("adapter not found")

// Load reads the specification of an adapter in the repository at root. Without a file it returns the defaults, if
// these include a stage.
func Load(root, name string) (Spec, error) {
	if err := ValidName(name); err != nil {
		return Spec{}, err
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(File(name))))
	if errors.Is(err, fs.ErrNotExist) {
		s := Default(name)
		if s.Stage == "" {
			return Spec{}, fmt.Errorf("%s: %w", File(name), ErrNone)
		}
		return s, nil
	}
	if err != nil {
		return Spec{}, fmt.Errorf("read the specification of %s: %w", name, err)
	}
	return Parse(File(name), name, text)
}

// Parse strictly parses a specification. file is its name in errors; name is the required adapter name.
func Parse(file, name string, text []byte) (Spec, error) {
	s := Default(name)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Spec{}, fmt.Errorf("%s:%d: %w", file, lineAt(text, d.InputOffset()), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Spec{}, fmt.Errorf("%s:%d: more than one value in the file", file, lineAt(text, d.InputOffset()))
	}
	if s.Name != name {
		return Spec{}, fmt.Errorf("%s: adapter_name is %.60q, but the folder belongs to %s", file, s.Name, name)
	}
	if err := s.Check(); err != nil {
		return Spec{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(int(offset), 0), len(text))], []byte("\n"))
}

// Base returns the kind of base model.
func (s Spec) Base() training.Base { return training.BaseOf(s.Stage) }

// Check returns all errors of the specification at once.
func (s Spec) Check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := ValidName(s.Name); err != nil {
		errs = append(errs, err)
	}
	switch {
	case s.Stage == "":
		wrong("stage is missing; use one of %v", training.Stages())
	case !slices.Contains(training.Stages(), s.Stage):
		wrong("stage %q: must be one of %v", s.Stage, training.Stages())
	case s.BaseModel == "":
		wrong("base_model is missing; for stage %s it is %s", s.Stage, s.Base())
	case s.BaseModel != string(s.Base()):
		wrong("base_model is %q, but stage %s uses the base %s", s.BaseModel, s.Stage,
			s.Base())
	}
	if s.ChatTemplate != "auto" {
		wrong("chat_template is %q; it must be auto, because the base model has its own template",
			s.ChatTemplate)
	}
	h := s.Hyperparameters
	for _, f := range []struct {
		key   string
		value int
	}{
		{"adapter_version", s.Version}, {"minimum_corpus_size", s.MinimumCorpusSize},
		{"versioning.retention_count", s.Versioning.RetentionCount},
		{"hyperparameters.rank", h.Rank}, {"hyperparameters.alpha", h.Alpha}, {"hyperparameters.batch_size", h.BatchSize},
		{"hyperparameters.gradient_accumulation_steps", h.GradientAccumulation},
		{"hyperparameters.max_steps", h.MaxSteps},
		{"hyperparameters.max_sequence_length", h.MaxSequenceLength},
	} {
		if f.value < 1 {
			wrong("%s is %d; it is 1 or more", f.key, f.value)
		}
	}
	if !(h.Dropout >= 0 && h.Dropout < 1) {
		wrong("hyperparameters.dropout is %v; it is from 0 to below 1", h.Dropout)
	}
	if !(h.LearningRate > 0 && h.LearningRate < 1) {
		wrong("hyperparameters.learning_rate is %v; it must be above 0 and below 1", h.LearningRate)
	}
	if !(s.ValidationSplit > 0 && s.ValidationSplit < 1) {
		wrong("validation_split is %v; it must be above 0 and below 1", s.ValidationSplit)
	}
	if len(h.TargetModules) == 0 ||
		slices.ContainsFunc(h.TargetModules, func(m string) bool { return strings.TrimSpace(m) == "" }) {
		wrong("hyperparameters.target_modules names no module, or an empty one")
	}
	if s.Versioning.Strategy != "incremental" {
		wrong("versioning.strategy is %q; it is incremental", s.Versioning.Strategy)
	}
	return errors.Join(errs...)
}
