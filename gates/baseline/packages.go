package baseline

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// absent matches what Python, Node, Ruby and jest say about a package that is not installed. The group is its name. The
// fourth and fifth ask for the metadata of an installed package, usually of the project itself.
var absent = lazyre.New(`No module named '([\w.]+)|Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)|` +
	`cannot load such file -- ([\w-]+)|No package metadata was found for ([\w.-]+)|` +
	`The '([\w.-]+)' distribution was not found|Module ([@\w./-]+) in the \w+ option was not found`)

// missingPackage returns what a suite says about a package that is installed neither for the change nor for its base.
// It returns "" if anything else is wrong, if the project itself has that name, or if the batch is about a package of
// Python. A package that a file of the project asks for, as those of Node and Ruby must be, waits only to be installed.
func missingPackage(rep, before gates.Report, s gates.Subject) string {
	had := lists.SetBy(before.Findings, func(f gates.Finding) string { return absent.FindString(f.Message) })
	said := ""
	findings := rep.Findings
	if nonePass(rep) && nonePass(before) && !slices.ContainsFunc(findings, func(f gates.Finding) bool {
		return f.Severity == gates.Error && f.Rule != "exit" && !absent.MatchString(f.Message)
	}) {
		findings = before.Findings // the change may need another package first; the one of the base is missing all the same
	}
	for _, f := range findings {
		m := absent.FindStringSubmatch(f.Message)
		if f.Severity != gates.Error || m == nil && f.Rule == "exit" { // an exit status alone has no cause of its own
			continue
		}
		if m == nil || !had[m[0]] {
			return ""
		}
		name, _, _ := strings.Cut(m[1], ".")
		name += m[2] + m[3] + m[6]
		own := m[1] != "" && ofProject(s.Dir, name)
		if own {
			name = m[1][strings.LastIndexByte(m[1], '.')+1:]
		}
		installed, asked := m[4]+m[5] != "", strings.Contains(s.Batch.Title+"\n"+s.Batch.Text, name)
		switch {
		case installed: // only its metadata is missing
		case m[1] == "" && !declared(s.Dir, name), m[1] != "" && (asked || own && !built(s.Dir, m[1])):
			return ""
		}
		if said == "" {
			said, _, _ = strings.Cut(f.Message[strings.Index(f.Message, m[0]):], "\n")
			if own {
				said += ", which the build of the project writes"
			}
		}
	}
	return said
}

// ofProject reports whether the tree has a Python module of this name in a usual place.
func ofProject(dir, name string) bool {
	for _, at := range []string{"", "*", "src", "src/*"} {
		for _, suffix := range []string{"", ".py", ".pyx", ".c", ".rs"} {
			if len(glob.Below(dir, path.Join(at, name+suffix))) > 0 {
				return true
			}
		}
	}
	return false
}

// built reports whether the settings of the build name a Python module, such as a file with the version, or compiled
// code. Installing the project writes it.
func built(dir, module string) bool {
	named := regexp.MustCompile(regexp.QuoteMeta(strings.ReplaceAll(module, ".", "/")) + `\.py|["']` +
		regexp.QuoteMeta(module) + `["']`)
	return strings.Contains(module, ".") && slices.ContainsFunc([]string{"pyproject.toml", "setup.cfg", "setup.py"},
		func(name string) bool {
			text, err := os.ReadFile(filepath.Join(dir, name))
			return err == nil && named.Match(text)
		})
}

// declared reports whether a file of the root asks for a package of Node or Ruby. A gem may have a longer name than the
// folder of its files: concurrent-ruby has concurrent.
func declared(dir, name string) bool {
	quoted := regexp.MustCompile(`["']` + regexp.QuoteMeta(name) + `(?:-\w+)?["']`)
	files := append(glob.Below(dir, "*.gemspec"), filepath.Join(dir, "package.json"), filepath.Join(dir, "Gemfile"))
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && quoted.Match(text) {
			return true
		}
	}
	return false
}

// submodulePath matches the folder of a submodule in .gitmodules.
var submodulePath = lazyre.New(`(?m)^[ \t]*path[ \t]*=[ \t]*(\S+)[ \t]*$`)

// missingSubmodule returns the submodule that is not checked out and in which both the change and its base look for a
// file, if no test passes, and what the suite says.
func missingSubmodule(rep, before gates.Report, s gates.Subject) (at, said string) {
	modules, err := os.ReadFile(filepath.Join(s.Dir, ".gitmodules"))
	if err != nil || !nonePass(rep) {
		return "", ""
	}
	for _, m := range submodulePath.FindAllStringSubmatch(string(modules), -1) {
		inside, err := os.ReadDir(filepath.Join(s.Dir, filepath.FromSlash(m[1])))
		needs := func(f gates.Finding) bool {
			return f.Severity == gates.Error && strings.Contains(f.Message, m[1]+"/")
		}
		i := slices.IndexFunc(rep.Findings, needs)
		if err == nil && len(inside) == 0 && i >= 0 && slices.ContainsFunc(before.Findings, needs) {
			return m[1], rep.Findings[i].Message
		}
	}
	return "", ""
}
