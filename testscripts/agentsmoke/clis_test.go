package agentsmoke

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cli is one line of versions.txt.
type cli struct {
	name, version string
	bin           string // folder with its program
	not           string // why it is not run
}

// clis reads versions.txt. cache is the folder into which install.sh put the programs.
func clis(t *testing.T, cache string) []cli {
	t.Helper()
	b, err := os.ReadFile("versions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []cli
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case f[0] == "-":
			all = append(all, cli{name: f[1], not: strings.Join(f[2:], " ")})
		case len(f) == 3:
			all = append(all, cli{name: f[0], version: f[2], bin: filepath.Join(cache, f[0]+"-"+f[2], "node_modules", ".bin")})
		default:
			t.Fatalf("versions.txt: what is %q?", line)
		}
	}
	return all
}

// settings returns the files in the home folder and the environment variables with which a CLI sends requests only to
// the server at url, using the settings that its documentation names. plan signs in with a subscription instead of a
// key.
func settings(name, url string, plan bool) (files map[string]string, env []string) {
	const key = "sk-of-the-loopback"
	switch name {
	case "claude":
		if plan {
			return nil, []string{"ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_OAUTH_TOKEN=" + key}
		}
		return nil, []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + key}
	case "codex":
		return map[string]string{".codex/config.toml": fmt.Sprintf(`
model = "loop-1"
model_provider = "loop"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.loop]
name = "loop"
base_url = "%s/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
`, url)}, []string{"OPENAI_API_KEY=" + key}
	case "gemini":
		return map[string]string{".gemini/settings.json": `{
	"security": {"auth": {"selectedType": "gemini-api-key"}},
	"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
	"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}
}`}, []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=" + key}
	case "opencode":
		return map[string]string{".config/opencode/opencode.json": fmt.Sprintf(`{
	"$schema": "https://opencode.ai/config.json", "model": "loop/loop-1", "small_model": "loop/loop-1", "autoupdate": false, "share": "disabled",
	"provider": {"loop": {"npm": "@ai-sdk/openai-compatible", "name": "loop", "options": {"baseURL": "%s/v1", "apiKey": "%s"},
		"models": {"loop-1": {"name": "loop-1", "cost": {"input": 1, "output": 10, "cache_read": 0.1}}}}}
}`, url, key)}, nil
	case "qwen":
		return map[string]string{".qwen/settings.json": `{
	"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": true, "enableAutoUpdate": false},
	"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}
}`}, []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=" + key, "OPENAI_MODEL=loop-1"}
	case "pi":
		return map[string]string{
			".pi/agent/models.json": fmt.Sprintf(`{"providers": {"loop": {"baseUrl": "%s/v1", "api": "openai-completions", "apiKey": "%s",
	"models": [{"id": "loop-1", "name": "loop-1", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
		"cost": {"input": 1, "output": 10, "cacheRead": 0.1, "cacheWrite": 0}}]}}}`, url, key),
			".pi/agent/settings.json": `{"defaultProvider": "loop", "defaultModel": "loop-1", "enableInstallTelemetry": false}`,
		}, nil
	}
	return nil, nil
}
