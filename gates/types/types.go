// Package types runs the type checkers that a project has configured (GATE-10): mypy or pyright, and tsc. go vet checks
// the types of Go.
//
// An error in a unit listed as strict blocks. In other units it warns, or is a note in a file that the change does not
// touch. If a configured checker is not installed, the gate is skipped with this reason. If a checker crashes, this is an
// error of the gate, never a pass.
package types

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// All makes a gate for each type checker that is configured in the projects of the tree in dir.
func All(dir string, projects []gates.Project, strict []string) []gates.Gate {
	var out []gates.Gate
	for _, p := range projects {
		switch p.Language {
		case gates.LangPython:
			if pyrightConfigured(dir, p.Root) {
				out = append(out, gate("types:pyright", "pyright", p.Root, strict, pyright, pythonTool(dir, "pyright", p)))
			}
			if mypyConfigured(dir, p.Root) {
				out = append(out, gate("types:mypy", "mypy .", p.Root, strict, mypy, pythonTool(dir, "mypy", p)))
			}
		case gates.LangNode:
			if has(dir, p.Root, "tsconfig.json") {
				tool := gates.NodeTool(dir, p.Root, "tsc", "typescript", path.Join(p.Root, "tsconfig.json"))
				out = append(out, gate("types:ts", "tsc --noEmit", p.Root, strict, tsc, tool))
			}
		}
	}
	return out
}

// pythonTool returns a type checker of a project's environment, of node_modules or of the PATH.
func pythonTool(dir, name string, p gates.Project) gates.Tool {
	t := gates.PythonTool(dir, p.Root, name, p.Marker)
	t.Own = append(t.Own, "node_modules/.bin/"+name)
	return t
}

// checker runs a type checker in root and passes each error and warning to found, with the path that it printed.
type checker func(ctx context.Context, l *gates.Look, root string, found func(problem)) error

// problem is a finding whose rule is the code of a type checker.
type problem struct {
	gates.Finding
	code string
}

func gate(name, command, root string, strict []string, check checker, tool gates.Tool) gates.Gate {
	shown := command
	if root != "." {
		name += ":" + root
		shown = "cd " + root + " && " + command
	}
	info := gates.Info{Name: name, Kind: gates.Static, Cost: gates.Cheap, Blocking: true, Pure: true, Command: shown,
		Tools: []gates.Tool{tool}, Root: root}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		lax := 0
		changed := l.Subject().Changed
		err := check(ctx, l, root, func(p problem) {
			f := p.Finding
			if f.Severity == gates.Note {
				return
			}
			f.Rule, f.Path, f.Severity = "types/"+p.code, l.Rel(root, f.Path), gates.Warning
			if p.code == "" {
				f.Rule = "types/error"
			}
			switch {
			case gates.Match(strict, f.Path):
				f.Severity = gates.Error
			case f.Path != "" && len(changed) > 0 && !slices.Contains(changed, f.Path):
				f.Severity = gates.Note // most likely it is old
			default:
				lax++
			}
			if f.Path == "" {
				f.Line, f.Col = 0, 0
			}
			l.Find(f)
		})
		if errors.Is(err, gates.ErrNoProgram) {
			l.Skip("%s is configured here but not installed", strings.Fields(command)[0])
			return nil
		}
		if lax > 0 {
			l.Note("%d type errors only warn: their files are not listed as strict", lax)
		}
		return err
	})
}

func mypyConfigured(dir, root string) bool {
	return has(dir, root, "mypy.ini") || has(dir, root, ".mypy.ini") ||
		strings.Contains(read(dir, root, "setup.cfg"), "[mypy") || tool(dir, root, "mypy")
}

func pyrightConfigured(dir, root string) bool {
	return has(dir, root, "pyrightconfig.json") || tool(dir, root, "pyright") || tool(dir, root, "basedpyright")
}

func tool(dir, root, name string) bool {
	var p struct {
		Tool map[string]any `toml:"tool"`
	}
	if toml.Unmarshal([]byte(read(dir, root, "pyproject.toml")), &p) != nil {
		return false
	}
	_, ok := p.Tool[name]
	return ok
}

func has(dir, root, name string) bool {
	fi, err := os.Stat(filepath.Join(dir, filepath.FromSlash(root), name))
	return err == nil && fi.Mode().IsRegular()
}

// maxConfig is the number of bytes read of a configuration file.
const maxConfig = 1 << 20

func read(dir, root, name string) string {
	return gates.ReadSome(filepath.Join(dir, filepath.FromSlash(root), name), maxConfig)
}

var (
	mypyLine = lazyre.New(`^(.+?):(\d+)(?::(\d+))?(?::\d+:\d+)?: (error|note|warning): (.*?)(?:\s+\[([\w-]+)\])?$`)
	// mypyTwice matches the message that stops mypy before it checks anything.
	mypyTwice  = lazyre.New(`(?m)^(?:\./)?(.+?): error: Duplicate module named ".*" \(also at "(?:\./)?(.+?)"\)`)
	mypyError  = lazyre.New(`(?m)^.*\berror: .*$`)
	mypyConfig = lazyre.New(`(?ms)^\[(?:tool\.)?mypy\]\s*$(.*?)(?:^\[|\z)`)
	mypyFiles  = lazyre.New(`(?m)^\s*(?:files|packages|modules)\s*=`)
	tscLine    = lazyre.New(`^(.+?)\((\d+),(\d+)\): (error|warning|message) (TS\d+): (.*)$`)
	tscBare    = lazyre.New(`^error (TS\d+): (.*)$`)
)

// maxTwice limits the files that are left out because another file has the same module name.
const maxTwice = 20

// mypy checks the files that its configuration names, or all.
func mypy(ctx context.Context, l *gates.Look, root string, found func(problem)) error {
	args := []string{
		l.Tool(root, ".venv/bin/mypy", "mypy"), "--no-error-summary", "--no-color-output", "--hide-error-context",
		"--show-column-numbers",
		"--show-error-codes", "--no-pretty", "--cache-dir=" + os.DevNull,
	}
	if !slices.ContainsFunc([]string{"mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"}, func(name string) bool {
		own := mypyConfig.FindStringSubmatch(read(l.Subject().Dir, root, name))
		return own != nil && mypyFiles.MatchString(own[1])
	}) {
		args = append(args, ".")
	}
	var out gates.Ended
	for range maxTwice {
		var err error
		if out, err = l.Run(ctx, gates.Program{Args: args, Dir: root}); err != nil {
			return err
		}
		two := mypyTwice.FindStringSubmatch(out.Text)
		if two == nil || slices.ContainsFunc(two[1:], func(file string) bool { // a change must not hide a file
			return slices.Contains(l.Subject().Changed, path.Join(root, file))
		}) {
			break
		}
		left := two[1] // the deeper file is the example or the test
		if strings.Count(two[2], "/") > strings.Count(left, "/") {
			left = two[2]
		}
		l.Note("mypy does not check %s: two files are a module of the same name", left)
		args = slices.Insert(args, 1, "--exclude", `^(\./)?`+regexp.QuoteMeta(left)+"$")
	}
	n := 0
	for line := range strings.Lines(out.Text) {
		if p, ok := parseMypy(strings.TrimRight(line, "\r\n")); ok {
			n++
			found(p)
		}
	}
	if !out.OK() && (n == 0 || out.Exit != 1) {
		said := mypyError.FindString(out.Text)
		return fmt.Errorf("mypy could not run, %s: %s", out.How, cmp.Or(said, phrase.LastLine(out.Text)))
	}
	return nil
}

func parseMypy(line string) (problem, bool) {
	m := mypyLine.FindStringSubmatch(line)
	if m == nil {
		return problem{}, false
	}
	return problem{gates.Finding{Path: m[1], Line: gates.Atoi(m[2]), Col: gates.Atoi(m[3]), Message: m[5],
		Severity: severity(m[4] != "note")}, m[6]}, true
}

func severity(counts bool) gates.Severity {
	if counts {
		return gates.Error
	}
	return gates.Note
}

func pyright(ctx context.Context, l *gates.Look, root string, found func(problem)) error {
	program := l.Tool(root, ".venv/bin/pyright", l.Tool(root, "node_modules/.bin/pyright", "pyright"))
	out, err := l.Run(ctx, gates.Program{Args: []string{program, "--outputjson"}, Dir: root, Stdout: true})
	if err != nil {
		return err
	}
	list, err := parsePyright(out.Stdout)
	if err != nil || out.Exit > 1 {
		return fmt.Errorf("pyright could not run, %s: %w", out.How, errors.Join(err, errors.New(phrase.LastLine(out.Text))))
	}
	var shown strings.Builder
	for _, p := range list {
		found(p)
		fmt.Fprintf(&shown, "%s:%d:%d: %s\n", p.Path, p.Line, p.Col, p.Message)
	}
	l.Show(shown.String())
	return nil
}

func parsePyright(data []byte) ([]problem, error) {
	var rep struct {
		Diagnostics *[]struct {
			File, Severity, Message, Rule string
			Range                         struct{ Start struct{ Line, Character int } }
		} `json:"generalDiagnostics"`
	}
	if err := json.Unmarshal(data, &rep); err != nil {
		return nil, fmt.Errorf("read its report: %w", err)
	}
	if rep.Diagnostics == nil {
		return nil, errors.New("its report has no diagnostics")
	}
	var out []problem
	for _, d := range *rep.Diagnostics {
		out = append(out, problem{gates.Finding{
			Path: d.File, Line: max(0, d.Range.Start.Line) + 1, Col: max(0, d.Range.Start.Character) + 1,
			Message: d.Message, Severity: severity(d.Severity == "error"),
		}, d.Rule})
	}
	return out, nil
}

func tsc(ctx context.Context, l *gates.Look, root string, found func(problem)) error {
	program := l.Tool(root, "node_modules/.bin/tsc", "")
	if program == "" {
		return fmt.Errorf("typescript is not in node_modules: %w", gates.ErrNoProgram)
	}
	temp, err := os.MkdirTemp("", "runplan-tsc-")
	if err != nil {
		return fmt.Errorf("create a folder for tsc: %w", err)
	}
	defer os.RemoveAll(temp)
	// Projects that build in parts write build information, which must not go into the tree.
	out, err := l.Run(ctx, gates.Program{
		Args: []string{program, "--noEmit", "--pretty", "false", "--incremental", "--tsBuildInfoFile",
			filepath.Join(temp, "info"), "-p", "."}, Dir: root,
	})
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(out.Text) {
		line = strings.TrimRight(line, "\r\n")
		if m := tscBare.FindStringSubmatch(line); m != nil {
			return fmt.Errorf("tsc cannot check the project: %s %s; install its packages, or correct %s", m[1],
				strings.TrimSuffix(m[2], "."), path.Join(root, "tsconfig.json"))
		}
		if p, ok := parseTSC(line); ok {
			n++
			found(p)
		}
	}
	if !out.OK() && n == 0 {
		return fmt.Errorf("tsc could not run, %s: %s", out.How, phrase.LastLine(out.Text))
	}
	return nil
}

func parseTSC(line string) (problem, bool) {
	m := tscLine.FindStringSubmatch(line)
	if m == nil {
		return problem{}, false
	}
	return problem{gates.Finding{Path: m[1], Line: gates.Atoi(m[2]), Col: gates.Atoi(m[3]), Message: m[6],
		Severity: severity(m[4] == "error")}, m[5]}, true
}
