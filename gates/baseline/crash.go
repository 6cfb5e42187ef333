package baseline

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// crashed matches what a runner or an interpreter says if it could not load its settings or a file around the tests,
// and a compiler that regards a warning as an error, because another version has other warnings.
var crashed = lazyre.New(`\b(?:Syntax|Indentation|Import|ModuleNotFound|Load)Error\b|Cannot find (?:module|package) |` +
	`cannot load such file|(?m)^ImportError while loading conftest|^INTERNALERROR>|\*\*\* missing separator|` +
	`\[-Werror[=\]]|\bValidation Error:|(?i:failed to load (?:config|settings))|Uncaught (?:Type)?Error: Call to |exit [34], .*ERROR: (?:usage|\S+\.(?:toml|ini|cfg)): `)

// crash returns what a test command says that ended before any test, in the same way as on the base. It returns "" if
// a retry may cure it: a test ran, the failure is new, or the batch names or changes what the command complains about.
func crash(info gates.Info, rep, before gates.Report, s gates.Subject) string {
	if !gates.IsSuite(info.Name) || !untested(rep) || !untested(before) {
		return ""
	}
	had := lists.SetBy(before.Findings, func(f gates.Finding) string { return f.Identity(info.Name) })
	said := ""
	for _, f := range rep.Findings {
		if f.Severity != gates.Error {
			continue
		}
		text := f.Message + "\n" + rep.Output
		library := f.Rule == gates.RuleBuild && f.Path == "" && strings.HasPrefix(f.Message, "cannot load such file")
		if library {
			text = f.Message
		}
		if f.Rule != "exit" && !library || !had[f.Identity(info.Name)] || !crashed.MatchString(text) ||
			s.Answers(info, f) || concerns(s, text) {
			return ""
		}
		said = f.Message + where(s, text)
		if library {
			said += ", from a gem that is not installed or a file that is missing"
		}
	}
	return said
}

// complained matches the files and the quoted names in a runner's output.
var complained = lazyre.New("[\\w./-]+\\.\\w+|['\"`‘][\\w./@-]{2,}['\"`’]")

// concerns reports whether the batch names or changes a thing of a runner's output.
func concerns(s gates.Subject, output string) bool {
	text := s.Batch.Title + "\n" + s.Batch.Text
	things := complained.FindAllString(output, -1)
	for _, m := range absent.FindAllStringSubmatch(output, -1) { // Ruby names a library without quotes and without .rb
		things = append(things, m[3])
	}
	return slices.ContainsFunc(things, func(thing string) bool {
		name := path.Base(strings.Trim(thing, "'\"`‘’"))
		return thing != "" && (strings.Contains(text, name) ||
			slices.ContainsFunc(s.Changed, func(c string) bool { return path.Base(c) == name || path.Base(c) == name+".rb" }))
	})
}

// where names the first file of the tree in a runner's output.
func where(s gates.Subject, output string) string {
	for _, name := range complained.FindAllString(output, -1) {
		name = strings.TrimPrefix(strings.Trim(name, "'\"`‘’"), s.Dir+"/")
		if fi, err := os.Lstat(filepath.Join(s.Dir, name)); err == nil && fi.Mode().IsRegular() {
			return " (" + path.Clean(name) + ")"
		}
	}
	return ""
}
