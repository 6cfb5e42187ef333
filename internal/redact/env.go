package redact

import (
	"slices"
	"strings"
)

// AgentEnv selects the variables of environ that an agent may see: those that programs and tool chains need, and the
// names in allow, where a star at the end matches any suffix. A wildcard never matches a name that looks secret; only
// its full name does. Variables that point git at another repository never pass.
func AgentEnv(environ []string, allow []string) []string {
	exact, prefixes := split(slices.Concat(defaultAllow(), allow))
	last := map[string]int{} // a variable that is set twice counts as set last
	for i, kv := range environ {
		last[envName(kv)] = i
	}
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

func defaultAllow() []string {
	return strings.Fields(`
		PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TERM COLORTERM NO_COLOR FORCE_COLOR TZ TMPDIR CI
		XDG_* SSH_AUTH_SOCK
		HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY
		SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO
		GIT_AUTHOR_* GIT_COMMITTER_* GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM
		GOPATH GOROOT GOBIN GOENV GOFLAGS GOCACHE GOMODCACHE GOTMPDIR GOTOOLCHAIN GOPROXY GOSUMDB GOPRIVATE
		GONOPROXY GONOSUMDB GONOSUMCHECK GOINSECURE GOVCS GOWORK GOOS GOARCH GOARM GOAMD64 GOEXPERIMENT GODEBUG
		GOMAXPROCS GOMEMLIMIT GOGC CGO_* CC CXX CFLAGS CXXFLAGS LDFLAGS PKG_CONFIG_PATH LD_LIBRARY_PATH
		CARGO_HOME CARGO_TARGET_DIR CARGO_NET_OFFLINE RUSTUP_* RUSTFLAGS
		JAVA_HOME JDK_HOME MAVEN_OPTS M2_HOME GRADLE_HOME GRADLE_USER_HOME GRADLE_OPTS SDKMAN_DIR ANDROID_HOME
		DOTNET_ROOT DOTNET_CLI_* NUGET_PACKAGES
		NODE_* NVM_* FNM_* VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR NPM_CONFIG_CACHE NPM_CONFIG_PREFIX
		NPM_CONFIG_REGISTRY YARN_CACHE_FOLDER COREPACK_*
		PYENV* VIRTUAL_ENV PYTHON* CONDA_* POETRY_HOME UV_CACHE_DIR UV_PYTHON* PIP_CACHE_DIR PIP_INDEX_URL
		ASDF_* MISE_* RBENV_* GEM_HOME GEM_PATH BUNDLE_PATH NIX_* LOCALE_ARCHIVE
		SYSTEMROOT WINDIR COMSPEC PATHEXT USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES TEMP TMP
		HOMEDRIVE HOMEPATH`)
}
