package gates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// The rules of lint gates that no linter defines.
const (
	ruleVet     = "vet"
	ruleGofmt   = "gofmt"
	ruleNoRules = "linter-without-rules" // a configured linter has no rules enabled (GATE-08)
)

// maxArgs limits how many files one call of a tool gets. It is well below the limits of operating systems.
const maxArgs = 400

// linters makes a gate for each linter of each project, and a skipped gate for a project without a linter.
func linters(dir string, projects []Project) []builtin {
	var out []builtin
	owners := lintRoots(dir, projects)
	add := func(p Project, name, command string, tools []Tool, unset string, do func(context.Context, *Look) error) {
		info := Info{
			Name: gateName(lintName, Project{Language: Language(name), Root: p.Root}), Root: p.Root, Kind: Static, Cost: Cheap,
			Blocking: true, Pure: true,
			Command: command, Tools: tools, Unset: unset,
		}
		out = append(out, builtin{info: info, do: func(ctx context.Context, w *Look) error {
			err := do(ctx, w)
			w.settleLint(p, owners)
			if err == nil {
				err = w.calmLint(ctx)
			}
			return err
		}})
	}
	for _, p := range owners {
		switch p.Language {
		case LangGo:
			add(p, "go", "go vet ./...", []Tool{goTool(), {Name: "gofmt", Program: "gofmt", Install: "it is part of Go"}}, "",
				func(ctx context.Context, w *Look) error { return goLint(ctx, w, p, owners) })
		case LangPython:
			command, tools, unset := pythonLinter(dir, p)
			add(p, "python", command, tools, unset,
				func(ctx context.Context, w *Look) error { return pythonLint(ctx, w, p, owners) })
		}
		configured := 0
		for _, l := range setUp {
			if l.lang != p.Language || l.config(dir, p) == "" {
				continue
			}
			config := l.config(dir, p)
			configured++
			if slices.ContainsFunc(owners, func(q Project) bool { // the project above lints it
				return q.Language == p.Language && within(p.Root, q.Root) && l.config(dir, q) == config
			}) {
				continue
			}
			tool, check := l.tool(dir, p, config), l.check(config)
			words := append([]string{cmp.Or(tool.Program, tool.Name)}, l.args(&Look{subject: Subject{Dir: dir}}, p, config)...)
			tools := []Tool{tool}
			if l.lang == LangJava { // build wrappers need it too
				tools = []Tool{javaTool(), tool}
			}
			add(p, l.name, commandLine(p.Root, words), tools, "",
				func(ctx context.Context, w *Look) error { return check(ctx, w, p) })
		}
		if p.Language == LangNode {
			// A lint script counts only if no linter is configured otherwise.
			if command, tools, unset := nodeLinter(dir, p); configured == 0 || unset == "" && eslintConfig(dir, p.Root) != "" {
				add(p, "node", command, tools, unset, func(ctx context.Context, w *Look) error { return nodeLint(ctx, w, p) })
			}
		}
	}
	for script := range shellFiles(dir) {
		add(Project{LangShell, ".", script}, "shell", "shellcheck",
			[]Tool{onPathTool("shellcheck", "", "https://www.shellcheck.net, or apt install shellcheck")}, "", shellLint)
		break
	}
	return out
}

// lintRoots returns the projects that are linted separately. A package without its own linter, below one of the same
// language, is linted together with that.
func lintRoots(dir string, projects []Project) []Project {
	return slices.DeleteFunc(slices.Clone(projects), func(p Project) bool {
		own := true
		switch p.Language {
		case LangPython:
			own = ruffConfig(dir, p.Root) != "" || flake8Config(dir, p.Root) != ""
		case LangRuby:
			own = exists(dir, p.Root, ".rubocop.yml")
		case LangNode:
			own = !inheritsLinters(dir, p)
		}
		return !own && below(p, projects)
	})
}

// inheritsLinters reports whether a folder above configures all linters of a package and runs them on the package
// too.
func inheritsLinters(dir string, p Project) bool {
	configs := []string{eslintConfig(dir, p.Root)}
	for _, l := range setUp {
		if l.lang == LangNode {
			configs = append(configs, l.config(dir, p))
		}
	}
	configs = slices.DeleteFunc(configs, func(c string) bool { return c == "" })
	return len(configs) > 0 &&
		!slices.ContainsFunc(configs, func(c string) bool { return path.Dir(c) == p.Root })
}

// pythonLinter returns what [pythonLint] runs, for people.
func pythonLinter(dir string, p Project) (command string, tools []Tool, unset string) {
	ruff, flake8 := ruffConfig(dir, p.Root), flake8Config(dir, p.Root)
	one, two := PythonTool(dir, p.Root, "ruff", ruff), PythonTool(dir, p.Root, "flake8", flake8)
	switch {
	case ruff != "":
		return commandLine(p.Root, []string{"ruff", "check", "."}), []Tool{one}, ""
	case flake8 != "":
		return commandLine(p.Root, []string{"flake8", "."}), []Tool{two}, ""
	}
	one.Or = &two
	return "ruff or flake8", []Tool{one},
		"neither ruff nor flake8 is configured; an installed one checks only for errors"
}

// settleLint drops findings that belong to nested projects, and turns errors in unchanged files into warnings, and
// warnings into notes. Code that does not compile blocks wherever it is.
func (w *Look) settleLint(p Project, all []Project) {
	old := 0
	var kept []Finding
	for _, f := range w.rep.Findings {
		if f.Path != "" && slices.ContainsFunc(all, func(q Project) bool {
			return q.Language == p.Language && within(q.Root, p.Root) && within(f.Path, q.Root)
		}) {
			continue
		}
		if f.Rule != RuleBuild && f.Path != "" && len(w.subject.Changed) > 0 && !slices.Contains(w.subject.Changed, f.Path) {
			switch {
			case f.Severity == Error:
				f.Severity = Warning
				old++
			case f.Rule != ruleNoRules:
				f.Severity = Note
			}
		}
		kept = append(kept, f)
	}
	w.rep.Findings = kept
	if old > 0 {
		w.Note("%s in unchanged files only %s", phrase.Count(old, "finding"), phrase.Noun(old, "warns", "warn"))
	}
}

// calmLint turns warnings at lines that the change does not add into notes, also in changed files.
func (w *Look) calmLint(ctx context.Context) error {
	warns := func(f Finding) bool {
		return f.Severity == Warning && f.Line > 0 && f.Rule != RuleBuild && f.Rule != ruleNoRules
	}
	paths := lists.SetBy(lists.Filter(w.rep.Findings, warns), func(f Finding) string { return f.Path })
	if len(paths) == 0 || w.subject.Diff == nil {
		return nil
	}
	files, _, err := Files(ctx, w.subject.Diff, func(c Change) bool { return paths[c.Path] })
	for _, file := range files {
		fresh := file.FreshLines()
		for i, f := range w.rep.Findings {
			if f.Path == file.Path && warns(f) && !fresh[f.Line] {
				w.rep.Findings[i].Severity = Note
			}
		}
	}
	return err
}

// scope lists the files to check among those that want accepts: the changed ones if known, else all.
func scope(w *Look, p Project, all []Project, want func(name string) bool) []string {
	var out []string
	for rel, name := range filesOf(w.subject.Dir, p, all) {
		if file := path.Join(rel, name); want(name) &&
			(len(w.subject.Changed) == 0 || slices.Contains(w.subject.Changed, path.Join(p.Root, file))) {
			out = append(out, "./"+file) // so that a name that begins with a dash is not read as an option
		}
	}
	return out
}

var vetLine = lazyre.New(`^(vet: )?((?:\./|\.\./)?[^:\s][^:]*\.(?:go|s|mod|work)):(\d+)(?::(\d+))?: (.+)$`)

// goLint runs go vet, which also finds code that does not compile, and gofmt -l.
func goLint(ctx context.Context, w *Look, p Project, all []Project) error {
	// With -trimpath, which GOFLAGS may contain, go's cache returns paths of another checkout of the same code.
	vet, err := w.run(ctx, program{args: []string{"go", "vet", "-trimpath=false", "./..."}, dir: p.Root})
	if err != nil {
		return fmt.Errorf("lint the Go module of %s: %w", p.Marker, err)
	}
	if !vet.ok() && strings.Contains(vet.text, "matched no packages") {
		w.Skip("%s has no packages yet", p.Marker)
		return nil
	}
	for _, l := range strings.Split(vet.text, "\n") {
		m := vetLine.FindStringSubmatch(l)
		if m == nil || vet.ok() {
			continue
		}
		f := Finding{Rule: ruleVet, Severity: Error, Path: w.Rel(p.Root, m[2]), Line: Atoi(m[3]), Col: Atoi(m[4]),
			Message: m[5]}
		if m[1] != "" || !strings.HasSuffix(m[2], ".go") {
			f.Rule = RuleBuild
		}
		w.Find(f)
	}
	if !vet.ok() && len(w.rep.Findings) == 0 {
		w.Find(Finding{Rule: RuleBuild, Severity: Error, Path: p.Marker, Message: vet.how() + ": " +
			phrase.Fit(strings.TrimSpace(vet.text), 600)})
	}
	for files := range slices.Chunk(scope(w, p, all, func(n string) bool { return strings.HasSuffix(n, ".go") }),
		maxArgs) {
		out, err := w.run(ctx, program{args: append([]string{"gofmt", "-l"}, files...), dir: p.Root, stdout: true,
			quiet: true})
		if errors.Is(err, proc.ErrNotFound) {
			w.Note("formatting was not checked: gofmt is not installed")
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range strings.Fields(string(out.stdout)) {
			at := w.Rel(p.Root, name)
			text := readText(w.subject.Dir, ".", at) // git may check out CRLF, which gofmt replaces
			if lf := strings.ReplaceAll(text, "\r\n", "\n"); lf != text && goFormatted([]byte(lf)) {
				continue
			}
			w.Find(Finding{Rule: ruleGofmt, Severity: Warning, Path: at, Message: "not formatted with gofmt", Fix: "gofmt -w " +
				quote(at)})
		}
	}
	return nil
}

// basicRules selects errors in any Python code: syntax, broken comparisons, undefined names.
const basicRules = "--select=E9,F63,F7,F82"

// pythonLinting runs a linter of Python; call is its program and the files to check.
type pythonLinting func(ctx context.Context, w *Look, p Project, call []string, configured bool) error

// pythonLint runs the linter that the project configures. Without one, an installed linter looks only for certain
// errors, and only in changed files if they are known.
func pythonLint(ctx context.Context, w *Look, p Project, all []Project) error {
	dir := w.subject.Dir
	ruff, flake8 := ruffConfig(dir, p.Root), flake8Config(dir, p.Root)
	files := []string{"."}
	if ruff == "" && flake8 == "" && len(w.subject.Changed) > 0 {
		files = scope(w, p, all, func(name string) bool { return path.Ext(name) == ".py" })
		switch {
		case len(files) == 0:
			w.Skip("no linter is configured, and no Python file changed")
			return nil
		case len(files) > maxArgs:
			files = []string{"."}
		}
	}
	try := func(tool, config string, lint pythonLinting) (bool, error) {
		err := lint(ctx, w, p, append([]string{w.pythonTool(p.Root, tool)}, files...), config != "")
		if !errors.Is(err, proc.ErrNotFound) {
			return true, err
		}
		if config != "" {
			w.Skip("%s is configured in %s but not installed", tool, config)
		}
		return config != "", nil
	}
	if ruff != "" || flake8 == "" {
		if done, err := try("ruff", ruff, ruffLint); done || err != nil {
			return err
		}
	}
	if done, err := try("flake8", flake8, flake8Lint); done || err != nil {
		return err
	}
	w.Skip("no linter is configured, and neither ruff nor flake8 is installed")
	return nil
}

// pythonTool finds a tool in the project's environment, else on PATH.
func (w *Look) pythonTool(root, name string) string {
	return w.Tool(root, ".venv/bin/"+name, w.Tool(root, "venv/bin/"+name, name))
}

// Tool returns the project's own copy of a program, in root or a folder above it. If there is none, it returns other.
func (w *Look) Tool(root, own, other string) string {
	if at, ok := upwards(w.subject.Dir, root, own); ok {
		return w.at(at)
	}
	return other
}

func ruffConfig(dir, root string) string {
	if own := firstOf(dir, root, "ruff.toml", ".ruff.toml"); own != "" || readPyproject(dir, root).Tool.Ruff == nil {
		return own
	}
	return path.Join(root, "pyproject.toml")
}

func flake8Config(dir, root string) string {
	for _, name := range []string{".flake8", "setup.cfg", "tox.ini"} {
		if strings.Contains(readText(dir, root, name), "[flake8]") {
			return path.Join(root, name)
		}
	}
	return ""
}

type ruffFinding struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Filename string `json:"filename"`
	Location struct{ Row, Column int }
	Fix      *struct{ Message string }
}

// found reads the JSON report of a linter from its standard output. An exit status above 1 means that the linter
// failed.
func (r ran) found(tool string, to any) error {
	if r.exit > 1 || r.signal != "" {
		return fmt.Errorf("%s gave up, %s: %s", tool, r.how(), lastTelling(r.text))
	}
	if err := json.Unmarshal(r.stdout, to); err != nil {
		return fmt.Errorf("read what %s found: %w", tool, err)
	}
	return nil
}

func ruffLint(ctx context.Context, w *Look, p Project, call []string, configured bool) error {
	args := []string{call[0], "check", "--output-format=json", "--no-fix", "--no-cache"}
	if !configured {
		args = append(args, basicRules)
	}
	out, err := w.run(ctx, program{args: append(args, call[1:]...), dir: p.Root, stdout: true})
	if err != nil {
		return err
	}
	var read []ruffFinding
	if err := out.found("ruff", &read); err != nil {
		return err
	}
	var found []Finding
	for _, r := range read {
		f := Finding{
			Rule: cmp.Or(r.Code, "syntax"), Severity: Error, Path: w.Rel(p.Root, r.Filename),
			Line: r.Location.Row, Col: r.Location.Column, Message: r.Message,
		}
		if r.Fix != nil {
			f.Fix = r.Fix.Message
		}
		found = append(found, f)
	}
	w.show(found)
	if configured && ruffEmpty(w.subject.Dir, p.Root) {
		w.Find(Finding{Rule: ruleNoRules, Severity: Warning, Path: ruffConfig(w.subject.Dir, p.Root),
			Message: "ruff has no rules enabled: select is empty"})
	}
	return nil
}

var emptySelect = lazyre.New(`(?m)^\s*select\s*=\s*(?:\[\s*\]|$)`)

func ruffEmpty(dir, root string) bool {
	for _, name := range []string{"ruff.toml", ".ruff.toml"} {
		if text := readText(dir, root, name); text != "" {
			return emptySelect.MatchString(text) && !strings.Contains(text, "extend-select")
		}
	}
	ruff := readPyproject(dir, root).Tool.Ruff
	if lint, ok := ruff["lint"].(map[string]any); ok {
		ruff = lint
	}
	list, ok := ruff["select"].([]any)
	_, more := ruff["extend-select"]
	return ok && len(list) == 0 && !more
}

var flake8Line = lazyre.New(`^(.+?):(\d+):(\d+): ([A-Z]+\d+) (.+)$`)

func flake8Lint(ctx context.Context, w *Look, p Project, call []string, configured bool) error {
	args := call[:1:1]
	if !configured {
		args = append(args, basicRules)
	}
	out, err := w.run(ctx, program{args: append(args, call[1:]...), dir: p.Root})
	if err != nil {
		return err
	}
	before := len(w.rep.Findings)
	for _, l := range strings.Split(out.text, "\n") {
		if m := flake8Line.FindStringSubmatch(l); m != nil {
			w.Find(Finding{Rule: m[4], Severity: Error, Path: w.Rel(p.Root, m[1]), Line: Atoi(m[2]), Col: Atoi(m[3]),
				Message: m[5]})
		}
	}
	if !out.ok() && len(w.rep.Findings) == before {
		return fmt.Errorf("flake8 could not run, %s: %s", out.how(), lastTelling(out.text))
	}
	if config := flake8Config(w.subject.Dir, p.Root); config != "" &&
		emptySelect.MatchString(readText(w.subject.Dir, ".", config)) {
		w.Find(Finding{Rule: ruleNoRules, Severity: Warning, Path: config,
			Message: "flake8 has no rules enabled: select is empty"})
	}
	return nil
}

// Atoi reads a number in the output of a program. It is 0 for any other text.
func Atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
