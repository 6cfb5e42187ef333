package llm_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// MODEL-06: the coding model writes code; the reasoning model serves all other stages.
func TestRoles(t *testing.T) {
	var coding []llm.Stage
	var names []string
	for _, s := range llm.Stages() {
		names = append(names, string(s))
		if llm.RoleOf(s) == llm.Coding {
			coding = append(coding, s)
		}
	}
	if !slices.Equal(coding, []llm.Stage{llm.ExecuteCode}) {
		t.Errorf("coding is asked for %v", coding)
	}
	if diff := cmp.Diff(config.ModelStages(), names); diff != "" {
		t.Errorf("[models.overrides] has other names (-config +llm):\n%s", diff)
	}
}

// MODEL-04: the model of the request comes first, then the override of the stage, then its adapter, then the model of
// the role.
func TestModelResolution(t *testing.T) {
	m := config.Models{
		Coding: "c", Reasoning: "r", BaseURL: "http://localhost:1", MaxTokens: 7, CodingWindow: 100, CodingTemperature: 0.5,
		ReasoningTemperature: 0.3,
		Overrides:            map[string]string{"scope": "r-scope"},
	}
	adapters := func(s llm.Stage) (string, bool) { return "tuned-" + string(s), s == llm.Scope || s == llm.ExecutePlan }
	for name, c := range map[string]struct {
		stage  llm.Stage
		asked  string
		change func(*config.Models, *llm.RouterOptions)
		want   llm.Model
	}{
		"the role": {stage: llm.Precision,
			want: llm.Model{Role: llm.Reasoning, Name: "r", Window: 50, Temperature: 0.3, Source: "models.reasoning"}},
		"the other role": {stage: llm.ExecuteCode,
			want: llm.Model{Role: llm.Coding, Name: "c", Window: 100, Temperature: 0.5, Source: "models.coding"}},
		"an adapter before the role": {stage: llm.ExecutePlan,
			want: llm.Model{Role: llm.Reasoning, Name: "tuned-execute_plan", Window: 50, Temperature: 0.3,
				Source: "adapter tuned-execute_plan"}},
		"an override before the adapter": {stage: llm.Scope,
			want: llm.Model{Role: llm.Reasoning, Name: "r-scope", Window: 50, Temperature: 0.3,
				Source: "models.overrides.scope"}},
		"the request before all": {stage: llm.Scope, asked: "c",
			want: llm.Model{Role: llm.Reasoning, Name: "c", Window: 50, Temperature: 0.3, Source: "requested"}},
		"a requested role": {stage: llm.Scope, asked: "coding",
			want: llm.Model{Role: llm.Coding, Name: "c", Window: 100, Temperature: 0.5, Source: "models.coding"}},
		"a review has no temperature": {stage: llm.Review,
			want: llm.Model{Role: llm.Reasoning, Name: "r", Window: 50, Source: "models.reasoning"}},
		"nor has one by another role": {stage: llm.Review, asked: "coding",
			want: llm.Model{Role: llm.Coding, Name: "c", Window: 100, Source: "models.coding"}},
		"a window from a flag before all": {stage: llm.ExecuteCode,
			change: func(_ *config.Models, o *llm.RouterOptions) { o.Windows = map[llm.Role]int{llm.Coding: 60} },
			want:   llm.Model{Role: llm.Coding, Name: "c", Window: 60, Temperature: 0.5, Source: "models.coding"}},
		"a program has no adapters": {stage: llm.ExecutePlan,
			change: func(m *config.Models, _ *llm.RouterOptions) { m.Provider, m.Command = "command", []string{"ask"} },
			want: llm.Model{Role: llm.Reasoning, Provider: "command", Command: []string{"ask"}, Name: "r", Window: 50,
				Temperature: 0.3, Source: "models.reasoning"}},
		"a program needs no name": {stage: llm.Precision, change: func(m *config.Models, _ *llm.RouterOptions) {
			m.Provider, m.Command, m.Reasoning = "command", []string{"ask"}, ""
		},
			want: llm.Model{Role: llm.Reasoning, Provider: "command", Command: []string{"ask"}, Window: 50, Temperature: 0.3,
				Source: "models.reasoning"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, o := m, llm.RouterOptions{Window: 50, Adapter: adapters}
			if c.change != nil {
				c.change(&m, &o)
			}
			if c.want.Provider == "" {
				c.want.Provider = "ollama"
			}
			c.want.BaseURL, c.want.MaxTokens = m.BaseURL, 7
			r, err := llm.NewRouter(m, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Pick(c.stage, c.asked)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRouterRefusesInvalidSettings(t *testing.T) {
	if _, err := llm.NewRouter(config.Default().Models, llm.RouterOptions{}); !errors.Is(err, llm.ErrNoModels) ||
		!strings.Contains(err.Error(), "runplan init") {
		t.Errorf("no [models]: %v", err)
	}
	if _, err := llm.NewRouter(config.Models{Coding: "c", Overrides: map[string]string{"scop": "x"}},
		llm.RouterOptions{}); err == nil || !strings.Contains(err.Error(), "scop") {
		t.Errorf("an unknown stage: %v", err)
	}
	var unset *llm.MissingSettingError
	if _, err := llm.NewRouter(config.Models{Coding: "c"}, llm.RouterOptions{}); !errors.As(err, &unset) ||
		unset.Key != "models.base_url" {
		t.Errorf("no server: %v", err)
	}
	if _, err := llm.NewRouter(config.Models{Provider: "command"}, llm.RouterOptions{}); !errors.As(err, &unset) ||
		unset.Key != "models.command" {
		t.Errorf("no program: %v", err)
	}
	r, err := llm.NewRouter(
		config.Models{Coding: "c", BaseURL: "http://localhost:1", Overrides: map[string]string{"review": "c2"}},
		llm.RouterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var missing *llm.MissingModelError
	if _, err := r.Model(llm.Scope); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "models.reasoning is not set") {
		t.Errorf("a role without a model: %v", err)
	}
	var unknown *llm.UnknownModelError
	if _, err := r.Pick(llm.Scope, "opus"); !errors.As(err, &unknown) ||
		!slices.Equal(unknown.Known, []string{"coding", "reasoning", "c", "c2"}) {
		t.Errorf("a model that is not configured: %v", err)
	}
	if _, err := r.Model("scop"); err == nil {
		t.Error("an unknown stage has a model")
	}
}

func TestModelsListsEachModelOnce(t *testing.T) {
	r, err := llm.NewRouter(
		config.Models{Coding: "a", Reasoning: "a", BaseURL: "http://localhost:1",
			Overrides: map[string]string{"scope": "b", "review": "a"}}, llm.RouterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.Models() {
		got = append(got, m.Name+": "+m.Source)
	}
	if diff := cmp.Diff([]string{"a: models.coding, models.reasoning, models.overrides.review",
		"b: models.overrides.scope"}, got); diff != "" {
		t.Error(diff)
	}
}

// BUD-05: a prompt that exceeds the window is refused with its figures; one that just fits is accepted.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		window, most int
		budget       tokens.Budget
		chars        int
		fits         bool
	}{
		"just fits":                             {window: 100, most: 20, chars: 320, fits: true},
		"one character too many":                {window: 100, most: 20, chars: 321},
		"the margin counts":                     {window: 100, most: 20, chars: 320, budget: tokens.Budget{Margin: 0.01}},
		"the budget's window may be smaller":    {window: 1000, most: 20, chars: 321, budget: tokens.Budget{Window: 100}},
		"or larger, which changes nothing":      {window: 100, most: 20, chars: 321, budget: tokens.Budget{Window: 1000}},
		"the budget's window alone":             {most: 20, chars: 321, budget: tokens.Budget{Window: 100}},
		"an unknown window cannot be too small": {most: 20, chars: 1 << 20, fits: true},
		"characters are counted, not bytes":     {window: 100, most: 20, chars: -320, fits: true},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat("x", max(c.chars, 0)) + strings.Repeat("ü", max(-c.chars, 0))
			n := len([]rune(text))
			r := llm.Request{Model: llm.Model{Role: llm.Coding, Name: "q", Window: c.window, MaxTokens: c.most},
				System: string([]rune(text)[:n/4/4*4]), Prompt: string([]rune(text)[n/4/4*4:])}
			err := llm.Check(r, c.budget)
			var window *llm.WindowError
			if c.fits != (err == nil) || err != nil &&
				(!errors.As(err, &window) || window.Window != 100 || window.Answer != 20 || window.Prompt < 81) {
				t.Fatalf("%v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "the window is 100") {
				t.Error(err)
			}
		})
	}
	big := llm.Request{Model: llm.Model{Name: "q", Provider: llm.Ollama, BaseURL: "http://127.0.0.1:1", Window: 10},
		Prompt: strings.Repeat("x", 100)}
	var window *llm.WindowError
	if _, err := llm.New(llm.Options{}).Complete(t.Context(), big); !errors.As(err, &window) {
		t.Errorf("the size must be checked before the call: %v", err)
	}
}
