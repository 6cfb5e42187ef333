package examples

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// limit is the time limit of the calls of one job.
const limit = 2 * time.Minute

var (
	//go:embed drive.py
	pythonDriver string
	//go:embed drive.mjs
	nodeDriver string
	//go:embed drive.rb
	rubyDriver string
	//go:embed drive.go.txt
	goDriver string
)

// file is a file of code that may define functions of examples.
type file struct{ path, text string }

// call is an example with a file that defines its function.
type call struct {
	Example
	index int
	File  string `json:"file"`
	Root  string `json:"root"`
	Alias bool   `json:"alias,omitempty"` // the file's export without a name has the name that the call begins with
}

// driver is a way to make calls of one language.
type driver struct {
	key     string // calls with the same key are made by one program
	program func(l *gates.Look, mark string, cases []call) (gates.Program, func(), error)
}

// job is a list of calls that one program makes.
type job struct {
	driver driver
	cases  []call
}

// source reads the files of code of a tree that are no tests, and returns those that keep accepts.
func source(dir string, paths []string, keep func(file) bool) (out []file) {
	for _, p := range paths {
		if ways[path.Ext(p)].driver == nil || language.IsTest(p) || language.Foreign(p) || language.Built(p) ||
			strings.HasSuffix(p, ".d.ts") || path.Ext(p) == ".json" && path.Base(p) != "package.json" {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(p)))
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p)))
		if f := (file{p, string(data)}); err == nil && keep(f) {
			out = append(out, f)
		}
	}
	return out
}

// way tells how files of a language define functions, and how to call them. In the expressions, NAME stands for
// the name that a call begins with, and LAST for the last part of the name of its function.
type way struct {
	declares []string // declarations of a function, class or value
	exports  []string // exports that have no name of their own: they count in a file that is named after the function
	driver   func(c call, text string) driver
}

var script = way{
	[]string{`\b(?:function\*?|class)\s+NAME\b`, `(?m)\b(?:const|let|var)\s+NAME\b\s*(?:[^=\s]|=\s*(?:[^r\s]|r[^e]|re[^q])|$)`, // no import
		`\bexports\.(?:NAME|LAST)\s*=`},
	[]string{`(?m)^export default\b`, `\bmodule\.exports\s*=`},
	interpreted("node", nodeDriver),
}

var ways = map[string]way{
	".go": {declares: []string{`(?m)^func LAST[\[(]`}, driver: goCalls},
	".py": {[]string{`(?m)^(?:(?:async )?def|class) NAME\b`, `(?m)^NAME\s*(?::[^=\n]+)?=[^=]`},
		[]string{`(?m)^(?:async )?def LAST\b`}, interpreted("python3", pythonDriver)},
	".rb": {declares: []string{`(?m)^\s*(?:module|class) NAME\b`, `(?m)^def NAME\b`},
		driver: interpreted("ruby", rubyDriver)},
	".json": {driver: script.driver}, // of package.json alone
	".js":   script, ".mjs": script, ".cjs": script, ".ts": script, ".mts": script, ".cts": script,
}

// defines reports whether the file may define the function of an example.
func (f file) defines(e Example) bool {
	w, root, last := ways[path.Ext(f.path)], e.root(), e.last()
	if f.importedAs(root) {
		return true
	}
	if path.Ext(f.path) == ".go" && root != last && packageOf(f.text) != root {
		return false
	}
	if f.named(root) {
		w.declares = slices.Concat(w.declares, w.exports)
	} else if !strings.Contains(f.text, root) && !strings.Contains(f.text, last) {
		return false
	}
	names := strings.NewReplacer("NAME", regexp.QuoteMeta(root), "LAST", regexp.QuoteMeta(last))
	return slices.ContainsFunc(w.declares,
		func(d string) bool { return regexp.MustCompile(names.Replace(d)).MatchString(f.text) })
}

// named reports whether the file has the name of a function or class.
func (f file) named(root string) bool {
	stem := strings.TrimSuffix(path.Base(f.path), path.Ext(f.path))
	return strings.EqualFold(joined.Replace(stem), joined.Replace(root))
}

// importedAs reports whether other code imports the file by this name. Such a file is the __init__.py of a folder, or
// the package.json of a package.
func (f file) importedAs(name string) bool {
	switch path.Base(f.path) {
	case "__init__.py":
		return path.Base(path.Dir(f.path)) == name
	case "package.json":
		m := packageName.FindStringSubmatch(f.text)
		return m != nil && strings.EqualFold(joined.Replace(m[1]), joined.Replace(name))
	}
	return false
}

var packageName = lazyre.New(`"name":\s*"(?:@[^"/]*/)?([^"/]+)"`)

// nameless reports whether the file exports something that has no name of its own.
func (f file) nameless() bool {
	return slices.ContainsFunc(ways[path.Ext(f.path)].exports,
		func(d string) bool { return !strings.Contains(d, "LAST") && regexp.MustCompile(d).MatchString(f.text) })
}

// joined makes names of all styles equal: parse-url, parse_url and parseUrl.
var joined = strings.NewReplacer("-", "", "_", "", ".", "", "/", "")

// interpreted makes calls with a script of an interpreter.
func interpreted(name, script string) func(call, string) driver {
	program := func(l *gates.Look, mark string, cases []call) (gates.Program, func(), error) {
		data, err := json.Marshal(cases)
		if err != nil {
			return gates.Program{}, nil, err
		}
		args := []string{name, "-e", script, mark, string(data)}
		switch name {
		case "python3":
			python, err := l.Interpreter(".")
			if err != nil {
				return gates.Program{}, nil, fmt.Errorf("%w: %w", gates.ErrNoProgram, err)
			}
			args[0], args[1] = python, "-c"
		case "node":
			args = []string{name, "--input-type=module", "-e", script, "--", mark, string(data)}
		}
		return gates.Program{Args: args}, nil, nil
	}
	return func(call, string) driver { return driver{name, program} }
}

var packageLine = lazyre.New(`(?m)^package (\w+)`)

func packageOf(text string) string {
	if m := packageLine.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// goCalls makes the calls with a test in the package of the function.
func goCalls(c call, text string) driver {
	dir, pkg := path.Dir(c.File), packageOf(text)
	return driver{"go " + dir, func(l *gates.Look, mark string, cases []call) (gates.Program, func(), error) {
		var calls strings.Builder
		for i, c := range cases {
			want := c.Want
			if c.Raises != "" {
				want = "error"
			}
			value := goValue(want)
			switch {
			case c.Raises != "" && regexp.MustCompile(`(?m)^(?:var)?\s+`+regexp.QuoteMeta(c.Raises)+`\s*=`).MatchString(text):
				value = c.Raises // a variable of the file
			case c.Printed:
				value = strconv.Quote(strings.Trim(want, `"'`))
			}
			fmt.Fprintf(&calls, "\trun(%d, %s, %t, func() []interface{} {\n%sready = true\nreturn all(%s) })\n", i, value, c.Raises != "",
				goSetup(c.Setup, pkg), strings.TrimPrefix(inPackage(goText(c.Call), pkg), pkg+"."))
		}
		text := strings.NewReplacer("PACKAGE", pkg, "MARK", mark, "IMPORTS", goImports(calls.String()), "CALLS", calls.String()).Replace(goDriver)
		name := path.Join(dir, "plan_"+strings.ToLower(mark)+"_test.go")
		full := filepath.Join(l.Subject().Dir, filepath.FromSlash(name))
		remove := func() { _ = os.Remove(full) }
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			return gates.Program{}, remove, fmt.Errorf("write the calls of the plan's examples: %w", err)
		}
		return gates.Program{Args: []string{"go", "test", "-v", "-vet=off", "-count=1", "-run=^TestPlanExamples$", "."}, Dir: dir}, remove, nil
	}}
}

// goText returns an expression with texts in quotation marks of Go.
func goText(expr string) string {
	return quotedText.Re().ReplaceAllStringFunc(expr, func(q string) string {
		if q[0] == '\'' && len([]rune(q)) != 3 {
			return `"` + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\'`, "'"), `"`, `\"`) + `"`
		}
		return q
	})
}

// goValue returns a shown value as an expression of Go.
func goValue(want string) string {
	switch want {
	case "nil", "null", "None", "undefined":
		return "nil"
	case "True", "False":
		return strings.ToLower(want)
	}
	switch {
	case quotedText.MatchString(want) && strings.IndexAny(want, `"'`) == 0:
		return `"` + strings.TrimPrefix(strings.TrimSuffix(goText(`"`+strings.ReplaceAll(want[1:len(want)-1], `\'`, "'")+`"`), `"`), `"`) + `"`
	case numeral.FindString(want) == want || keyword.FindString(want) == want:
		return want
	case json.Valid([]byte(want)):
		return "decoded(" + strconv.Quote(want) + ")"
	}
	return strconv.Quote(want)
}

// run makes the calls. Calls without a result are not decided.
func (j job) run(ctx context.Context, l *gates.Look) ([]result, error) {
	mark := "RUNPLAN" + rand.Text()
	out := make([]result, len(j.cases))
	p, done, err := j.driver.program(l, mark, j.cases)
	var end gates.Ended
	if err == nil {
		p.Limit, p.Env = limit, append(p.Env, l.SourcePath(ctx)...)
		end, err = l.Run(ctx, p)
	}
	if done != nil {
		done()
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, gates.ErrNoProgram), errors.Is(err, gates.ErrTimeLimit):
	case err != nil:
		return nil, err
	}
	why := "the program that makes the calls did not end as it should: " + phrase.LastLine(end.Text)
	if err != nil {
		why = err.Error()
	}
	for i := range out {
		out[i] = result{State: unknown, What: why}
	}
	for line := range strings.Lines(end.Text) {
		rest, is := strings.CutPrefix(line, mark)
		var r struct {
			Case int `json:"case"`
			result
		}
		if is && json.Unmarshal([]byte(rest), &r) == nil && r.Case >= 0 && r.Case < len(out) {
			out[r.Case] = j.cases[r.Case].judged(r.result)
		}
	}
	if len(j.cases) > 1 && strings.HasPrefix(j.driver.key, "go ") && !strings.Contains(end.Text, mark+"{") && err == nil {
		for i, c := range j.cases { // one call that does not compile hides the others
			one, err := job{j.driver, []call{c}}.run(ctx, l)
			if err != nil {
				return nil, err
			}
			out[i] = one[0]
		}
	}
	return out, nil
}
