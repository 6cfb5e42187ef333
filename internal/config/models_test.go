package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func modelsFile(t *testing.T, text string) (*Loaded, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load([]string{file}, func(string) (string, bool) { return "", false })
}

// CFG-05: tuning values have defaults; models, addresses and budgets have none.
func TestModelsDefaults(t *testing.T) {
	l, err := modelsFile(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Models{MaxTokens: 2048, Timeout: Duration(5 * time.Minute), Retries: 2, Margin: 0.2},
		l.Models); diff != "" || l.Models.Configured() {
		t.Errorf("configured %v, -want +got:\n%s", l.Models.Configured(), diff)
	}
	if l.Budget != (Budget{}) || l.Solve != (Solve{}) || l.Stages != (Stages{Files: 60, Symbols: 160}) {
		t.Errorf("%+v %+v %+v have defaults", l.Budget, l.Solve, l.Stages)
	}
}

// The example of CFG-02 is read, and each value has its source.
func TestModelsAreRead(t *testing.T) {
	l, err := modelsFile(t, `
[models]
coding = "qwen2.5-coder:3b-instruct"
reasoning = "qwen3:4b-instruct-2507"
base_url = "http://localhost:11434"
timeout = "90s"
[models.overrides]
scope = "qwen3:4b-scope-v1"
[budget]
context_window = 32768
reserved_tokens = 4096
[solve]
max_attempts = 3
max_refinement_loops = 0
[stages]
default = "scope,precision"
`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range l.Values() {
		if v.Source == l.Files[0] {
			got[v.Key] = v.Value
		}
	}
	want := map[string]string{
		"models.coding": "qwen2.5-coder:3b-instruct", "models.reasoning": "qwen3:4b-instruct-2507",
		"models.base_url": "http://localhost:11434",
		"models.timeout":  "1m30s", "models.overrides": "scope: qwen3:4b-scope-v1", "budget.context_window": "32768",
		"budget.reserved_tokens": "4096",
		"solve.max_attempts":     "3", "solve.max_refinement_loops": "0", "stages.default": "scope,precision",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if l.Solve.MaxRefinementLoops == nil {
		t.Error("a limit of 0 refinements must not be read as a missing limit")
	}
}

func TestInvalidModelsAreRefused(t *testing.T) {
	const here = "[models]\ncoding = \"c\"\nbase_url = \"http://localhost:11434\"\n"
	for name, c := range map[string]struct{ text, want string }{
		"an unknown stage": {here + "[models.overrides]\nscop = \"x\"",
			`config.toml:5: models.overrides.scop is not a stage; stages are task_analysis, scope, precision, execute_plan, execute_code, enrichment, train_plan, curate_data, review, critique; did you mean "scope"?`},
		"an unknown stage, inline": {here + "overrides = {scop = \"x\"}",
			"config.toml:4: models.overrides.scop is not a stage; stages are "},
		"an override without a model": {here + "[models.overrides]\nscope = \" \"",
			"config.toml:5: models.overrides.scope names no model"},
		"an unknown provider": {"[models]\nprovider = \"openai\"",
			`models.provider is "openai"; use ollama or command`},
		"an invalid address": {"[models]\ncoding = \"c\"\nbase_url = \"localhost:11434\"",
			"models.base_url must be a URL"},
		"a password in the address": {"[models]\ncoding = \"c\"\nbase_url = \"http://me:hunter2@h:1\"",
			"must not contain a name or a password"},
		"an account": {"[models]\ncoding = \"c\"\nbase_url = \"https://Ollama.com\"",
			"runplan does not sign in"},
		"a command without a word": {"[models]\nprovider = \"command\"\ncommand = [\"\"]",
			"its first word must be the program"},
		"a command with an address": {"[models]\nprovider = \"command\"\ncommand = [\"x\"]\nbase_url = " +
			"\"http://localhost:1\"", "models.base_url is for Ollama"},
		"a command without provider": {here + "command = [\"x\"]", `models.command needs models.provider = "command"`},
		"a variable without command": {here + "pass_env = [\"X\"]", `models.pass_env needs models.provider = "command"`},
		"an unknown key":             {here + "temprature = 1", `unknown key "models.temprature"`},
		"a window below 0":           {here + "coding_window = -1", "models.coding_window is -1"},
		"a temperature": {here + "reasoning_temperature = 3.5",
			"models.reasoning_temperature is 3.5; it must be 0 to 2"},
		"an invalid temperature":    {here + "coding_temperature = nan", "models.coding_temperature is NaN"},
		"retries for ever":          {here + "retries = 100", "models.retries is 100; it must be 0 to 10"},
		"a margin below 0":          {here + "margin = -0.1", "models.margin is -0.1"},
		"no limit of time":          {here + "timeout = \"0s\"", "models.timeout is 0"},
		"a duration without a unit": {here + "timeout = 90", "not a duration"},
		"reserved below 0":          {"[budget]\ncontext_window = 5\nreserved_tokens = -5", "reserved_tokens is -5"},
		"all reserved": {"[budget]\ncontext_window = 5\nreserved_tokens = 5",
			"reserved_tokens (5) leaves nothing of context_window (5)"},
		"an invalid window":    {"[budget]\ncontext_window = -5", "context_window is -5"},
		"no file to ask about": {"[stages]\nfiles = 0", "config.toml:2: stages.files is 0; it must be 1 to 1000"},
		"too many pieces to ask about": {"[stages]\nfiles = 8\nsymbols = 1001",
			"config.toml:3: stages.symbols is 1001; it must be 1 to 1000"},
		"attempts below 0":    {"[solve]\nmax_attempts = -1", "solve.max_attempts is -1"},
		"refinements below 0": {"[solve]\nmax_refinement_loops = -1", "solve.max_refinement_loops is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := modelsFile(t, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Check refuses the same settings as Load.
func TestCheckMatchesLoad(t *testing.T) {
	if err := Check("f.toml", []byte("[models]\nbase_url = \"here\"")); err == nil ||
		!strings.Contains(err.Error(), "f.toml:2: models.base_url must be a URL") {
		t.Errorf("%v", err)
	}
	if err := Check("f.toml", []byte("[models]\ncoding = \"c\"\nbase_url = \"http://localhost:1\"")); err != nil {
		t.Error(err)
	}
}
