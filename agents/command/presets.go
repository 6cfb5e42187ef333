package command

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/agents/stream"
)

// The permissions that a preset knows.
const (
	Workspace = "workspace" // the least that lets it write in its workspace
	Ask       = "ask"       // what the CLI's own settings allow; whatever it would have to ask for is refused
	Full      = "full"      // everything, commands included
)

// Preset is how a CLI is driven without a terminal: its arguments, its names, the form of its output.
//
// Arguments may hold {brief} and {temp}: the file with the brief, and a folder outside of the workspace. What holds
// {model} is left out where no model is named.
type Preset struct {
	Name    string
	Format  stream.Format
	Program string
	Args    []string
	Model   []string
	Last    []string // after the others

	Permissions   map[string][]string          // arguments by permission; one that is missing cannot be had
	PermissionEnv map[string]map[string]string // variables by permission
	Env           map[string]string
	PassEnv       []string          // variables of the user's that the CLI needs to sign in; names, never a pattern
	Models        map[string]string // tier → model, where the CLI has names that stay
	Tries         int               // for a limit by itself, before runplan ends it and waits in its place; 0 is as many as it likes
	RootFull      string            // variable that has to be 1 for Full as root; "" where the CLI does not mind

	Version []string // arguments that print the version
	Seen    string   // the version whose output was looked at last; "" where only its documentation was read
	Install string   // what to type, or where to look
}

// providers are the keys that CLIs use which speak to several.
func providers(more ...string) []string {
	return append([]string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY",
		"OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY",
	}, more...)
}

// readStdin is what a CLI is told that takes its task as an argument and adds its standard input.
const readStdin = "Carry out the task that is given on standard input."

// Presets lists the CLIs that runplan knows how to drive, in the order in which one is picked.
func Presets() []Preset {
	version := []string{"--version"}
	return []Preset{
		{
			Name: "claude", Format: stream.Claude, Program: "claude",
			// The brief comes on standard input. stream-json needs --verbose.
			Args:  []string{"-p", "--output-format", "stream-json", "--verbose"},
			Model: []string{"--model", "{model}"},
			Permissions: map[string][]string{
				Workspace: {"--permission-mode", "acceptEdits"}, Ask: {"--permission-mode", "default"},
				Full: {"--permission-mode", "bypassPermissions"},
			},
			RootFull: "IS_SANDBOX",
			Env: map[string]string{
				"CLAUDE_CODE_MAX_RETRIES":                  "3", // of its own; runplan waits better than it does
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
			PassEnv: []string{"CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY"}, // the last one where its config.toml names it
			Version: version, Seen: "0.169.0", Install: "npm install -g @openai/codex",
		},
		{
			Name: "gemini", Format: stream.Gemini, Program: "gemini",
			// Its check for trusted folders knows nothing of a worktree that was made a moment ago.
			Args: []string{"-p", readStdin, "-o", "stream-json", "--skip-trust"}, Model: []string{"-m", "{model}"},
			Permissions: map[string][]string{
				Workspace: {"--approval-mode", "auto_edit"}, Ask: {"--approval-mode", "default"}, Full: {"--approval-mode", "yolo"},
			},
			// It would try ten times, with half a minute between, and knows no argument against that.
			Tries: 3,
			PassEnv: []string{
				"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
				"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_APPLICATION_CREDENTIALS",
			},
			Version: version, Seen: "0.61.0", Install: "npm install -g @google/gemini-cli",
		},
		{
			Name: "opencode", Format: stream.OpenCode, Program: "opencode",
			Args: []string{"run", "--format", "json"}, Model: []string{"-m", "{model}"},
			Permissions: map[string][]string{Workspace: nil, Ask: nil, Full: {"--auto"}},
			PermissionEnv: map[string]map[string]string{
				// By itself it lets commands run unasked.
				Workspace: {"OPENCODE_PERMISSION": `{"edit":"allow","bash":"ask"}`},
			},
			Env:     map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"},
			PassEnv: providers("OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"),
			Version: version, Seen: "1.18.33", Install: "npm install -g opencode-ai",
		},
		{
			Name: "aider", Format: stream.Aider, Program: "aider",
			Args: []string{
				"--message-file", "{brief}", "--yes-always", "--no-stream", "--no-pretty", "--no-check-update", "--no-show-release-notes",
				"--analytics-disable", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore",
				"--chat-history-file", "{temp}/aider.chat.md", "--input-history-file", "{temp}/aider.input",
			},
			Model:       []string{"--model", "{model}"},
			Permissions: map[string][]string{Workspace: {"--no-suggest-shell-commands"}, Full: {"--suggest-shell-commands"}},
			PassEnv:     providers("OLLAMA_API_BASE", "OPENAI_API_BASE", "AIDER_MODEL"),
			Version:     version, Install: "python -m pip install aider-install && aider-install",
		},
		{
			Name: "goose", Format: stream.Goose, Program: "goose",
			Args: []string{"run", "-i", "{brief}", "--no-session", "--output-format", "stream-json"}, Model: []string{"--model", "{model}"},
			Permissions: map[string][]string{Workspace: nil, Ask: nil, Full: nil},
			PermissionEnv: map[string]map[string]string{
				// Without a terminal it writes in this mode only.
				Workspace: {"GOOSE_MODE": "auto"}, Ask: {"GOOSE_MODE": "approve"}, Full: {"GOOSE_MODE": "auto"},
			},
			PassEnv: providers("GOOSE_PROVIDER", "GOOSE_MODEL", "OLLAMA_HOST", "OPENAI_HOST", "OPENAI_BASE_PATH"),
			Version: version, Install: "see https://block.github.io/goose/docs/getting-started/installation",
		},
		{
			Name: "crush", Format: stream.Crush, Program: "crush",
			Args: []string{"run", "--quiet"}, Model: []string{"--model", "{model}"},
			// It allows itself all tools when it has no terminal.
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
			// It has tried seven times before it says so, and would wait for a minute and more, ten times.
			Tries:   1,
			PassEnv: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY", "QWEN_HOME"},
			Version: version, Seen: "0.24.4", Install: "npm install -g @qwen-code/qwen-code",
		},
		{
			Name: "pi", Format: stream.Pi, Program: "pi",
			Args: []string{"--mode", "json", "-p", "--no-session"}, Model: []string{"--model", "{model}"},
			// It asks for nothing: what it may do is which tools it has.
			Permissions: map[string][]string{
				Workspace: {"--tools", "read,edit,write,grep,find,ls"}, Ask: {"--tools", "read,grep,find,ls"}, Full: nil,
			},
			PassEnv: providers("PI_CODING_AGENT_DIR"),
			Version: version, Seen: "0.73.1", Install: "npm install -g @mariozechner/pi-coding-agent",
		},
	}
}

// PresetOf finds a preset by its name.
func PresetOf(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// arguments are those of one call, without the program.
func (p *Preset) arguments(permission, model, brief, temp string) ([]string, error) {
	if permission == "" {
		permission = Workspace
	}
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

// environ are the variables that the preset sets, as KEY=VALUE.
func (p *Preset) environ(permission string) []string {
	if permission == "" {
		permission = Workspace
	}
	var out []string
	for _, m := range []map[string]string{p.Env, p.PermissionEnv[permission]} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			out = append(out, name+"="+m[name])
		}
	}
	return out
}

// asRoot refuses what the CLI itself refuses to root, before it is started, and says what to do.
func (p *Preset) asRoot(agent, permission string, env []string) error {
	if p.RootFull == "" || permission != Full || os.Geteuid() != 0 {
		return nil
	}
	if slices.Contains(env, p.RootFull+"=1") {
		return nil
	}
	return fmt.Errorf("permission \"full\" is not for root: %s would do anything to this machine; in a container that may break, say so: [agents.%s.env] %s = \"1\"", p.Name, agent, p.RootFull)
}
