package tamper

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/tamper/section"
)

// isSnapshot reports whether a file is a recorded answer that tests compare with.
func isSnapshot(p string) bool {
	return gates.Match([]string{
		"*.snap", "*.ambr", "*.golden", "*.golden.*", "*.approved.*", "*.received.*", "*.snapshot", "**/__snapshots__/**",
		"**/__image_snapshots__/**",
		"**/golden/**", "**/goldens/**", "**/{tests,test,testdata}/**/snapshots/**", "**/testdata/**/*.{want,expected}",
	}, p)
}

// The kinds of files that control checks.
const (
	kindCI      = "ci"
	kindRunplan = "runplan"
	kindGates   = "gates"
)

// kindOf returns the kind of a file, or "" if the file controls no check. It does not cover shared files, see [mixed].
func kindOf(p string) string {
	switch {
	case p == ".worktreeinclude" || strings.HasPrefix(p, ".runplan/") || strings.Contains(p, "/.runplan/"):
		return kindRunplan
	case gates.Match(families()[kindCI], p):
		return kindCI
	case family(p) != "":
		return kindGates
	}
	return ""
}

//go:embed families.txt
var familyTable string

// families maps the name of a tool, or "ci", to its settings files.
var families = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(familyTable) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			out[words[0]] = append(out[words[0]], words[1:]...)
		}
	}
	return out
})

func family(p string) string {
	for name, globs := range families() {
		if name != kindCI && gates.Match(globs, p) {
			return name
		}
	}
	return ""
}

// mixed reports whether a file contains settings of gates and other settings.
func mixed(p string) bool { return section.Reader(p, nil) != nil }
