package gates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

type eslintReport []struct {
	FilePath string `json:"filePath"`
	Messages []struct {
		RuleID   string `json:"ruleId"`
		Severity int    `json:"severity"`
		Message  string `json:"message"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		Fatal    bool   `json:"fatal"` // the file could not be parsed
	} `json:"messages"`
}

func (r eslintReport) findings(w *Look, p Project) []Finding {
	var out []Finding
	for _, file := range r {
		for _, m := range file.Messages {
			f := Finding{
				Rule: cmp.Or(m.RuleID, map[bool]string{true: "syntax", false: "eslint"}[m.Fatal]), Severity: Warning,
				Path: w.Rel(p.Root, file.FilePath), Line: m.Line, Col: m.Column, Message: m.Message,
			}
			if m.Severity >= 2 {
				f.Severity = Error
			}
			out = append(out, f)
		}
	}
	return out
}

// nodeLinter returns what [nodeLint] runs, for people.
func nodeLinter(dir string, p Project) (command string, tools []Tool, unset string) {
	if config := eslintConfig(dir, p.Root); config != "" {
		return "eslint", []Tool{NodeTool(dir, p.Root, "eslint", "eslint", config)}, ""
	}
	name, program, why := checkingScript(dir, p)
	if name == "" {
		return "", nil, why
	}
	manager := packageManager(dir, p.Root)
	tools = []Tool{managerTool(manager, "")}
	if program != "" {
		tools = append(tools, NodeTool(dir, p.Root, program, program, p.Marker))
	}
	return commandLine(p.Root, []string{manager, "run", name}), tools, ""
}

// checkingScript returns the name of the first lint script that only checks, and the program that it begins with, or
// the reason why there is none.
func checkingScript(dir string, p Project) (name, program, why string) {
	why = "eslint, biome and oxlint are not configured, and there is no lint script in " + p.Marker
	scripts := readPackage(dir, p.Root).Scripts
	for _, name := range []string{"lint:check", "lint:ci", "lint", "check:lint", "eslint", "biome:check", "check"} {
		if strings.TrimSpace(scripts[name]) == "" {
			continue
		}
		program, writes := lintScript(scripts[name])
		if writes == "" {
			return name, program, ""
		}
		why = fmt.Sprintf("runplan does not run the script %s of %s: %s", name, p.Marker, writes)
	}
	return "", "", why
}

// checkers are programs that only check code, unless an option makes them write.
var (
	checkers   = lazyre.New(`^(?:eslint|biome|oxlint|tslint|standard|ts-standard|semistandard|xo|jshint|stylelint|prettier|tsc|vue-tsc|svelte-check|next|nx|turbo|publint|attw|knip|cspell|markdownlint|dprint|vp)$`)
	scriptFix  = lazyre.New(`(?:^|\s)(?:--fix\S*|--write|--apply\S*|--unsafe|-w|--update\S*|--ext-fix)(?:[\s=]|$)`)
	scriptVerb = lazyre.New(`^(?:npx|cross-env|env|pnpm|yarn|npm|exec|dlx|run|node|--\S+|-\S|\w+=\S*)$`)
)

// lintScript returns the program that a script begins with if the script only checks, or the reason not to run it.
func lintScript(text string) (program, why string) {
	if scriptFix.MatchString(text) {
		return "", "it fixes its findings"
	}
	if strings.ContainsAny(text, "|;<>`$") {
		return "", "it also runs programs that are not checkers"
	}
	for part := range strings.SplitSeq(text, "&&") {
		words := strings.Fields(part)
		for len(words) > 1 && scriptVerb.MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		name := path.Base(words[0])
		switch {
		case !checkers.MatchString(name):
			return "", "what " + name + " does to files is unknown"
		case name == "prettier" && !slices.Contains(words, "--check") && !slices.Contains(words, "-c") &&
			!slices.Contains(words, "-l") && !slices.Contains(words, "--list-different"),
			name == "tsc" && !slices.Contains(words, "--noEmit"), name == "next" && !slices.Contains(words, "lint"),
			name == "vp" && !slices.Contains(words, "lint") && !slices.Contains(words, "check"),
			name == "biome" && slices.Contains(words, "migrate"), (name == "nx" || name == "turbo") && len(words) < 2:
			return "", name + " would write files"
		}
		program = cmp.Or(program, name)
	}
	return program, ""
}

// nodeLint runs the project's own eslint, because another version could not read its configuration, or the project's
// lint script.
func nodeLint(ctx context.Context, w *Look, p Project) error {
	config := eslintConfig(w.subject.Dir, p.Root)
	if config == "" {
		_, tools, unset := nodeLinter(w.subject.Dir, p)
		if unset == "" {
			return scriptLint(ctx, w, p, tools)
		}
		if script := readPackage(w.subject.Dir, p.Root).Scripts["lint"]; strings.TrimSpace(script) != "" {
			// The message says how to enable the script if it is known to change no file.
			w.Skip("%s; to have it run: [[gates.command]] name = %q, run = %q", unset, w.rep.Gate,
				commandLine(p.Root, []string{packageManager(w.subject.Dir, p.Root), "run", "lint"}))
			return nil
		}
		w.Skip("no linter is configured: %s", unset)
		return nil
	}
	tool := w.Tool(p.Root, "node_modules/.bin/eslint", "")
	if tool == "" {
		w.Skip("eslint is configured in %s but not installed in node_modules", config)
		return nil
	}
	args := []string{tool, "--format", "json", "--no-error-on-unmatched-pattern"}
	out, err := w.run(ctx, program{args: append(args, eslintTargets(w.scripts(ctx, p))...), dir: p.Root, stdout: true})
	if err != nil {
		return err
	}
	var files eslintReport
	if err := out.found("eslint", &files); err != nil {
		return err
	}
	if len(files) == 0 {
		w.Skip("eslint checked no file: its configuration matches none")
		return nil
	}
	w.show(files.findings(w, p))
	if len(w.rep.Findings) > 0 {
		return nil
	}
	rules, err := w.run(ctx,
		program{args: []string{tool, "--print-config", files[0].FilePath}, dir: p.Root, stdout: true, quiet: true})
	if err != nil {
		return err
	}
	if rules.ok() && noRules(rules.stdout) {
		w.Find(Finding{Rule: ruleNoRules, Severity: Warning, Path: config,
			Message: "eslint runs without an enabled rule"})
	}
	return nil
}

// scripts returns the scripts of package.json as they were before the change.
func (w *Look) scripts(ctx context.Context, p Project) map[string]string {
	if slices.Contains(w.subject.Changed, p.Marker) && w.subject.Diff != nil {
		var pkg nodePackage
		if text, err := w.subject.Diff.Before(ctx, p.Marker); err == nil && json.Unmarshal(text, &pkg) == nil {
			return pkg.Scripts
		}
	}
	return readPackage(w.subject.Dir, p.Root).Scripts
}

var (
	// eslintValue matches options of eslint that take the next word.
	eslintValue = lazyre.New(`^(?:-[cfo]|--(?:config|ext|format|output-file|parser|parser-options|plugin|rule|rulesdir|` +
		`env|global|ignore-path|ignore-pattern|max-warnings|cache-\w+|resolve-plugins-relative-to|flag|concurrency))$`)
	commandEnd = lazyre.New(`&&?|\|\|?|;`)
)

// eslintTargets returns the files and folders that scripts tell eslint to check. It returns the whole folder if no
// script calls eslint, or one does without naming any.
func eslintTargets(scripts map[string]string) []string {
	var out []string
	for _, name := range sortedKeys(scripts) {
		for _, part := range commandEnd.Split(scripts[name], -1) {
			words := strings.Fields(part)
			for len(words) > 1 && scriptVerb.MatchString(words[0]) {
				words = words[1:]
			}
			if len(words) == 0 || path.Base(words[0]) != "eslint" {
				continue
			}
			had := len(out)
			for i, word := range words[1:] {
				if word = strings.Trim(word, `'"`); word != "" && word[0] != '-' && !eslintValue.MatchString(words[i]) {
					out = append(out, word)
				}
			}
			if len(out) == had || strings.ContainsAny(part, "<>`$") {
				return []string{"."}
			}
		}
	}
	if len(out) == 0 {
		return []string{"."}
	}
	return lists.Unique(out)
}

// scriptLint runs the lint script of a package.
func scriptLint(ctx context.Context, w *Look, p Project, tools []Tool) error {
	pkg := readPackage(w.subject.Dir, p.Root)
	for _, t := range tools {
		if t.Program == "" && w.toolPath(t) == "" && pkg.depends(t.Name) {
			w.Skip("the lint script needs %s, which is not installed in node_modules: %s", t.Name, t.Install)
			return nil
		}
	}
	name, _, _ := checkingScript(w.subject.Dir, p)
	out, err := w.run(ctx, program{args: []string{packageManager(w.subject.Dir, p.Root), "run", name}, dir: p.Root})
	if errors.Is(err, proc.ErrNotFound) {
		w.Skip("the lint script cannot run: %v", err)
		return nil
	}
	if err != nil || out.ok() {
		return err
	}
	found := scriptFindings(w, p, out.text)
	if len(found) == 0 {
		if err := w.hindered(out, nil); err != nil {
			return err
		}
		found = []Finding{{Rule: ruleExit, Severity: Error, Path: p.Marker, Message: out.how() + ": " +
			lastTelling(out.text)}}
	}
	w.rep.Findings = append(w.rep.Findings, found...)
	return nil
}

var (
	stylishFile = lazyre.New(`^(?:\./)?(/?[\w@+./-]+\.\w+)$`)
	stylishLine = lazyre.New(`^\s+(\d+):(\d+)\s+(error|warning|✖|⚠)\s+(.+?)(?:\s{2,}(\S+))?$`)
	tscPlace    = lazyre.New(`^(\S+\.\w+)\((\d+),(\d+)\): (error|warning) (\w+): (.+)$`)
)

// scriptFindings parses output of Node linters for people: places grouped by file, as in eslint, and PATH:LINE:COL.
func scriptFindings(w *Look, p Project, text string) []Finding {
	var out []Finding
	file := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := stylishFile.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			file = w.Rel(p.Root, m[1])
			continue
		}
		if m := stylishLine.FindStringSubmatch(line); m != nil && file != "" {
			sev := Error
			if m[3] == "warning" || m[3] == "⚠" {
				sev = Warning
			}
			out = append(out, Finding{Rule: cmp.Or(m[5], "lint"), Severity: sev, Path: file, Line: Atoi(m[1]), Col: Atoi(m[2]),
				Message: m[4]})
			continue
		}
		if m := tscPlace.FindStringSubmatch(line); m != nil {
			out = append(out, Finding{Rule: m[5], Severity: Error, Path: w.Rel(p.Root, m[1]), Line: Atoi(m[2]), Col: Atoi(m[3]),
				Message: m[6]})
			continue
		}
		for _, f := range places(w, p.Root, line) {
			out = append(out, Finding{Rule: "lint", Severity: Error, Path: w.Rel(p.Root, f.Path), Line: f.Line, Col: f.Col,
				Message: f.Message})
		}
	}
	return out
}

// noRules reports whether the output of eslint --print-config has no rules. Unreadable output counts as having some.
func noRules(config []byte) bool {
	var c struct {
		Rules map[string]json.RawMessage `json:"rules"`
	}
	if json.Unmarshal(config, &c) != nil {
		return false
	}
	for _, raw := range c.Rules {
		level := strings.TrimLeft(string(raw), "[ \n")
		if !strings.HasPrefix(level, "0") && !strings.HasPrefix(level, `"off"`) {
			return false
		}
	}
	return true
}

func eslintConfig(dir, root string) string {
	own := configIn(".eslintrc", ".eslintrc.json", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.yml", ".eslintrc.yaml",
		"eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", "eslint.config.mts",
		"eslint.config.cts")(dir, Project{Root: root})
	if own == "" && readPackage(dir, root).ESLintConfig != nil {
		return path.Join(root, "package.json")
	}
	return own
}

// shellFiles yields the shell scripts of a tree.
func shellFiles(dir string) iter.Seq[string] {
	const deep = 8
	return func(yield func(string) bool) {
		for root, files := range walk(dir, deep) {
			for _, f := range files {
				if (strings.HasSuffix(f, ".sh") || strings.HasSuffix(f, ".bash")) && !yield(path.Join(root, f)) {
					return
				}
			}
		}
	}
}

type shellcheckFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Level   string `json:"level"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// noShebang is the code of the error that a script does not name its shell. Scripts that others read, or that run as
// "sh FILE", need no shebang, so it does not block.
const noShebang = 2148

// shellLint runs shellcheck on the scripts that changed, or on all. Only its errors block.
func shellLint(ctx context.Context, w *Look) error {
	var files []string
	for f := range shellFiles(w.subject.Dir) {
		if len(w.subject.Changed) == 0 || slices.Contains(w.subject.Changed, f) {
			files = append(files, "./"+f)
		}
	}
	if len(files) == 0 {
		w.Skip("no shell script changed")
		return nil
	}
	var all []Finding
	for some := range slices.Chunk(files, maxArgs) {
		out, err := w.run(ctx, program{args: append([]string{"shellcheck", "-f", "json"}, some...), stdout: true})
		if errors.Is(err, proc.ErrNotFound) {
			w.Skip("shellcheck is not installed")
			return nil
		}
		if err != nil {
			return err
		}
		var found []shellcheckFinding
		if err := out.found("shellcheck", &found); err != nil {
			return err
		}
		for _, s := range found {
			sev := map[string]Severity{"error": Error, "warning": Warning}[s.Level]
			if s.Code == noShebang {
				sev = Note
			}
			all = append(all, Finding{
				Rule: fmt.Sprintf("SC%04d", s.Code), Severity: cmp.Or(sev, Note),
				Path: w.Rel("", s.File), Line: s.Line, Col: s.Column, Message: s.Message,
			})
		}
	}
	w.show(all)
	return nil
}
