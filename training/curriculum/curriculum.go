// Package curriculum says what an adapter is trained for and how: the file curriculum.json in the folder of its corpus
// (TRAIN-17, TRAIN-22). What the file leaves out has its default; what nobody knows is an error.
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

// Folder is where the corpora are, below the root of a repository, each in a folder of its adapter's name.
const Folder = "knowledge/curricula"

// The adapters with defaults of their own.
const (
	CodeArchitect = "code-architect"
	JSONArchitect = "json-architect"
)

// Spec is what an adapter is trained for.
type Spec struct {
	Name               string          `json:"adapter_name"`
	Version            int             `json:"adapter_version"` // the first one; each training has the next (TRAIN-23)
	Tier               int             `json:"tier"`
	Pillar             string          `json:"pillar"`
	Priority           string          `json:"priority"`
	Description        string          `json:"description"`
	BaseModel          string          `json:"base_model"` // coding or reasoning: the model that has this role in the settings
	Stage              training.Stage  `json:"stage"`      // that the adapter answers for
	Hyperparameters    Hyperparameters `json:"hyperparameters"`
	ChatTemplate       string          `json:"chat_template"` // auto: that of the base model (TRAIN-20)
	TrainingObjective  string          `json:"training_objective"`
	MinimumCorpusSize  int             `json:"minimum_corpus_size"`
	ValidationSplit    float64         `json:"validation_split"`
	ActivationTriggers []string        `json:"activation_triggers"`
	RoutingKeywords    []string        `json:"routing_keywords"`
	Versioning         Versioning      `json:"versioning"`
}

// Hyperparameters go to the trainer as they stand.
type Hyperparameters struct {
	Rank                      int      `json:"rank"`
	Alpha                     int      `json:"alpha"`
	Dropout                   float64  `json:"dropout"`
	TargetModules             []string `json:"target_modules"`
	BatchSize                 int      `json:"batch_size"`
	GradientAccumulationSteps int      `json:"gradient_accumulation_steps"`
	LearningRate              float64  `json:"learning_rate"`
	MaxSteps                  int      `json:"max_steps"`
	MaxSequenceLength         int      `json:"max_sequence_length"`
}

// Versioning says which versions are kept.
type Versioning struct {
	Strategy          string `json:"strategy"`        // incremental
	RetentionCount    int    `json:"retention_count"` // versions that are kept
	RollbackSupported bool   `json:"rollback_supported"`
}

// Default returns what holds where curriculum.json says nothing. code-architect writes code, so it is of the coding base (C-27); of
// another adapter only its author knows which stage it is for.
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
		s.TrainingObjective = "given a blueprint and what is around it, write code that keeps all that the blueprint promises"
	case JSONArchitect:
		s.Hyperparameters.Rank = 16
	}
	return s
}

// DefaultValidationSplit is the share that is kept for validation where nothing is said.
const DefaultValidationSplit = 0.15

// DefaultHyperparameters are those of the curriculum that the product starts with (TRAIN-22); training plans start with
// the same.
func DefaultHyperparameters() Hyperparameters {
	return Hyperparameters{
		Rank: 32, Alpha: 64, Dropout: 0.05, TargetModules: []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj"},
		BatchSize: 1, GradientAccumulationSteps: 8, LearningRate: 1e-4, MaxSteps: 500, MaxSequenceLength: 2048,
	}
}

// Dir is the folder of an adapter's corpus, with slashes, below the root of the repository.
func Dir(name string) string { return path.Join(Folder, name) }

// File is the path of its specification.
func File(name string) string { return path.Join(Dir(name), "curriculum.json") }

// nameForm is what the name of an adapter may be: it becomes the name of folders.
var nameForm = lazyre.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ErrName says that something is no name of an adapter.
var ErrName = errors.New("no name of an adapter")

// ValidName says whether an adapter can have that name.
func ValidName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%.60q is %w; it is small letters, digits, - and _, such as %s", name, ErrName, CodeArchitect)
	}
	return nil
}

// ErrNone says that nobody has written down what an adapter is for.
var ErrNone = errors.New("there is no such adapter")

// Load reads the specification of an adapter in the repository at root. Without a file the defaults hold, for an adapter whose stage
// they know.
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
		return Spec{}, fmt.Errorf("read what %s is for: %w", name, err)
	}
	return Parse(File(name), name, text)
}

// Parse reads a specification strictly. file is how messages call it, name the adapter that it has to be about.
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
		return Spec{}, fmt.Errorf("%s: adapter_name is %.60q, and the folder is that of %s", file, s.Name, name)
	}
	if err := s.Check(); err != nil {
		return Spec{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(int(offset), 0), len(text))], []byte("\n"))
}

// Base is the kind of model that the adapter is for.
func (s Spec) Base() training.Base { return training.BaseOf(s.Stage) }

// Check says what is wrong with s, all of it at once.
func (s Spec) Check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := ValidName(s.Name); err != nil {
		errs = append(errs, err)
	}
	switch {
	case s.Stage == "":
		wrong("stage is missing; it is one of %v", training.Stages())
	case !slices.Contains(training.Stages(), s.Stage):
		wrong("stage %q is none of %v", s.Stage, training.Stages())
	case s.BaseModel == "":
		wrong("base_model is missing; of stage %s it is %s", s.Stage, s.Base())
	case s.BaseModel != string(s.Base()):
		wrong("base_model is %q; a model of stage %s is of base %s, and an adapter never crosses it", s.BaseModel, s.Stage, s.Base())
	}
	if s.ChatTemplate != "auto" {
		wrong("chat_template is %q; it is auto: the base model has its own, and no token of it is written here", s.ChatTemplate)
	}
	h := s.Hyperparameters
	for _, f := range []struct {
		key   string
		value int
	}{
		{"adapter_version", s.Version}, {"minimum_corpus_size", s.MinimumCorpusSize}, {"versioning.retention_count", s.Versioning.RetentionCount},
		{"hyperparameters.rank", h.Rank}, {"hyperparameters.alpha", h.Alpha}, {"hyperparameters.batch_size", h.BatchSize},
		{"hyperparameters.gradient_accumulation_steps", h.GradientAccumulationSteps}, {"hyperparameters.max_steps", h.MaxSteps},
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
		wrong("hyperparameters.learning_rate is %v; it is above 0 and below 1", h.LearningRate)
	}
	if !(s.ValidationSplit > 0 && s.ValidationSplit < 1) {
		wrong("validation_split is %v; it is above 0 and below 1", s.ValidationSplit)
	}
	if len(h.TargetModules) == 0 || slices.ContainsFunc(h.TargetModules, func(m string) bool { return strings.TrimSpace(m) == "" }) {
		wrong("hyperparameters.target_modules names no module, or an empty one")
	}
	if s.Versioning.Strategy != "incremental" {
		wrong("versioning.strategy is %q; it is incremental", s.Versioning.Strategy)
	}
	return errors.Join(errs...)
}

// Encode writes the specification as its file has it.
func (s Spec) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write what %s is for: %w", s.Name, err)
	}
	return append(text, '\n'), nil
}
