package command

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
)

// Reach says where an agent sends its input.
type Reach struct {
	To    string // hosts, or a description if the host is unknown
	Local *bool  // whether that is this machine; nil if unknown
}

// byProvider describes a CLI that calls the provider of its model.
const byProvider = "the provider of its model"

// vendors returns the hosts of CLIs with a fixed vendor. It also returns the variables that set another address,
// or that switch to another service.
func vendors() map[string]struct {
	hosts    string
	address  string
	services map[string]string
} {
	type v = struct {
		hosts    string
		address  string
		services map[string]string
	}
	return map[string]v{
		"claude": {"api.anthropic.com", "ANTHROPIC_BASE_URL",
			map[string]string{"CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock", "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI"}},
		// No variable changes its address, not even OPENAI_BASE_URL.
		"codex": {"api.openai.com; chatgpt.com if it is signed in with a subscription; or the address in its own config.toml",
			"",
			nil},
		"gemini": {"generativelanguage.googleapis.com, or cloudcode-pa.googleapis.com if it is signed in with an account",
			"GOOGLE_GEMINI_BASE_URL", map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "Google Vertex AI"}},
		"qwen": {"the provider it is signed in with", "OPENAI_BASE_URL", nil},
	}
}

// Reach returns where the agent sends its input, according to its settings. For programs without a preset that is
// unknown.
func (a *Agent) Reach() Reach {
	if a.cfg.Preset == nil || len(a.cfg.Command) > 0 {
		return Reach{To: "wherever " + first(a.cfg.Command) + " sends it"}
	}
	name := a.cfg.Preset.Name
	env := a.seen()
	v := vendors()[name]
	for _, s := range slices.Sorted(maps.Keys(v.services)) {
		if value := proc.Getenv(env, s); value != "" && value != "0" && !strings.EqualFold(value, "false") {
			return Reach{To: v.services[s], Local: new(bool)}
		}
	}
	if v.address != "" {
		if base := proc.Getenv(env, v.address); base != "" {
			return address(v.address, base)
		}
	}
	if v.hosts != "" {
		return Reach{To: v.hosts, Local: new(bool)}
	}
	return a.reachByModel(env)
}

// reachByModel returns the reach of a CLI with several providers. It is local only if each tier has a local model.
func (a *Agent) reachByModel(env []string) Reach {
	var models []string
	for _, tier := range []string{"small", "medium", "large"} {
		if m := a.ModelOf(tier); m != "" {
			models = append(models, m)
		}
	}
	local := len(models) == 3 && !slices.ContainsFunc(models, func(m string) bool { return !isLocal(a.format(), m, nil) })
	if !local {
		to := byProvider
		if len(models) > 0 {
			to += " (" + strings.Join(slices.Compact(models), ", ") + ")"
		}
		return Reach{To: to}
	}
	for _, name := range []string{"OLLAMA_API_BASE", "OLLAMA_HOST"} {
		if base := proc.Getenv(env, name); base != "" {
			return address(name, base)
		}
	}
	yes := true
	return Reach{To: "this machine (" + strings.Join(slices.Compact(models), ", ") + ")", Local: &yes}
}

// address returns the reach for the value of a variable. A local address proves nothing: a proxy there may forward
// the data.
func address(name, base string) Reach {
	host := base
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		host = u.Hostname()
	} else {
		host, _, _ = strings.Cut(base, ":")
	}
	if config.Loopback(host) || host == "0.0.0.0" {
		return Reach{To: host + " (" + name + "); the program that listens there may forward it"}
	}
	return Reach{To: host + " (" + name + ")", Local: new(bool)}
}

// seen returns the variables that the agent gets from its settings and from the user's environment.
func (a *Agent) seen() []string {
	var out []string
	pass := slices.Concat(a.cfg.PassEnv, a.cfg.Preset.PassEnv)
	for _, kv := range a.cfg.Environ {
		if name, _, ok := strings.Cut(kv, "="); ok && slices.Contains(pass, name) {
			out = append(out, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.cfg.Env)) {
		out = append(out, name+"="+a.cfg.Env[name])
	}
	return out
}

func first(list []string) string { return cmp.Or(append(slices.Clone(list), "")[0], "it") }
