package curriculum

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/training"
)

// TRAIN-22: the defaults equal the table of the requirement.
func TestDefaults(t *testing.T) {
	got := Default(CodeArchitect)
	got.Description, got.TrainingObjective = "", ""
	want := Spec{
		Name: "code-architect", Version: 1, Tier: 1, Pillar: "cognition", Priority: "high", BaseModel: "coding",
		Stage: training.ExecuteCode,
		Hyperparameters: Hyperparameters{32, 64, 0.05,
			[]string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj"}, 1, 8, 0.0001, 500, 2048},
		ChatTemplate: "auto", MinimumCorpusSize: 50, ValidationSplit: 0.15,
		ActivationTriggers: []string{"builder_panel", "gaia_initiated"},
		RoutingKeywords:    []string{"generate service", "implement blueprint", "write the code for"},
		Versioning:         Versioning{"incremental", 3, true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if r := Default(JSONArchitect).Hyperparameters.Rank; r != 16 {
		t.Errorf("the rank of json-architect is %d, not 16", r)
	}
	if err := Default(CodeArchitect).Check(); err != nil {
		t.Error(err)
	}
}

func TestSpecificationRoundTrips(t *testing.T) {
	s := Default(CodeArchitect)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse("f", CodeArchitect, text)
	if err != nil || !cmp.Equal(s, back) {
		t.Errorf("%v\n%s", err, cmp.Diff(s, back))
	}
}

func TestParseRejectsInvalidSettings(t *testing.T) {
	for text, want := range map[string]string{
		`{"adapter_name":"x","adaptor":1}`:              `f:1: json: unknown field "adaptor"`,
		"{\n\"tier\": \"one\"}":                         "f:2: ",
		`{"stage":"scope","base_model":"coding"}`:       `stage scope uses the base reasoning`,
		`{"stage":"cooking"}`:                           `stage "cooking": must be one of`,
		`{}`:                                            "stage is missing",
		`{"stage":"scope"}`:                             "base_model is missing; for stage scope it is reasoning",
		`{"adapter_name":"y"}`:                          `adapter_name is "y", but the folder belongs to x`,
		`{"stage":"scope","base_model":"reasoning"} {}`: "more than one value",
		`{"stage":"scope","base_model":"reasoning","chat_template":"[INST]"}`:           `chat_template is "[INST]"`,
		`{"stage":"scope","base_model":"reasoning","validation_split":1}`:               "validation_split is 1",
		`{"stage":"scope","base_model":"reasoning","hyperparameters":{"rank":0}}`:       "hyperparameters.rank is 0",
		`{"stage":"scope","base_model":"reasoning","hyperparameters":{"dropout":1}}`:    "hyperparameters.dropout is 1",
		`{"stage":"scope","base_model":"reasoning","versioning":{"retention_count":0}}`: "versioning.retention_count is 0",
		`{"stage":"scope","base_model":"reasoning","hyperparameters":{"learning_rate":0}}`: "hyperparameters.learning_rate " +
			"is 0",
	} {
		if _, err := Parse("f", "x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s, err := Parse("f", "x", []byte(`{"stage":"scope","base_model":"reasoning","hyperparameters":{"rank":8}}`))
	if err != nil || s.Hyperparameters.Rank != 8 || s.Hyperparameters.Alpha != 64 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestLoad(t *testing.T) {
	root := t.TempDir()
	if s, err := Load(root, CodeArchitect); err != nil || s.Stage != training.ExecuteCode {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := Load(root, "mine"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	for _, name := range []string{"", "..", "a/b", "A", "-a", strings.Repeat("a", 65)} {
		if _, err := Load(root, name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	file := filepath.Join(root, filepath.FromSlash(File("mine")))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"stage":"scope","base_model":"reasoning"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(root, "mine"); err != nil || s.Base() != training.Reasoning {
		t.Errorf("%+v %v", s, err)
	}
}

func FuzzParse(f *testing.F) {
	text, _ := json.Marshal(Default(CodeArchitect))
	f.Add(text)
	f.Add([]byte(`{"stage":"scope","base_model":"reasoning","x":[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("f", CodeArchitect, text)
		if err == nil && s.Check() != nil {
			t.Errorf("Parse accepts %q, but Check refuses it: %v", text, s.Check())
		}
	})
}
