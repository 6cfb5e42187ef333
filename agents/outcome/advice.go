package outcome

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/runplan/runplan/agents/stream"
)

// allow says how to allow the denied tool.
func allow(e Evidence, d stream.Denial) string {
	name := cmp.Or(e.Name, "NAME")
	switch e.Format {
	case stream.Claude:
		rule := d.Tool
		if first, _, _ := strings.Cut(d.Args, " "); d.Tool == "Bash" && first != "" {
			rule = "Bash(" + first + ":*)"
		}
		return fmt.Sprintf(
			"allow it in the repository's .claude/settings.json: {\"permissions\": {\"allow\": [%q]}}, or set "+
				"agents.%s.permission = \"full\"", rule, name)
	case stream.OpenCode:
		// The preset's permissions override opencode.json.
		return fmt.Sprintf(
			"set agents.%s.permission = \"ask\" and allow it in opencode.json: {\"permission\": {%q: \"allow\"}}, or set "+
				"agents.%s.permission = \"full\"", name, d.Tool, name)
	case stream.Gemini, stream.Qwen:
		return fmt.Sprintf(
			"allow it in the CLI's settings.json: {\"tools\": {\"allowed\": [%q]}}, or set agents.%s.permission = \"full\"",
			d.Tool, name)
	}
	return fmt.Sprintf("allow it in the CLI's settings, or set agents.%s.permission = \"full\"", name)
}

func signIn(f stream.Format) string {
	switch f {
	case stream.Claude:
		return "sign in: claude, then /login; or set ANTHROPIC_API_KEY"
	case stream.Codex:
		return "sign in: codex login; or set CODEX_API_KEY"
	case stream.Gemini:
		return "sign in: gemini, then /auth; or set GEMINI_API_KEY"
	case stream.OpenCode:
		return "sign in: opencode auth login"
	case stream.Goose:
		return "set it up: goose configure"
	case stream.Crush:
		return "set up a provider: crush"
	case stream.Qwen:
		return "sign in: qwen, then /auth; or set OPENAI_API_KEY and OPENAI_BASE_URL"
	case stream.Pi:
		return "sign in: pi, then /login; or set the key of its provider"
	}
	return "set the key of its provider"
}
