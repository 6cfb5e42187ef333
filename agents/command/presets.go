package command

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents/stream"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/proc"
)

// The permissions that presets know.
const (
	Workspace = "workspace" // minimum to write in its workspace
	Ask       = "ask"       // the CLI's own settings decide; requests for permission are refused
	Full      = "full"      // everything, including commands
)

// Preset says how to run a CLI without a terminal: its arguments, environment and output format.
//
// Arguments may contain {brief} and {temp}: the brief's file, and a folder outside the workspace. Arguments with
// {model} are omitted if no model is set. Variables may contain {temp} too.
type Preset struct {
	Name    string
	Format  stream.Format
	Program string
	Args    []string
	Model   []string
	Last    []string // after all other arguments

	Permissions   map[string][]string          // arguments by permission; a missing permission is not supported
	PermissionEnv map[string]map[string]string // variables by permission
	Env           map[string]string
	Files         map[string]string // files in {temp}, by name
	PassEnv       []string          // user variables that the CLI needs to sign in; exact names
	Models        map[string]string // tier → model, if the CLI has stable names
	// retries against a limit before runplan ends the CLI and waits itself; 0 sets no maximum
	Tries    int
	RootFull string // variable that must be 1 for Full as root; "" if not needed

	Version []string // arguments that print the version
	Seen    string   // last version whose output was checked; "" if only its documentation was read
	Install string   // install command or address
}

// providers returns more and the key variables of the providers that most CLIs support.
func providers(more ...string) []string {
	return append([]string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY",
		"OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY",
	}, more...)
}

// readStdin is the task argument for CLIs that add their standard input to it.
const readStdin = "Carry out the task that is given on standard input."

// Presets lists the supported CLIs, in order of preference.
func Presets() []Preset {
	version := []string{"--version"}
	return []Preset{
		{
			Name: "claude", Format: stream.Claude, Program: "claude",
			// The brief comes on standard input. stream-json requires --verbose.
			Args:  []string{"-p", "--output-format", "stream-json", "--verbose"},
			Model: []string{"--model", "{model}"},
			Permissions: map[string][]string{
				Workspace: {"--permission-mode", "acceptEdits"}, Ask: {"--permission-mode", "default"},
				Full: {"--permission-mode", "bypassPermissions"},
			},
			RootFull: "IS_SANDBOX",
			Env: map[string]string{
				"CLAUDE_CODE_MAX_RETRIES":                  "3", // its own retries; runplan waits better
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
			},
			PassEnv: []string{
				"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
				"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "AWS_REGION", "AWS_PROFILE", "CLOUD_ML_REGION",
				"ANTHROPIC_VERTEX_PROJECT_ID",
			},
			Models:  map[string]string{"small": "haiku", "medium": "sonnet", "large": "opus"},
			Version: version, Seen: "2.1.330", Install: "npm install -g @anthropic-ai/claude-code",
		},
		{
			Name: "codex", Format: stream.Codex, Program: "codex",
			Args: []string{"exec", "--json"}, Model: []string{"-m", "{model}"}, Last: []string{"-"},
			Permissions: map[string][]string{
				Workspace: {"-s", "workspace-write"}, Ask: {"-s", "read-only"}, Full: {"-s", "danger-full-access"},
			},
			// codex uses OPENAI_API_KEY only if its config.toml names it
			PassEnv: []string{"CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY"},
			Version: version, Seen: "0.169.0", Install: "npm install -g @openai/codex",
		},
		{
			Name: "gemini", Format: stream.Gemini, Program: "gemini",
			// Its check for trusted folders does not know a new worktree.
			Args: []string{"-p", readStdin, "-o", "stream-json", "--skip-trust"}, Model: []string{"-m", "{model}"},
			Permissions: map[string][]string{
				Workspace: {"--approval-mode", "auto_edit"}, Ask: {"--approval-mode", "default"}, Full: {"--approval-mode", "yolo"},
			},
			// It would retry ten times, half a minute apart, and has no argument to change that.
			Tries: 3,
			PassEnv: []string{
				"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
				"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_APPLICATION_CREDENTIALS",
			},
			Version: version, Seen: "0.61.0", Install: "npm install -g @google/gemini-cli",
		},
		{
			Name: "opencode", Format: stream.OpenCode, Program: "opencode",
			// Only its log says that it retries.
			Args: []string{"run", "--format", "json", "--print-logs", "--log-level", "WARN"}, Model: []string{"-m", "{model}"},
			Permissions: map[string][]string{Workspace: nil, Ask: nil, Full: {"--auto"}},
			PermissionEnv: map[string]map[string]string{
				// The default runs commands without asking.
				Workspace: {"OPENCODE_PERMISSION": `{"edit":"allow","bash":"ask"}`},
			},
			Env:     map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"},
			PassEnv: providers("OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"),
			Version: version, Seen: "1.18.33", Install: "npm install -g opencode-ai",
		},
		{
			Name: "aider", Format: stream.Aider, Program: "aider",
			Args: []string{
				"--message-file", "{brief}", "--yes-always", "--no-stream", "--no-pretty", "--no-check-update",
				"--no-show-release-notes", "--analytics-disable", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore",
				"--chat-history-file", "{temp}/aider.chat.md", "--input-history-file", "{temp}/aider.input",
			},
			Model:       []string{"--model", "{model}"},
			Permissions: map[string][]string{Workspace: {"--no-suggest-shell-commands"}, Full: {"--suggest-shell-commands"}},
			PassEnv:     providers("OLLAMA_API_BASE", "OPENAI_API_BASE", "AIDER_MODEL"),
			Version:     version, Install: "python -m pip install aider-install && aider-install",
		},
		{
			Name: "goose", Format: stream.Goose, Program: "goose",
			Args:        []string{"run", "-i", "{brief}", "--no-session", "--output-format", "stream-json"},
			Model:       []string{"--model", "{model}"},
			Permissions: map[string][]string{Workspace: nil, Ask: nil, Full: nil},
			PermissionEnv: map[string]map[string]string{
				// Without a terminal it writes only in this mode.
				Workspace: {"GOOSE_MODE": "auto"}, Ask: {"GOOSE_MODE": "approve"}, Full: {"GOOSE_MODE": "auto"},
			},
			PassEnv: providers("GOOSE_PROVIDER", "GOOSE_MODEL", "OLLAMA_HOST", "OPENAI_HOST", "OPENAI_BASE_PATH"),
			Version: version, Install: "see https://block.github.io/goose/docs/getting-started/installation",
		},
		{
			Name: "crush", Format: stream.Crush, Program: "crush",
			Args: []string{"run", "--quiet"}, Model: []string{"--model", "{model}"},
			// Without a terminal it allows itself all tools.
			Permissions: map[string][]string{Workspace: nil, Full: nil},
			PassEnv:     providers("CRUSH_GLOBAL_CONFIG", "CRUSH_GLOBAL_DATA"),
			Version:     version, Install: "npm install -g @charmland/crush",
		},
		{
			Name: "qwen", Format: stream.Qwen, Program: "qwen",
			Args: []string{"-p", readStdin, "--output-format", "stream-json"}, Model: []string{"--model", "{model}"},
			Permissions: map[string][]string{
				Workspace: {"--approval-mode", "auto-edit"}, Ask: {"--approval-mode", "default"}, Full: {"--approval-mode", "yolo"},
			},
			// It reports a limit only after seven tries, and would wait over a minute ten times.
			Tries: 1,
			// Its HTTP library would wait silently for the time of a Retry-After header.
			Files: map[string]string{"qwen.json": `{"model": {"generationConfig": {"maxRetries": 0}}}`},
			Env:   map[string]string{"QWEN_CODE_SYSTEM_DEFAULTS_PATH": "{temp}/qwen.json", "QWEN_CODE_UNATTENDED_RETRY": "1"},
			PassEnv: []string{
				"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY", "QWEN_HOME",
				"QWEN_CODE_SYSTEM_DEFAULTS_PATH", "QWEN_CODE_UNATTENDED_RETRY",
			},
			Version: version, Seen: "0.24.4", Install: "npm install -g @qwen-code/qwen-code",
		},
		{
			Name: "pi", Format: stream.Pi, Program: "pi",
			Args:  []string{"--mode", "json", "-p", "--no-session", "-e", "{temp}/pi.mjs"},
			Model: []string{"--model", "{model}"},
			Files: map[string]string{"pi.mjs": piExtension},
			// It never asks: its permissions are its list of tools.
			Permissions: map[string][]string{
				Workspace: {"--tools", "read,edit,write,grep,find,ls"}, Ask: {"--tools", "read,grep,find,ls"}, Full: nil,
			},
			PassEnv: providers("PI_CODING_AGENT_DIR"),
			Version: version, Seen: "0.73.1", Install: "npm install -g @mariozechner/pi-coding-agent",
		},
	}
}

// piExtension keeps pi's HTTP libraries from waiting silently for the time of a Retry-After header: pi itself retries a
// few times and reports each. Only this prints the header.
//
//go:embed pi.mjs
var piExtension string

// PresetOf returns the preset with a name.
func PresetOf(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// arguments returns the arguments of one call, without the program.
func (p *Preset) arguments(permission, model, brief, temp string) ([]string, error) {
	permission = cmp.Or(permission, Workspace)
	allow, ok := p.Permissions[permission]
	if !ok {
		have := strings.Join(slices.Sorted(maps.Keys(p.Permissions)), " or ")
		return nil, fmt.Errorf("%s has no permission %q; it has %s", p.Name, permission, have)
	}
	if strings.HasPrefix(model, "-") {
		return nil, fmt.Errorf("the model %q begins with -: it would be an option of %s", model, p.Name)
	}
	list := slices.Concat(p.Args, allow)
	if model != "" {
		list = slices.Concat(list, p.Model)
	}
	fill := strings.NewReplacer("{brief}", brief, "{temp}", temp, "{model}", model)
	list = slices.Concat(list, p.Last)
	for i := range list {
		list[i] = fill.Replace(list[i])
	}
	return list, nil
}

// environ returns the variables of the preset, as KEY=VALUE. temp is the folder of its files.
func (p *Preset) environ(permission, temp string) []string {
	permission = cmp.Or(permission, Workspace)
	var out []string
	for _, m := range []map[string]string{p.Env, p.PermissionEnv[permission]} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			out = append(out, name+"="+strings.ReplaceAll(m[name], "{temp}", temp))
		}
	}
	return out
}

// asRoot returns an error with advice if the CLI would refuse to run as root with this permission.
func (p *Preset) asRoot(agent, permission string, env []string) error {
	if p.RootFull == "" || permission != Full || os.Geteuid() != 0 {
		return nil
	}
	if slices.Contains(env, p.RootFull+"=1") {
		return nil
	}
	return fmt.Errorf("permission \"full\" is refused as root: %s could change anything on this machine; in a "+
		"disposable container, set  [agents.%s.env] %s = \"1\"", p.Name, agent, p.RootFull)
}

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
