package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

// states lists the folders where each CLI keeps its sign-in, sessions and caches. A sandbox must let it write there.
// A name that begins with $ is a variable that holds a folder.
func states() map[string]string {
	return map[string]string{
		"claude": "~/.claude ~/.claude.json $CLAUDE_CONFIG_DIR",
		"codex":  "~/.codex $CODEX_HOME",
		"gemini": "~/.gemini",
		"opencode": "~/.config/opencode ~/.local/share/opencode ~/.local/state/opencode ~/.cache/opencode " +
			"$OPENCODE_CONFIG_DIR",
		"aider": "~/.aider",
		"goose": "~/.config/goose ~/.local/share/goose ~/.local/state/goose",
		"crush": "~/.config/crush ~/.local/share/crush ~/.cache/crush $CRUSH_GLOBAL_DATA",
		"qwen":  "~/.qwen $QWEN_HOME",
		"pi":    "~/.pi $PI_CODING_AGENT_DIR",
	}
}

// state lists the paths of the CLI's own state, with the values of env.
func (p *Preset) state(env []string) []string {
	var out []string
	for _, path := range strings.Fields(states()[p.Name]) {
		if name, ok := strings.CutPrefix(path, "$"); ok {
			if path = proc.Getenv(env, name); !filepath.IsAbs(path) {
				continue
			}
		}
		out = append(out, path)
	}
	return slices.Clip(out)
}
