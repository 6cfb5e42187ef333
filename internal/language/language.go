// Package language holds facts about programming languages that several packages need: which files hold tests, and
// which folders hold third-party code.
package language

import (
	"path"
	"slices"
	"strings"
)

// Vendored reports whether a folder with this name contains third-party dependencies.
func Vendored(folder string) bool {
	switch folder {
	case "node_modules", "bower_components", "vendor", "_vendor", "third_party", ".venv", "venv", "site-packages":
		return true
	}
	return false
}

// NoCode returns why a folder with this name contains no code of the project; "" if it may.
func NoCode(folder string) string {
	if Vendored(folder) {
		return "dependencies"
	}
	switch folder {
	case ".git", ".hg", ".svn", ".jj":
		return "version control"
	case "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".next", ".nuxt",
		".terraform", ".cache":
		return "cache"
	}
	return ""
}

// Outermost returns the path of the outermost folder whose name satisfies is, in a slash-separated path. It returns ""
// if there is none.
func Outermost(p string, is func(folder string) bool) string {
	for at := 0; ; {
		folder, _, ok := strings.Cut(p[at:], "/")
		if !ok {
			return ""
		}
		if at += len(folder); is(folder) {
			return p[:at]
		}
		at++
	}
}

// Installed reports whether a package manager fills a folder with this name on each machine: no commit has it.
func Installed(folder string) bool {
	return folder == "node_modules" || folder == ".venv" || folder == "venv"
}

// ThirdParty reports whether a file, by its path with slashes, is in a folder of third-party code.
func ThirdParty(p string) bool { return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), Vendored) }

// Copied reports whether a file is in a folder into which a tool copies third-party code. Gates that look for what an
// agent hides leave out only these: any other name may be a folder of the project.
func Copied(p string) bool { return inFolder(p, []string{"node_modules", "vendor"}) }

// TestData reports whether a file is data of tests.
func TestData(p string) bool { return inFolder(p, data) }

// Foreign reports whether a file is third-party code or data of tests, to which rules for the project's own code do
// not apply.
func Foreign(p string) bool { return ThirdParty(p) || TestData(p) }
