package gates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/proc"
)

type eslintFile struct {
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

// nodeLint runs the project's own eslint: another version would not read its configuration.
func nodeLint(ctx context.Context, w *work, p Project) error {
	config := eslintConfig(w.subject.Dir, p.Root)
	if config == "" {
		if script := readPackage(w.subject.Dir, p.Root).Scripts["lint"]; strings.TrimSpace(script) != "" {
			// Many such scripts mend what they find, and a gate changes nothing. Whoever knows that this one does not may say so.
			w.skip("eslint is not configured, and the lint script of %s is not run unasked, as it may change files; to have it run: [[gates.command]] name = %q, run = %q",
				p.Marker, w.rep.Gate, lintCommand(w.subject.Dir, p.Root))
			return nil
		}
		w.skip("no linter is configured: there is neither a configuration of eslint nor a lint script in %s", p.Marker)
		return nil
	}
	tool := w.tool(p.Root, "node_modules/.bin/eslint", "")
	if tool == "" {
		w.skip("eslint is configured in %s and is not installed in node_modules", config)
		return nil
	}
	out, err := w.run(ctx, program{args: []string{tool, "--format", "json", "--no-error-on-unmatched-pattern", "."}, dir: p.Root, stdout: true})
	if err != nil {
		return err
	}
	if out.exit > 1 || out.signal != "" {
		return fmt.Errorf("eslint gave up, %s: %s", out.how(), lastTelling(out.text))
	}
	var files []eslintFile
	if err := json.Unmarshal(out.stdout, &files); err != nil {
		return fmt.Errorf("read what eslint found: %w", err)
	}
	if len(files) == 0 {
		w.skip("eslint looked at no file: its configuration matches none")
		return nil
	}
	var shown strings.Builder
	for _, file := range files {
		for _, m := range file.Messages {
			f := Finding{
				Rule: cmp.Or(m.RuleID, map[bool]string{true: "syntax", false: "eslint"}[m.Fatal]), Severity: Warning, Path: w.rel(p.Root, file.FilePath),
				Line: m.Line, Col: m.Column, Message: m.Message,
			}
			if m.Severity >= 2 {
				f.Severity = Error
			}
			w.find(f)
			fmt.Fprintf(&shown, "%s:%d:%d: %s %s\n", f.Path, f.Line, f.Col, f.Rule, f.Message)
		}
	}
	w.said = cmp.Or(shown.String(), "no findings\n")
	if len(w.rep.Findings) > 0 {
		return nil
	}
	rules, err := w.run(ctx, program{args: []string{tool, "--print-config", files[0].FilePath}, dir: p.Root, stdout: true, quiet: true})
	if err != nil {
		return err
	}
	if rules.ok() && noRules(rules.stdout) {
		w.find(Finding{Rule: ruleNoRules, Severity: Warning, Path: config, Message: "eslint runs and has no rule switched on"})
	}
	return nil
}

// noRules reads what eslint --print-config says; what cannot be read has rules for all we know.
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

// lintCommand runs the lint script of a package.
func lintCommand(dir, root string) string {
	run := packageManager(dir, root) + " run lint"
	if root != "." {
		run = "cd " + root + " && " + run
	}
	return run
}

func eslintConfig(dir, root string) string {
	names := []string{".eslintrc", ".eslintrc.json", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.yml", ".eslintrc.yaml"}
	for _, ext := range []string{"js", "mjs", "cjs", "ts", "mts", "cts"} {
		names = append(names, "eslint.config."+ext)
	}
	for _, name := range names {
		if at, ok := upwards(dir, root, name); ok {
			return at
		}
	}
	if readPackage(dir, root).ESLintConfig != nil {
		return path.Join(root, "package.json")
	}
	return ""
}

// shellFiles lists the shell scripts of a tree.
func shellFiles(dir string) []string {
	var out []string
	const deep = 8
	walk(dir, deep, func(root string, files []string) {
		for _, f := range files {
			if strings.HasSuffix(f, ".sh") || strings.HasSuffix(f, ".bash") {
				out = append(out, path.Join(root, f))
			}
		}
	})
	return out
}

type shellcheckFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Level   string `json:"level"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// shellLint runs shellcheck on the scripts that changed, or on all. Only its errors block.
func shellLint(ctx context.Context, w *work) error {
	var files []string
	for _, f := range shellFiles(w.subject.Dir) {
		if len(w.subject.Changed) == 0 || slices.Contains(w.subject.Changed, f) {
			files = append(files, "./"+f)
		}
	}
	if len(files) == 0 {
		w.skip("no shell script changed")
		return nil
	}
	var shown strings.Builder
	for some := range slices.Chunk(files, maxArgs) {
		out, err := w.run(ctx, program{args: append([]string{"shellcheck", "-f", "json"}, some...), stdout: true})
		if errors.Is(err, proc.ErrNotFound) {
			w.skip("shellcheck is not installed")
			return nil
		}
		if err != nil {
			return err
		}
		var found []shellcheckFinding
		if out.exit > 1 || out.signal != "" {
			return fmt.Errorf("shellcheck gave up, %s: %s", out.how(), lastTelling(out.text))
		}
		if err := json.Unmarshal(out.stdout, &found); err != nil {
			return fmt.Errorf("read what shellcheck found: %w", err)
		}
		for _, s := range found {
			sev := map[string]Severity{"error": Error, "warning": Warning}[s.Level]
			f := Finding{
				Rule: fmt.Sprintf("SC%04d", s.Code), Severity: Severity(cmp.Or(string(sev), string(Note))),
				Path: w.rel("", s.File), Line: s.Line, Col: s.Column, Message: s.Message,
			}
			w.find(f)
			fmt.Fprintf(&shown, "%s:%d:%d: %s %s\n", f.Path, f.Line, f.Col, f.Rule, f.Message)
		}
	}
	w.said = cmp.Or(shown.String(), "no findings\n")
	return nil
}
