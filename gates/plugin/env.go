package plugin

import (
	"os"
	"runtime"
	"strings"

	"github.com/runplan/runplan/internal/redact"
)

// basics lists the variables that any program needs to find its files and to use the user's language. Proxies, key
// agents and addresses of registries are not included, since they give access or contain passwords; the configuration
// must name them.
const basics = `PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ CI NO_COLOR
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS
	GOROOT GOPATH GOCACHE GOMODCACHE GOTOOLCHAIN JAVA_HOME NODE_PATH VIRTUAL_ENV PYENV_ROOT NVM_DIR ASDF_DIR ASDF_DATA_DIR
	LD_LIBRARY_PATH DYLD_LIBRARY_PATH NIX_LD NIX_LD_LIBRARY_PATH LOCALE_ARCHIVE
	SYSTEMROOT WINDIR COMSPEC PATHEXT USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES HOMEDRIVE HOMEPATH`

// environment selects the variables of environ that a plugin may see: the basics, and the names in asked, where a star
// at the end matches any suffix. A star never matches a name that looks secret; only the full name does.
func environment(environ, asked []string) []string {
	names := append(strings.Fields(basics), asked...)
	var out []string
	for _, kv := range redact.AgentEnv(environ, asked) {
		name, _, _ := strings.Cut(kv, "=")
		if matches(names, name) && !ours(name) {
			out = append(out, kv)
		}
	}
	return out
}

func matches(patterns []string, name string) bool {
	name = strings.ToUpper(name)
	for _, p := range patterns {
		p = strings.ToUpper(strings.TrimSpace(p))
		if prefix, wild := strings.CutSuffix(p, "*"); p == name || wild && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// ours reports whether runplan sets the variable for the plugin itself, ignoring the user's environment.
func ours(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "PLUGIN_") || name == CookieKey || name == "TMPDIR" || name == "TEMP" || name == "TMP"
}

// scratch makes the folder for a plugin's socket and its temporary files. The path of a socket may be 104 bytes long
// at most, so not every folder can contain it.
func scratch() (string, error) {
	base := os.TempDir()
	if runtime.GOOS != "windows" && len(base) > 40 {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "runplan-gate-")
	if err != nil && base != os.TempDir() {
		dir, err = os.MkdirTemp("", "rg-")
	}
	return dir, err
}
