package redact

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
)

// AgentEnv selects the variables of environ that an agent may see: those that programs and tool chains need, and the
// names in allow, where a star at the end matches any suffix. A wildcard never matches a name that looks secret; only
// its full name does. Variables that point git at another repository never pass.
func AgentEnv(environ []string, allow []string) []string {
	exact, prefixes := split(slices.Concat(strings.Fields(defaultAllow), allow))
	last := lists.Index(environ, envName) // a variable that is set twice counts as set last
	out := []string{}
	for i, kv := range environ {
		name := envName(kv)
		if name == "" || last[name] != i || redirectsGit(name) {
			continue
		}
		upper := strings.ToUpper(name)
		wild := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(upper, p) })
		if exact[upper] || wild && !SecretName(name) {
			out = append(out, kv)
		}
	}
	return out
}

func envName(kv string) string {
	name, _, ok := strings.Cut(kv, "=")
	if !ok {
		return ""
	}
	return name
}

func split(names []string) (exact map[string]bool, prefixes []string) {
	exact = map[string]bool{}
	for _, n := range names {
		n = strings.ToUpper(strings.TrimSpace(n))
		switch p, wild := strings.CutSuffix(n, "*"); {
		case n == "":
		case wild:
			prefixes = append(prefixes, p)
		default:
			exact[n] = true
		}
	}
	return exact, prefixes
}

// redirectsGit matches variables that git sets for its hooks: with these, git in a workspace would work on the user's
// own repository.
func redirectsGit(name string) bool {
	switch strings.ToUpper(name) {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_QUARANTINE_PATH":
		return true
	}
	return false
}

// defaultAllow has the names of variables that a program gets without a setting; * stands for any end.
//
//go:embed allow.txt
var defaultAllow string
