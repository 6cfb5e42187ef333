package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Sandboxes returns the words that agents.NAME.sandbox may have.
func Sandboxes() []string { return []string{"none", "bwrap", "docker", "sandbox-exec", "custom"} }

func (l *checks) checkSandbox(name string) {
	a := l.Agents[name]
	say := l.below("agents." + name)
	switch {
	case a.Sandbox != "" && !slices.Contains(Sandboxes(), a.Sandbox):
		say("sandbox is %q; use one of %s", a.Sandbox, strings.Join(Sandboxes(), ", "))
	case a.Sandbox == "custom" && len(a.SandboxCommand) == 0:
		say("sandbox is custom, which needs sandbox_command = [\"program\", \"argument\"]")
	case len(a.SandboxCommand) > 0 && slices.Contains([]string{"", "none"}, a.Sandbox):
		say("sandbox_command needs a sandbox, custom or another")
	case a.Sandbox == "docker" && a.SandboxImage == "":
		say("sandbox is docker, which needs sandbox_image: an image with the agent's program and git")
	case a.Sandbox != "docker" && a.SandboxImage != "":
		say("sandbox_image needs sandbox = \"docker\"")
	case len(a.SandboxWrite) > 0 && slices.Contains([]string{"", "none", "custom"}, a.Sandbox):
		say("sandbox_write needs sandbox = \"bwrap\", \"docker\" or \"sandbox-exec\"")
	}
	for _, path := range a.SandboxWrite {
		if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			say("sandbox_write has %q; a path must begin with / or ~/", path)
		}
	}
}
