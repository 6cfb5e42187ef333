package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/tokens"
)

// Models configures the language models and their endpoints (MODEL-03, MODEL-07). There are no defaults: no endpoint
// and no model is built in.
type Models struct {
	Provider  string   `toml:"provider" doc:"server of the models: ollama, or command for a program that answers; empty is ollama"`
	Coding    string   `toml:"coding" doc:"model that writes code"`
	Reasoning string   `toml:"reasoning" doc:"model that plans and judges"`
	Embedding string   `toml:"embedding" doc:"embedding model of the Ollama server, with which runplan index makes a vector of each chunk, and retrieval compares the task; empty: none"`
	BaseURL   string   `toml:"base_url" doc:"address of the Ollama server, such as http://localhost:11434"`
	Command   []string `toml:"command" doc:"with provider = \"command\": program and arguments; it gets the question on standard input, and {model} is replaced"`
	PassEnv   []string `toml:"pass_env" doc:"with provider = \"command\": environment variables that the program gets"`

	CodingWindow         int      `toml:"coding_window" doc:"maximum number of tokens of question and answer together, for the coding model; 0 uses budget.context_window"`
	ReasoningWindow      int      `toml:"reasoning_window" doc:"the same for the reasoning model"`
	CodingTemperature    float64  `toml:"coding_temperature" doc:"temperature of the coding model; 0 always chooses the most probable token"`
	ReasoningTemperature float64  `toml:"reasoning_temperature" doc:"temperature of the reasoning model; reviews always use 0"`
	MaxTokens            int      `toml:"max_tokens" doc:"maximum number of tokens of an answer; 0 uses the server's limit"`
	Timeout              Duration `toml:"timeout" doc:"time limit of one attempt at an answer"`
	Retries              int      `toml:"retries" doc:"retries after a lost connection, a timeout, a truncated answer or a busy server"`
	Margin               float64  `toml:"margin" doc:"safety margin of token estimates, as a share"`

	Overrides map[string]string `toml:"overrides" doc:"model of a single stage: task_analysis, scope, precision, execute_plan, execute_code, enrichment, train_plan, curate_data, review or critique"`
}

// Configured reports whether any model is configured.
func (m Models) Configured() bool {
	return m.Provider != "" || m.Coding != "" || m.Reasoning != "" || m.BaseURL != "" || len(m.Command) > 0 ||
		len(m.Overrides) > 0
}

// ModelStages returns the names that [models.overrides] may have.
func ModelStages() []string {
	return []string{"task_analysis", "scope", "precision", "execute_plan", "execute_code", "enrichment", "train_plan",
		"curate_data", "review", "critique"}
}

// Budget is the size limit of a prompt, in tokens (BUD-01). 0 means "not set": there is no default (CFG-05).
type Budget struct {
	ContextWindow  int `toml:"context_window" doc:"context window: tokens of a prompt and its answer together"`
	ReservedTokens int `toml:"reserved_tokens" doc:"tokens of the window reserved for instructions, task, retries and answer; the rest is for context"`
}

// Solve holds the settings for solving a task. They have no defaults (CFG-05).
type Solve struct {
	MaxAttempts        int  `toml:"max_attempts" doc:"attempts at a task before it counts as failed"`
	MaxRefinementLoops *int `toml:"max_refinement_loops" doc:"how often an attempt may ask for more context"`
}

// Stages selects the stages of context retrieval.
type Stages struct {
	Default string `toml:"default" doc:"stages that retrieve context, in order: scope,precision"`
	Files   int    `toml:"files" doc:"maximum number of files that the model of scope judges; the window may limit it further"`
	Symbols int    `toml:"symbols" doc:"maximum number of code sections that the model of precision judges; the window may limit it further"`
}

// checkModels checks [models], [budget] and [solve]. A missing value is not an error here: another file or a variable
// may set it, and a command that needs it reports it.
func (l *checks) checkModels() {
	m := l.Models
	say := func(key, format string, args ...any) { l.say("models."+key, format, args...) }
	switch {
	case m.Provider != "" && m.Provider != "ollama" && m.Provider != "command":
		say("provider", "is %q; use ollama or command", m.Provider)
	case len(m.Command) > 0 && m.Command[0] == "":
		say("command", "begins with an empty word, but its first word must be the program")
	case m.Provider == "command" && m.Embedding != "":
		say("embedding", "is for Ollama; remove it with provider = \"command\"")
	case m.Provider == "command" && m.BaseURL != "":
		say("base_url", "is for Ollama; remove it with provider = \"command\"")
	case m.Provider != "command" && len(m.Command) > 0:
		say("command", "needs models.provider = \"command\"")
	case m.Provider != "command" && len(m.PassEnv) > 0:
		say("pass_env", "needs models.provider = \"command\"")
	case m.BaseURL != "":
		if why := badBaseURL(m.BaseURL); why != "" {
			say("base_url", "%s", why)
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(m.Overrides)) {
		key := "overrides." + stage
		switch {
		case !slices.Contains(ModelStages(), stage):
			near := ""
			if n := Nearest(stage, ModelStages()); n != "" {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			say(key, "is not a stage; stages are %s%s", strings.Join(ModelStages(), ", "), near)
		case strings.TrimSpace(m.Overrides[stage]) == "":
			say(key, "names no model; remove the line to use the model of the stage's role")
		}
	}
	l.checkModelFigures()
	l.checkBudget()
}

func (l *checks) checkModelFigures() {
	m := l.Models
	l.between("models.coding_window", float64(m.CodingWindow), 0, 1<<30)
	l.between("models.reasoning_window", float64(m.ReasoningWindow), 0, 1<<30)
	l.between("models.coding_temperature", m.CodingTemperature, 0, 2)
	l.between("models.reasoning_temperature", m.ReasoningTemperature, 0, 2)
	l.between("models.max_tokens", float64(m.MaxTokens), 0, 1<<30)
	l.between("models.retries", float64(m.Retries), 0, 10)
	l.between("models.margin", m.Margin, 0, 10)
	if m.Timeout <= 0 {
		l.say("models.timeout", "is 0; a call without a time limit could block a run")
	}
}

// checkBudget checks a given budget; the command decides whether one is needed.
func (l *checks) checkBudget() {
	b := l.Budget
	if b.ContextWindow != 0 || b.ReservedTokens < 0 { // the command that needs it reports an incomplete one
		if err := (tokens.Budget{Window: b.ContextWindow, Reserved: b.ReservedTokens}).Validate(); err != nil {
			l.at("budget", "budget: %w", err)
		}
	}
	if l.Solve.MaxAttempts < 0 {
		l.say("solve.max_attempts", "is %d; it must be at least 1", l.Solve.MaxAttempts)
	}
	if n := l.Solve.MaxRefinementLoops; n != nil && *n < 0 {
		l.say("solve.max_refinement_loops", "is %d; it must be at least 0", *n)
	}
}

// badBaseURL returns why an address cannot be that of an Ollama server, or "". It does not repeat the address, which
// may contain a secret.
func badBaseURL(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return "must be a URL such as http://localhost:11434"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "has more than scheme, host, port and path; it must not contain a name or a password"
	case isOllamaCom(u.Hostname()):
		return "is ollama.com, which needs an account, but runplan does not sign in. Use your own server"
	}
	return ""
}

func isOllamaCom(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "ollama.com" || strings.HasSuffix(host, ".ollama.com")
}

// Check returns the errors of a file with that text, without other files.
func Check(file string, text []byte) error {
	_, err := LoadWith([]string{file}, func(string) (string, bool) { return "", false }, file, text)
	return err
}
