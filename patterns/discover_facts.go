package patterns

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/runplan/runplan/internal/language"
)

// facts counts ast-grep's findings in Python, TypeScript and JavaScript.
func (c *counter) facts(ctx context.Context, p Program, dir, language string, files []string, skipped *[]Skip) error {
	name := "facts/script.yml"
	if language == "python" {
		name = "facts/python.yml"
	}
	doc, err := fs.ReadFile(factFiles, name)
	if err != nil {
		return err
	}
	docs, err := builtInYAML.rules(name, doc)
	if err != nil {
		return err
	}
	look, skip, _, err := sources(dir, files, func(string) bool { return true }, nil)
	if err != nil {
		return err
	}
	*skipped = append(*skipped, skip...)
	saw, err := p.run(ctx, dir, look, text(docs))
	if err != nil {
		return err
	}
	for _, s := range look {
		if why := saw.unread(s.path); why != "" {
			*skipped = append(*skipped, Skip{s.path, why})
		} else {
			c.files++
		}
	}
	kept := map[string][]byte{}
	for _, r := range saw.records {
		if _, ok := kept[r.File]; !ok {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.File)))
			if err != nil {
				return fmt.Errorf("read %s: %w", r.File, err)
			}
			kept[r.File] = text
		}
		if r.Rule == "fact-function" && r.Offsets != nil {
			if text := kept[r.File]; 0 <= r.Offsets.Start && r.Offsets.Start <= r.Offsets.End && r.Offsets.End <= len(text) {
				c.lengths = append(c.lengths, 1+bytes.Count(text[r.Offsets.Start:r.Offsets.End], []byte("\n")))
			}
		}
		if language == "python" {
			c.python(r)
		} else {
			c.script(r)
		}
	}
	return nil
}

// head returns the first match of an expression in a text: its first group.
func head(expr, text string) string {
	if m := regexp.MustCompile(expr).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// first counts the first description whose expression matches a text. pairs are expressions with their descriptions.
func first(counts map[string]int, text string, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if regexp.MustCompile(pairs[i]).MatchString(text) {
			counts[pairs[i+1]]++
			return
		}
	}
}

func (c *counter) python(r record) {
	text := r.Text
	test := language.PythonTest(r.File) || strings.Contains("/"+r.File, "/tests/")
	switch r.Rule {
	case "fact-function":
		if !strings.HasPrefix(r.capture("NAME"), "test_") {
			break
		}
		c.tests["functions named test_…"]++
		if args := strings.Trim(text, "() \n"); args != "" && args != "self" {
			c.tests["fixtures as parameters"]++
		}
	case "fact-class":
		if strings.HasPrefix(text, "Test") && test {
			c.tests["classes named Test…"]++
		}
	case "fact-except":
		what := head(`^except\*?\s+([^:]+?)(?:\s+as\s+\w+)?\s*:`, text)
		switch {
		case what == "":
			what = "except: (bare)"
		case strings.HasPrefix(what, "("):
			what = "except with several types"
		default:
			what = "except " + what
		}
		c.errors[what]++
		first(c.errors, text, `(?s)raise .* from `, "handlers raise from the cause", `\braise\b`, "handlers raise",
			`(?i)\blog(ger|ging)?\.\w+\(`, "handlers log", `\breturn\b`, "handlers return a value",
			`:\s*(#.*)?\s*pass\b`, "handlers pass")
	case "fact-raise":
		if name := head(`^raise\s+([\w.]+)`, text); name != "" {
			c.errors["raise "+name]++
		}
	case "fact-decorator":
		first(c.tests, head(`^@\s*([\w.]+)`, text), `fixture$`, "fixtures", `parametrize$`, "parametrized",
			`^(patch|mock\.)`, "patched with mock")
	case "fact-assert":
		if test {
			first(c.tests, text, `^assert`, "plain assert", `^pytest\.raises$`, "pytest.raises", ``, "self.assert…")
		}
	case "fact-import":
		switch name := head(`^(?:from|import)\s+([\w.]+)`, text); {
		case strings.HasPrefix(name, "."):
			c.imports["relative"]++
		case strings.HasPrefix(text, "from"):
			c.imports["from … import"]++
			fallthrough
		default:
			top, _, _ := strings.Cut(name, ".")
			c.imports[top]++
		}
	}
}

func (c *counter) script(r record) {
	text := r.Text
	switch r.Rule {
	case "fact-catch":
		c.errors["try/catch"]++
		first(c.errors, text, `throw `, "catch throws again", `(?i)\b(console|log(ger)?)\.\w+\(`, "catch logs",
			`\{\s*\}$`, "catch is empty", `\breturn\b`, "catch returns a value")
	case "fact-throw":
		if name := head(`^throw\s+new\s+([\w.]+)`, text); name != "" {
			c.errors["throw new "+name]++
		} else {
			c.errors["throw of a value"]++
		}
	case "fact-error-class":
		c.errors["own error classes"]++
	case "fact-call":
		switch text {
		case "catch":
			c.errors[".catch(…)"]++
		case "require":
			c.imports["require"]++
		default:
			c.tests[text]++
		}
	case "fact-import":
		from := head(`(?s)['"]([^'"]+)['"]\s*;?$`, text)
		switch {
		case strings.HasPrefix(from, "."):
			c.imports["relative"]++
		case strings.HasPrefix(from, "node:"):
			c.imports["node:…"]++
		case strings.HasPrefix(from, "@/") || strings.HasPrefix(from, "~/") || strings.HasPrefix(from, "#"):
			c.imports["alias "+from[:1]+"…"]++
		case from != "":
			c.imports[packageOf(from)]++
		}
		if strings.HasPrefix(text, "import type") {
			c.imports["import type"]++
		}
	}
}

// packageOf returns the package of an import: "react" of react/jsx-runtime, "@scope/name" of @scope/name/x.
func packageOf(from string) string {
	parts := strings.SplitN(from, "/", 3)
	if strings.HasPrefix(from, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
