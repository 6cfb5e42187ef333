package llm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/runplan/runplan/internal/config"
)

// Stages lists the stages in table order (MODEL-06).
func Stages() []Stage {
	return []Stage{TaskAnalysis, Scope, Precision, ExecutePlan, ExecuteCode, Enrichment, TrainPlan, CurateData, Review,
		Critique}
}

// RoleOf returns the role for a stage (MODEL-06). Writing code uses the coding model; all else uses the reasoning
// model.
func RoleOf(s Stage) Role {
	if s == ExecuteCode {
		return Coding
	}
	return Reasoning
}

// RouterOptions holds parameters that are not in [models].
type RouterOptions struct {
	Window  int                               // default for roles without a window: budget.context_window; 0: unknown
	Windows map[Role]int                      // from flags; they override the settings
	Adapter func(Stage) (tag string, ok bool) // returns the active adapter of a stage, an Ollama tag; nil: none
}

// Router selects the model for a stage (MODEL-03). Make one per command.
type Router struct {
	m config.Models
	o RouterOptions
}

// NewRouter returns a router for the settings. It returns [ErrNoModels] if they configure no models. The provider has
// no default (CFG-05).
func NewRouter(m config.Models, o RouterOptions) (*Router, error) {
	if !m.Configured() {
		return nil, ErrNoModels
	}
	for _, s := range slices.Sorted(maps.Keys(m.Overrides)) {
		if !slices.Contains(Stages(), Stage(s)) {
			return nil, fmt.Errorf("models.overrides.%s is not a stage; stages are %v", s, Stages())
		}
	}
	r := &Router{m, o}
	switch {
	case r.provider() == Ollama && m.BaseURL == "":
		return nil, &MissingSettingError{"models.base_url",
			`base_url = "http://localhost:11434", or the address of your Ollama server,`}
	case r.provider() == Command && len(m.Command) == 0:
		return nil, &MissingSettingError{"models.command", `command = ["program", "argument"]`}
	}
	return r, nil
}

// Model returns the model for a stage: its override, else its active adapter, else the model of its role (MODEL-04).
func (r *Router) Model(s Stage) (Model, error) {
	if !slices.Contains(Stages(), s) {
		return Model{}, fmt.Errorf("unknown stage %q; stages are %v", s, Stages())
	}
	if tag, ok := r.m.Overrides[string(s)]; ok {
		return r.of(s, RoleOf(s), tag, "models.overrides."+string(s)), nil
	}
	// An adapter is an Ollama tag, so a program cannot use it.
	if r.o.Adapter != nil && r.provider() == Ollama {
		if tag, ok := r.o.Adapter(s); ok {
			return r.of(s, RoleOf(s), tag, "adapter "+tag), nil
		}
	}
	return r.ofRole(s, RoleOf(s))
}

// Pick does what [Router.Model] does, with an optional choice (MODEL-04): "", a role, or the name of a configured
// model. Any other name is an error (MODEL-07).
func (r *Router) Pick(s Stage, name string) (Model, error) {
	switch name {
	case "":
		return r.Model(s)
	case string(Coding), string(Reasoning):
		return r.ofRole(s, Role(name))
	}
	known := []string{string(Coding), string(Reasoning)}
	for _, m := range r.Models() {
		if m.Name == name {
			return r.of(s, RoleOf(s), name, "requested"), nil
		}
		if m.Name != "" && !slices.Contains(known, m.Name) {
			known = append(known, m.Name)
		}
	}
	return Model{}, &UnknownModelError{name, known}
}

// Models lists the configured models: coding, reasoning, then overrides. A model that is named twice with the same
// window is listed once, with both places as its source.
func (r *Router) Models() []Model {
	var out []Model
	add := func(m Model) {
		i := slices.IndexFunc(out, func(o Model) bool { return o.Name == m.Name && o.Window == m.Window })
		if i < 0 {
			out = append(out, m)
			return
		}
		out[i].Source += ", " + m.Source
	}
	for _, s := range []Stage{ExecuteCode, ExecutePlan} {
		if m, err := r.ofRole(s, RoleOf(s)); err == nil {
			add(m)
		}
	}
	for _, s := range Stages() {
		if tag, ok := r.m.Overrides[string(s)]; ok {
			add(r.of(s, RoleOf(s), tag, "models.overrides."+string(s)))
		}
	}
	return out
}

func (r *Router) ofRole(s Stage, role Role) (Model, error) {
	name := r.m.Reasoning
	if role == Coding {
		name = r.m.Coding
	}
	// One program may serve all roles.
	if name == "" && r.provider() == Ollama {
		return Model{}, &MissingModelError{role}
	}
	return r.of(s, role, name, "models."+string(role)), nil
}

// of returns the named model for a stage, with the settings of a role.
func (r *Router) of(s Stage, role Role, name, source string) Model {
	m := Model{
		Role: role, Name: name, Provider: r.provider(), BaseURL: r.m.BaseURL, Command: slices.Clone(r.m.Command),
		MaxTokens: r.m.MaxTokens, Window: r.m.ReasoningWindow, Temperature: r.m.ReasoningTemperature, Source: source,
	}
	if role == Coding {
		m.Window, m.Temperature = r.m.CodingWindow, r.m.CodingTemperature
	}
	m.Window = cmp.Or(m.Window, r.o.Window)
	if w := r.o.Windows[role]; w > 0 {
		m.Window = w
	}
	if s == Review || s == Critique {
		m.Temperature = 0 // judging must be repeatable (MODEL-11)
	}
	return m
}

func (r *Router) provider() string { return cmp.Or(r.m.Provider, Ollama) }
