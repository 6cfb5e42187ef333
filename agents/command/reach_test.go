package command

import (
	"strings"
	"testing"
)

func TestReach(t *testing.T) {
	tiers := func(m string) map[string]string { return map[string]string{"small": m, "medium": m, "large": m} }
	for name, tt := range map[string]struct {
		preset string
		c      Config
		to     string
		local  string
	}{
		"a vendor's own": {"claude", Config{}, "api.anthropic.com", "no"},
		"another address": {"claude",
			Config{Environ: []string{"ANTHROPIC_BASE_URL=https://me:key@proxy.example.org/v1"}},
			"proxy.example.org (ANTHROPIC_BASE_URL)", "no"},
		"an address of the settings": {"qwen", Config{Env: map[string]string{"OPENAI_BASE_URL": "https://x.example"}},
			"x.example (OPENAI_BASE_URL)", "no"},
		"an address that it ignores": {"codex",
			Config{Environ: []string{"OPENAI_BASE_URL=http://127.0.0.1:9"},
				Env: map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:9"}}, "api.openai.com; chatgpt.com if ", "no"},
		"an address of this machine": {"gemini", Config{Environ: []string{"GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9"}},
			"127.0.0.1 (GOOGLE_GEMINI_BASE_URL); the program that listens there may forward it", "unknown"},
		"an address it does not get": {"gemini", Config{Environ: []string{"ANTHROPIC_BASE_URL=http://x"}},
			"generativelanguage.googleapis.com", "no"},
		"a cloud": {"claude", Config{Environ: []string{"CLAUDE_CODE_USE_BEDROCK=1"}}, "Amazon Bedrock",
			"no"},
		"a cloud that is off": {"claude", Config{Environ: []string{"CLAUDE_CODE_USE_BEDROCK=0"}},
			"api.anthropic.com", "no"},
		"any provider": {"opencode", Config{}, "the provider of its model", "unknown"},
		"a named model": {"aider", Config{Models: tiers("gpt-x")}, "the provider of its model (gpt-x)",
			"unknown"},
		"models of this machine": {"aider", Config{Models: tiers("ollama/q")}, "this machine (ollama/q)", "yes"},
		"one tier has no local model": {"aider",
			Config{Models: map[string]string{"small": "ollama/q", "medium": "gpt-x", "large": "ollama/q"}},
			"the provider of its model", "unknown"},
		"one of them is not named": {"aider", Config{Models: map[string]string{"small": "ollama/q"}},
			"the provider of its model", "unknown"},
		"their server is elsewhere": {"goose",
			Config{Models: tiers("ollama/q"), Environ: []string{"OLLAMA_HOST=gpu.example.org:11434"}},
			"gpu.example.org (OLLAMA_HOST)", "no"},
		"a command in a preset's place": {"claude", Config{Command: []string{"./mine"}}, "wherever ./mine sends it",
			"unknown"},
		"an unknown program": {"", Config{Command: []string{"mine", "-x"}}, "wherever mine sends it", "unknown"},
	} {
		if p, ok := PresetOf(tt.preset); ok {
			tt.c.Preset = &p
		}
		got := New(tt.c).Reach()
		local := "unknown"
		if got.Local != nil {
			local = map[bool]string{true: "yes", false: "no"}[*got.Local]
		}
		if !strings.HasPrefix(got.To, tt.to) || local != tt.local {
			t.Errorf("%s: %s, local: %s", name, got.To, local)
		}
	}
}
