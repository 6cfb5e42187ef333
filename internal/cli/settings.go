package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/routing"
	"github.com/runplan/runplan/sampling"
)

// CheckSettings checks what the settings say to the packages that use them, and the names of agents in the value of a
// key that a user sets. [App.LoadConfig] only knows the form of values. A name may come before the agent that it names,
// in another file, so only the command that writes the name refuses an unknown one.
func (a *App) CheckSettings(c *config.Loaded, set string) error {
	if _, _, err := compile(c); err != nil {
		return err
	}
	p := &Project{App: a, Config: c}
	for _, name := range map[string][]string{
		"run.agent": {c.Run.Agent}, "run.fallback": c.Run.Fallback, "feedback.agent": {c.Feedback.Agent},
	}[set] {
		if err := p.knownAgent(name); err != nil {
			return fmt.Errorf("%s: %s: %w", Rel(c.Where(set)), set, err)
		}
	}
	return nil
}

// compile compiles the expressions of the settings, so that an error in one is reported before anything runs. It
// returns those of the gates.
func compile(c *config.Loaded) (when []gates.When, overrides []gates.Override, err error) {
	const ofGates = "a condition of gates.when may read gate, changed, all, batch and env; one of gates.severity gate, " +
		"rule, path, line, severity, message, test and env"
	wrong := func(key, hint string, err error) error {
		return Usage(fmt.Errorf("%s: %w", Rel(c.Where(key)), err), "%s", hint)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Gates.When)) {
		w, err := gates.ParseWhen(name, c.Gates.When[name])
		if err != nil {
			return nil, nil, wrong("gates.when."+name, ofGates, fmt.Errorf("gates.when.%s: %w", name, err))
		}
		when = append(when, w)
	}
	for _, g := range c.Gates.Command {
		if g.When == "" {
			continue
		}
		w, err := gates.ParseWhen(g.Name, g.When)
		if err != nil {
			return nil, nil, wrong("gates.command", ofGates, fmt.Errorf("gate %s: %w", g.Name, err))
		}
		when = append(when, w)
	}
	for i, s := range c.Gates.Severity {
		o, err := gates.ParseOverride(s.When, s.Severity)
		if err != nil {
			return nil, nil, wrong("gates.severity", ofGates, fmt.Errorf("gates.severity %d: %w", i+1, err))
		}
		overrides = append(overrides, o)
	}
	if key, err := RoutingRules(c.Routing).Check(); err != nil {
		return nil, nil, wrong(key, "", err)
	}
	if _, err := sampling.NewScorer(c.Sampling.Score); err != nil {
		return nil, nil, wrong("sampling.score", "", err)
	}
	return when, overrides, nil
}

// RoutingRules returns the rules of the settings.
func RoutingRules(c config.Routing) routing.Rules {
	return routing.Rules{
		ParallelScoreThreshold: c.ParallelScoreThreshold, SpeculateMaxOverlap: c.SpeculateMaxOverlap, Speculate: c.Speculate,
		WorkerMemGB: c.WorkerMemThresholdGB, MaxWorkers: c.MaxWorkers, Score: c.Score, Team: c.Team, Class: c.Class,
		ModelImplementation: c.ModelImplementation, ModelVerification: c.ModelVerification,
		ModelArchitecture: c.ModelArchitecture, ModelWiring: c.ModelWiring, Escalate: c.ModelEscalateOnFail,
	}
}
